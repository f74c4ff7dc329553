//go:build !linux

package probe

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// link is the socket as the runtime polls it.
type link struct {
	conn     *net.UDPConn
	deadline time.Time
}

func (l *link) open(c *net.UDPConn) error {
	l.conn = c
	return nil
}

func (l *link) address() netip.AddrPort { return l.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// interrupt ends receive and send, from now on.
func (l *link) interrupt() { _ = l.conn.Close() }

func (l *link) close() error {
	if err := l.conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// udp is a UDP socket where the kernel's stamps cannot be had: all stamps are of user space.
type udp struct{ link }

func (s *udp) enable() {}

func (s *udp) stamps() bool { return false }

func (s *udp) send(b []byte, to netip.AddrPort) (uint32, error) {
	_, err := s.conn.WriteToUDPAddrPort(b, to)
	return 0, err
}

func (s *udp) expect() {}

func (s *udp) departed(bool) (d departure, ok bool) { return d, false }

// answerFrom leaves it to the system from which of several addresses a datagram leaves.
func (l *link) answerFrom() error { return nil }

func (l *link) take(b []byte, deadline time.Time) (a arrival, err error) {
	if !deadline.Equal(l.deadline) { // one that stays costs nothing
		l.deadline = deadline
		_ = l.conn.SetReadDeadline(deadline)
	}
	n, from, err := l.conn.ReadFromUDPAddrPort(b)
	return arrival{n: n, from: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}, err
}
