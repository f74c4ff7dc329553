//go:build unix

package place

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"meridian/internal/experiment/file"
)

// openSSH starts hosts on other machines by the user's own ssh program, with its keys and its configuration. Nothing is asked: what needs
// a password fails. This program is copied where it is absent, into the cache directory of the user there, below a name that is its
// checksum; both ends are then of one version.
func openSSH(o Options) (*Place, error) {
	if _, err := exec.LookPath("ssh"); err != nil {
		return nil, errors.New("the program ssh is missing")
	}
	self, sum, err := ownProgram()
	if err != nil {
		return nil, err
	}
	return openMachines("ssh", o.Run, func(h *file.Host) (*Seat, error) { return startSSH(h, self, sum, o.Args) })
}

// ownProgram returns the path of this program and its checksum.
func ownProgram() (path, sum string, err error) {
	if path, err = os.Executable(); err != nil {
		return "", "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", "", err
	}
	return path, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// destination returns that of ssh.
func destination(h *file.Host) string {
	if h.SSH != "" {
		return h.SSH
	}
	return h.Name
}

// ssh makes a command of ssh. What it runs there is text for the user's shell: it has nothing of the file.
func ssh(to, text string) *exec.Cmd {
	return exec.Command("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "--", to, text)
}

// cache is the directory of programs that were copied, for the shell of a machine.
const cache = `"${XDG_CACHE_HOME:-$HOME/.cache}"/meridian/run/`

func startSSH(h *file.Host, self, sum string, args []string) (*Seat, error) {
	to := destination(h)
	remote := cache + sum + "/meridian"
	if err := install(to, cache+sum, remote, self); err != nil {
		return nil, err
	}
	address := h.Address
	if address == "" {
		var err error
		if address, err = addressOf(to); err != nil {
			return nil, err
		}
	}
	s, err := start(h.Name, ssh(to, "exec "+remote+" "+strings.Join(args, " ")))
	if err != nil {
		return nil, err
	}
	s.Address, s.Where = address, "ssh "+to
	return s, nil
}

// install copies this program to a machine that does not have it.
func install(to, dir, remote, self string) error {
	c := ssh(to, "uname -s; uname -m; test -x "+remote+" && echo present || echo absent")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("ssh %s: %w: %s", to, err, strings.TrimSpace(said.String()))
	}
	lines := strings.Fields(string(out))
	if len(lines) < 3 {
		return fmt.Errorf("ssh %s: unexpected answer %.80q: does its shell print something at the start?", to, out)
	}
	if lines[len(lines)-1] == "present" {
		return nil
	}
	system, machine := lines[len(lines)-3], lines[len(lines)-2]
	if want := machines[runtime.GOARCH]; system != "Linux" || machine != want {
		return fmt.Errorf("ssh %s: it is %s %s, and this program is for Linux %s", to, system, machine, want)
	}
	f, err := os.Open(self)
	if err != nil {
		return err
	}
	defer f.Close()
	c = ssh(to, `umask 077; mkdir -p `+dir+` && cat >`+remote+`.$$ && chmod 700 `+remote+`.$$ && mv `+remote+`.$$ `+remote)
	c.Stdin = f
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh %s: copying this program: %w: %s", to, err, strings.TrimSpace(string(text)))
	}
	return nil
}

// machines are what uname -m says, by GOARCH.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}

// addressOf returns the address of the machine that ssh's configuration names.
func addressOf(to string) (string, error) {
	out, err := exec.Command("ssh", "-G", "--", to).Output()
	if err != nil {
		return "", fmt.Errorf("ssh -G %s: %w", to, err)
	}
	for line := range strings.Lines(string(out)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "hostname ")
		if !ok {
			continue
		}
		addresses, err := net.LookupHost(name)
		if err != nil {
			return "", fmt.Errorf("%w; give the host an address: in the file", err)
		}
		return addresses[0], nil
	}
	return "", fmt.Errorf("ssh -G %s names no hostname: give the host an address: in the file", to)
}
