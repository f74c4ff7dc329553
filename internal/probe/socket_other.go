//go:build !linux

package probe

import "net/netip"

// stamping is nothing where the kernel's stamps cannot be had: all stamps are of user space.
type stamping struct{}

func (s *socket) enable() {}

func (s *socket) stamps() bool { return false }

func (s *socket) send(b []byte, to netip.AddrPort) (uint32, error) {
	_, err := s.conn.WriteToUDPAddrPort(b, to)
	return 0, err
}

func (s *socket) departed() (d departure, ok bool) { return d, false }

func stampsOf([]byte) (kernel, hardware int64) { return 0, 0 }
