package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// arrival is a datagram that came in, with the stamps that the kernel and the interface gave it: ns, 0 if none.
type arrival struct {
	n                int
	from             netip.AddrPort
	kernel, hardware int64
}

// departure is the stamps of a datagram that went out, found by the number that send returned.
type departure struct {
	id               uint32
	kernel, hardware int64
}

// socket sends and receives datagrams. One goroutine uses it; interrupt may be called by others.
type socket struct {
	conn     *net.UDPConn
	raw      syscall.RawConn
	oob      [256]byte
	deadline time.Time
	stamping
	phc         PHC  // opened for this socket; nil without
	byInterface bool // each datagram has two stamps, the interface's after the kernel's
}

// listen opens a socket at an address; "" and ":0" are any port of all addresses.
func listen(ctx context.Context, network, address string) (*socket, error) {
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	s := &socket{conn: c.(*net.UDPConn)}
	if s.raw, err = s.conn.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("probe: %w", err), c.Close())
	}
	s.enable()
	return s, nil
}

// maxFailures is how many calls in a row may fail before the socket counts as broken. Single failures pass: ICMP answers, a want
// of memory, and an event of the error queue alone while the socket cannot send, for which the runtime has an error (not pollable).
const maxFailures = 1000

// receive waits for a datagram until a deadline; os.ErrDeadlineExceeded says that it has passed.
func (s *socket) receive(b []byte) (a arrival, err error) {
	for failures := 0; ; failures++ {
		n, oob, _, from, err := s.conn.ReadMsgUDPAddrPort(b, s.oob[:])
		switch {
		case err == nil:
			a = arrival{n: n, from: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}
			a.kernel, a.hardware = stampsOf(s.oob[:oob])
			return a, nil
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
			return a, err
		case failures >= maxFailures:
			return a, fmt.Errorf("probe: %w", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// until sets the deadline of receive. One that stays costs nothing.
func (s *socket) until(t time.Time) {
	if !t.Equal(s.deadline) {
		s.deadline = t
		_ = s.conn.SetReadDeadline(t)
	}
}

// withHardware has a socket and its history use the stamps of an interface, if the options name one.
func (s *socket) withHardware(o *Options, h *history) (err error) {
	if o.Interface == "" && o.PHC == nil {
		return nil
	}
	phc := o.PHC
	if phc == nil {
		if err := s.bind(o.Interface); err != nil {
			return err
		}
		if phc, err = OpenPHC(o.Interface); err != nil {
			return err
		}
		s.phc = phc
	}
	h.hardware = &hardware{phc: phc}
	h.hardware.read()
	s.byInterface = true
	return nil
}

// interrupt ends receive and send, now and until a later call of until with another deadline.
func (s *socket) interrupt() { _ = s.conn.SetDeadline(time.Unix(1, 0)) }

func (s *socket) close() error {
	err := s.conn.Close()
	if s.phc != nil {
		err = errors.Join(err, s.phc.Close())
		s.phc = nil
	}
	return err
}
