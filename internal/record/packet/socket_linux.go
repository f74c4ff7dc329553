package packet

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a packet socket, whose reads wait in the runtime's poller.
type socket struct {
	file *os.File
	raw  syscall.RawConn
}

// newSocket makes a socket of no protocol: it receives nothing before bind.
func newSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("AF_PACKET", err)
	}
	s := &socket{file: os.NewFile(uintptr(fd), "packets")}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// control calls f with the descriptor. It fails if the socket is closed.
func (s *socket) control(f func(fd int) error) error {
	err := os.ErrClosed
	if failed := s.raw.Control(func(fd uintptr) { err = f(int(fd)) }); failed != nil {
		return failed
	}
	return err
}

// wait waits until ready reports true, or until the deadline: then the error is os.ErrDeadlineExceeded.
func (s *socket) wait(ready func() bool) error {
	return s.raw.Read(func(uintptr) bool { return ready() })
}

// setDeadline sets when wait ends; the zero time is never.
func (s *socket) setDeadline(t time.Time) error { return s.file.SetReadDeadline(t) }

// takeError returns the socket's error and clears it. ENETDOWN is none: an interface that was switched off ends nothing.
func (s *socket) takeError() error {
	return s.control(func(fd int) error {
		n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && n != 0 && unix.Errno(n) != unix.ENETDOWN {
			err = unix.Errno(n)
		}
		return err
	})
}

// attach sets the filter.
func (s *socket) attach(code []instruction) error {
	native := make([]unix.SockFilter, len(code))
	for i, c := range code {
		native[i] = unix.SockFilter{Code: c.code, Jt: c.jt, Jf: c.jf, K: c.k}
	}
	f := unix.SockFprog{Len: uint16(len(native)), Filter: &native[0]}
	return s.control(func(fd int) error {
		return os.NewSyscallError("SO_ATTACH_FILTER", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &f))
	})
}

// bind makes the socket receive the packets of an interface, or of all if the index is 0.
func (s *socket) bind(index int) error {
	address := unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index}
	return s.control(func(fd int) error {
		if err := unix.Bind(fd, &address); !vanished(err) {
			return os.NewSyscallError("bind", err)
		}
		return nil
	})
}

// networkOrder returns a number whose bytes in memory are in network order.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// setPromiscuous makes an interface receive packets to other hosts. The kernel ends that with the interface or the socket.
func (s *socket) setPromiscuous(index int) error {
	m := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	return s.control(func(fd int) error {
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); !vanished(err) {
			return os.NewSyscallError("PACKET_MR_PROMISC", err)
		}
		return nil
	})
}

// vanished reports whether the interface has been removed meanwhile, which will be announced.
func vanished(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) }

func (s *socket) close() error { return s.file.Close() }
