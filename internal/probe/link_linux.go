package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// link is the socket itself. The runtime does not poll it: the kernel reports the stamp of a datagram to whatever polls the
// socket, after the stamp and before the transmission. The report would wake a thread of the runtime on another processor each time. On
// a virtual machine that takes longer than the way to the next host. So nothing polls the socket while a datagram is sent.
type link struct {
	file  *os.File // in blocking mode
	ended *os.File // an eventfd, which interrupt writes
	raw   syscall.RawConn
	bell  syscall.RawConn // of ended
	local netip.AddrPort
	six   bool // the socket's addresses are of IPv6

	// Calls are made within Control, so that close does not pull descriptors away. Closures made for each would be garbage.
	wait, both, read, write func(fd uintptr)
	waits                   [2]unix.PollFd // the socket, ended
	left                    unix.Timespec
	timeout                 *unix.Timespec
	message                 unix.Msghdr
	part                    unix.Iovec
	name                    [unix.SizeofSockaddrInet6]byte
	oob                     [256]byte
	size                    int
	errno                   syscall.Errno

	answers    bool     // what is sent answers what was received last, from the address that it came to
	answer     [64]byte // the control message that says so
	answerSize int      // its size
}

// sendTimeout is how long a send may wait for room in the socket's buffer.
const sendTimeout = 100 * time.Millisecond

// open takes the socket from the runtime.
func (l *link) open(c *net.UDPConn) (err error) {
	l.local = c.LocalAddr().(*net.UDPAddr).AddrPort()
	own, err := unpolled(c)
	if err != nil {
		return err
	}
	l.file = os.NewFile(uintptr(own), "udp")
	t := unix.NsecToTimeval(sendTimeout.Nanoseconds())
	domain, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_DOMAIN)
	l.six = domain == unix.AF_INET6
	bell, failed := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if failed == nil {
		l.ended = os.NewFile(uintptr(bell), "eventfd")
	}
	err = errors.Join(err, failed, unix.SetsockoptTimeval(own, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t))
	if err == nil {
		l.raw, err = l.file.SyscallConn()
	}
	if err == nil {
		l.bell, err = l.ended.SyscallConn()
	}
	if err != nil {
		return errors.Join(err, l.close())
	}
	l.calls()
	return nil
}

// calls makes the system calls on the socket.
func (l *link) calls() {
	l.both = func(bell uintptr) {
		l.waits[1] = unix.PollFd{Fd: int32(bell), Events: unix.POLLIN}
		_, _, l.errno = unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&l.waits[0])), uintptr(len(l.waits)),
			uintptr(unsafe.Pointer(l.timeout)), 0, 0, 0)
	}
	l.wait = func(fd uintptr) {
		l.waits[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		if l.bell.Control(l.both) != nil {
			l.errno = unix.EBADF
		}
	}
	l.read = func(fd uintptr) {
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&l.message)), unix.MSG_DONTWAIT)
		l.size, l.errno = int(n), errno
	}
	l.write = func(fd uintptr) {
		_, _, l.errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&l.message)), unix.MSG_NOSIGNAL)
	}
}

// unpolled closes a socket of the runtime and returns a descriptor of it in blocking mode.
func unpolled(c *net.UDPConn) (own int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, errors.Join(err, c.Close())
	}
	var failed error
	err = raw.Control(func(fd uintptr) { own, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed, c.Close()); err == nil {
		err = unix.SetNonblock(own, false)
	}
	if err != nil && failed == nil && own > 0 {
		_ = unix.Close(own)
	}
	return own, err
}

func (l *link) address() netip.AddrPort { return l.local }

// interrupt ends take, now and from now on.
func (l *link) interrupt() { _, _ = l.ended.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// close closes the socket. It may be called again.
func (l *link) close() error {
	var err error
	if l.ended != nil {
		l.interrupt() // a take that is waiting holds on to both
		err = l.ended.Close()
	}
	err = errors.Join(err, l.file.Close())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (l *link) take(b []byte, deadline time.Time) (a arrival, err error) {
	for {
		l.timeout = nil
		if !deadline.IsZero() {
			l.left = unix.NsecToTimespec(max(0, time.Until(deadline).Nanoseconds()))
			l.timeout = &l.left
		}
		switch err := l.call(l.wait); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return a, err
		case l.waits[0].Revents == 0 || l.waits[1].Revents != 0:
			return a, os.ErrDeadlineExceeded
		}
		l.prepare(b)
		l.message.Namelen, l.message.Control = uint32(len(l.name)), &l.oob[0]
		l.message.SetControllen(len(l.oob))
		switch err := l.call(l.read); {
		case err == unix.EAGAIN && l.waits[0].Revents&unix.POLLERR != 0:
			return a, errDeparted
		case err == unix.EAGAIN || err == unix.EINTR: // a wrong checksum
			continue
		case err != nil:
			return a, err
		}
		a = arrival{n: l.size, from: l.from()}
		a.kernel, a.hardware = stampsOf(l.oob[:l.message.Controllen])
		if l.answers {
			l.noteAddress(l.oob[:l.message.Controllen])
		}
		return a, nil
	}
}

// call makes one of the calls. Its error is os.ErrClosed after close.
func (l *link) call(f func(uintptr)) error {
	if l.raw.Control(f) != nil || l.errno == unix.EBADF {
		return os.ErrClosed
	}
	if l.errno != 0 {
		return l.errno
	}
	return nil
}

func (l *link) prepare(b []byte) {
	l.part = unix.Iovec{Base: &b[0]}
	l.part.SetLen(len(b))
	l.message = unix.Msghdr{Name: &l.name[0], Iov: &l.part}
	l.message.SetIovlen(1)
}

// put sends a datagram.
func (l *link) put(b []byte, to netip.AddrPort) error {
	l.prepare(b)
	l.message.Namelen = l.to(to)
	if l.answerSize > 0 {
		l.message.Control = &l.answer[0]
		l.message.SetControllen(l.answerSize)
	}
	return l.call(l.write)
}

// answerFrom has every datagram leave from the address that the latest one came to. A host with several addresses would else answer from the
// one that its routes prefer, which nobody has asked.
func (l *link) answerFrom() error {
	level, option := unix.SOL_IP, unix.IP_PKTINFO
	if l.six {
		level, option = unix.SOL_IPV6, unix.IPV6_RECVPKTINFO
	}
	var failed error
	err := l.raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), level, option, 1) })
	l.answers = err == nil && failed == nil
	return errors.Join(err, failed)
}

// noteAddress notes the address that a datagram came to, as the kernel wants it for the answer: without the interface, which the address
// of the other end says where it matters.
func (l *link) noteAddress(oob []byte) {
	l.answerSize = 0
	eachControl(oob, func(level, kind int32, data []byte) {
		four := level == unix.SOL_IP && kind == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo
		six := level == unix.SOL_IPV6 && kind == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo
		if !four && !six {
			return
		}
		clear(l.answer[:])
		h := (*unix.Cmsghdr)(unsafe.Pointer(&l.answer[0]))
		h.Level, h.Type = level, kind
		body := l.answer[unix.CmsgLen(0):]
		n := unix.SizeofInet6Pktinfo
		if four { // struct in_pktinfo: interface, source of what is sent, destination of what came
			n = unix.SizeofInet4Pktinfo
			copy(body[4:8], data[4:8])
		} else { // struct in6_pktinfo: address, interface
			copy(body[:16], data[:16])
		}
		h.SetLen(unix.CmsgLen(n))
		l.answerSize = unix.CmsgSpace(n)
	})
}

// from reads struct sockaddr_in or sockaddr_in6: family, port, and then the address, or flow, address and scope.
func (l *link) from() netip.AddrPort {
	port := binary.BigEndian.Uint16(l.name[2:])
	if !l.six {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(l.name[4:])), port)
	}
	a := netip.AddrFrom16([16]byte(l.name[8:])).Unmap()
	if scope := binary.NativeEndian.Uint32(l.name[24:]); scope != 0 {
		a = a.WithZone(zoneOf(scope))
	}
	return netip.AddrPortFrom(a, port)
}

// to writes an address in the same way and returns its size.
func (l *link) to(a netip.AddrPort) uint32 {
	clear(l.name[:])
	binary.BigEndian.PutUint16(l.name[2:], a.Port())
	if !l.six {
		binary.NativeEndian.PutUint16(l.name[:], unix.AF_INET)
		four := a.Addr().Unmap().As4()
		copy(l.name[4:], four[:])
		return unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(l.name[:], unix.AF_INET6)
	sixteen := a.Addr().As16()
	copy(l.name[8:], sixteen[:])
	binary.NativeEndian.PutUint32(l.name[24:], scopeOf(a.Addr().Zone()))
	return unix.SizeofSockaddrInet6
}

// zoneOf and scopeOf lead from the index of an interface to its name and back, as package net does.
func zoneOf(scope uint32) string {
	if i, err := net.InterfaceByIndex(int(scope)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(scope), 10)
}

func scopeOf(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.ParseUint(zone, 10, 32)
	return uint32(n)
}
