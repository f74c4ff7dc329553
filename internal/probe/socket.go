package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
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

// port is what sends and receives datagrams: a UDP socket, or a simulated one.
type port interface {
	// take waits for a datagram until a deadline, the zero for none. Its error is os.ErrDeadlineExceeded after that and after interrupt,
	// errDeparted when there is a stamp and no datagram.
	take(b []byte, deadline time.Time) (arrival, error)
	// send sends a datagram. Its stamps come from departed under the number returned.
	send(b []byte, to netip.AddrPort) (id uint32, err error)
	// departed returns the stamps of a datagram that was sent, false if there are none yet. It does not wait. Twice says that each datagram has two, of the
	// kernel and the interface.
	departed(twice bool) (departure, bool)
	// expect has departed look for a stamp even if all have come that were counted: stamps given up may still come.
	expect()
	// stamps reports whether departed will return the stamps of what was sent.
	stamps() bool
	address() netip.AddrPort
	answerFrom() error
	bind(name string) error
	interrupt()
	close() error
}

// socket sends and receives datagrams. One goroutine uses it; interrupt and close may be called by others.
type socket struct {
	port
	deadline    time.Time // of receive; zero for none
	phc         PHC       // opened for this socket; nil without
	byInterface bool      // each datagram has two stamps, the interface's after the kernel's
}

// listen opens a socket at an address; "" and ":0" are any port of all addresses.
func listen(ctx context.Context, network, address string) (*socket, error) {
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	u := &udp{}
	if err := u.open(c.(*net.UDPConn)); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	u.enable()
	return &socket{port: u}, nil
}

// maxFailures is how many calls in a row may fail before the socket counts as broken. Single failures pass: ICMP answers, a want
// of memory.
const maxFailures = 1000

// errDeparted says that receive has no datagram, but that stamps of what was sent have come.
var errDeparted = errors.New("stamps have come")

// receive waits for a datagram until a deadline. Its error is os.ErrDeadlineExceeded when that has passed or interrupt was called, and
// errDeparted when departed has something to return.
func (s *socket) receive(b []byte) (a arrival, err error) {
	for failures := 0; ; failures++ {
		a, err := s.take(b, s.deadline)
		switch {
		case errors.Is(err, errDeparted):
			s.expect()
			return a, err
		case err == nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed):
			return a, err
		case failures >= maxFailures:
			return a, fmt.Errorf("probe: %w", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// departed returns the stamps of a datagram that was sent, as those of a port.
func (s *socket) departed() (departure, bool) { return s.port.departed(s.byInterface) }

// until sets the deadline of receive.
func (s *socket) until(t time.Time) { s.deadline = t }

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

func (s *socket) close() error {
	err := s.port.close()
	if s.phc != nil {
		err = errors.Join(err, s.phc.Close())
		s.phc = nil
	}
	return err
}
