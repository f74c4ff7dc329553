//go:build unix

package host

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

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
	if err := carriers(s); err != nil || !s.Forward {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("network of %s: %w", s.Host, err)
	}
	return nil
}

// carrierWithin bounds how long interfaces take to send after their ends are up: the kernel (net/core/link_watch.c) handles changes
// of carriers once a second.
const carrierWithin = 20 * time.Second

// carriers waits until the interfaces of the setup send. Until then the kernel drops their packets without an error.
func carriers(s *protocol.Setup) error {
	if s.Switch {
		return nil // its ports get theirs when the hosts' do
	}
	end := time.Now().Add(carrierWithin)
	for _, line := range s.Network {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "link" || words[1] != "set" || words[len(words)-1] != "up" {
			continue
		}
		for {
			device, err := net.InterfaceByName(words[2])
			if err != nil {
				return fmt.Errorf("network of %s: interface %s: %w", s.Host, words[2], err)
			}
			if device.Flags&net.FlagRunning != 0 {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("network of %s: interface %s has no carrier after %v", s.Host, words[2], carrierWithin)
			}
			time.Sleep(time.Millisecond)
		}
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
