package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openSocket(t *testing.T, network, address string) *socket {
	s, err := listen(t.Context(), network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

// What polls a socket is woken between a datagram's stamp and its transmission.
func TestNothingPollsTheSocket(t *testing.T) {
	s := openSocket(t, "udp", "127.0.0.1:0")
	var fd uintptr
	if err := s.port.(*udp).raw.Control(func(f uintptr) { fd = f }); err != nil {
		t.Fatal(err)
	}
	instances, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range instances {
		if to, _ := os.Readlink(name); to != "anon_inode:[eventpoll]" {
			continue
		}
		members, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(members)) {
			var member uintptr
			if n, _ := fmt.Sscanf(line, "tfd: %d", &member); n == 1 && member == fd {
				t.Errorf("descriptor %d is polled: %s", fd, line)
			}
		}
	}
}

func TestStampsThatNothingExpectsAreTakenAway(t *testing.T) {
	s := openSocket(t, "udp4", "127.0.0.1:0")
	if !s.stamps() {
		t.Skip("the kernel does not stamp")
	}
	other := openSocket(t, "udp4", "127.0.0.1:0")
	const sent = 5
	for range sent {
		if _, err := s.send(make([]byte, Size), other.address()); err != nil {
			t.Fatal(err)
		}
	}
	s.port.(*udp).ahead = 0 // as after a send that failed
	s.until(time.Now().Add(50 * time.Millisecond))
	for calls := 0; ; calls++ {
		_, err := s.receive(make([]byte, Size))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if !errors.Is(err, errDeparted) || calls > sent {
			t.Fatalf("call %d: %v", calls, err)
		}
		s.departed()
	}
}

func TestAWaitEndsWhenTheSocketIsClosedOrInterrupted(t *testing.T) {
	for name, end := range map[string]func(*socket){"close": func(s *socket) { _ = s.close() }, "interrupt": (*socket).interrupt} {
		s := openSocket(t, "udp4", "127.0.0.1:0")
		ended := make(chan error, 1)
		go func() {
			_, err := s.receive(make([]byte, Size))
			ended <- err
		}()
		end(s)
		select {
		case err := <-ended:
			if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(60 * time.Second):
			t.Errorf("%s: the wait goes on", name)
		}
	}
}

func TestAddressesKeepTheirZones(t *testing.T) {
	four, six := openSocket(t, "udp4", "127.0.0.1:0"), openSocket(t, "udp", "[::1]:0")
	for text, s := range map[string]*socket{"10.1.2.3:4": four, "[fd00::1]:65535": six, "[fe80::1%lo]:123": six, "127.0.0.1:5": six} {
		a, u := netip.MustParseAddrPort(text), s.port.(*udp)
		u.to(a)
		if back := u.from(); back != a {
			t.Errorf("%v comes back as %v", a, back)
		}
	}
}
