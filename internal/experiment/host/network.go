//go:build unix

package host

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"meridian/internal/experiment/protocol"
)

// network configures the interfaces of a host that is a namespace.
func (h *host) network(s *protocol.Setup) error {
	for _, step := range []struct {
		text string
		args []string
	}{
		{strings.Join(s.Network, "\n"), []string{"ip", "-batch", "-"}},
		{strings.Join(s.Traffic, "\n"), []string{"tc", "-batch", "-"}},
		{s.Filter, []string{"nft", "-f", "-"}},
	} {
		if step.text == "" {
			continue
		}
		c := exec.Command(step.args[0], step.args[1:]...)
		c.Stdin = strings.NewReader(step.text + "\n")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("network of %s: %s: %w: %s", s.Host, strings.Join(step.args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	if !s.Forward {
		return nil
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("network of %s: %w", s.Host, err)
	}
	return nil
}

// kernelVersion is what uname(2) says.
func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
}
