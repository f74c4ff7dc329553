package probe

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stamping is how the kernel stamps the datagrams of a socket: Documentation/networking/timestamping.rst.
type stamping struct {
	on    bool
	next  uint32 // SOF_TIMESTAMPING_OPT_ID's count of what is sent
	ahead int    // datagrams sent whose stamps were not read yet

	drain   func(fd uintptr) // reads one stamp from the error queue
	header  unix.Msghdr
	iov     unix.Iovec
	payload [Size]byte
	control [256]byte
	length  int
}

// udp is a UDP socket whose datagrams the kernel stamps.
type udp struct {
	link
	stamping
}

const stampFlags = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE |
	unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE |
	unix.SOF_TIMESTAMPING_OPT_TSONLY | unix.SOF_TIMESTAMPING_OPT_TX_SWHW

// maxAhead is how many stamps may be outstanding and are counted. Beyond that the queue is read until it is empty.
const maxAhead = 1024

func (s *udp) enable() {
	s.drain = func(fd uintptr) {
		s.iov = unix.Iovec{Base: &s.payload[0]}
		s.iov.SetLen(len(s.payload))
		s.header = unix.Msghdr{Iov: &s.iov, Control: &s.control[0]}
		s.header.SetIovlen(1)
		s.header.SetControllen(len(s.control))
		_, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&s.header)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if s.length = int(s.header.Controllen); errno != 0 {
			s.length = -1
		}
	}
	s.on = s.number() == nil
}

func (s *udp) stamps() bool { return s.on }

// number has the kernel stamp datagrams and count them from 0.
func (s *udp) number() error {
	var failed error
	err := s.raw.Control(func(fd uintptr) {
		// Setting the count's flag anew resets the count.
		if failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stampFlags); failed == nil {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stampFlags|unix.SOF_TIMESTAMPING_OPT_ID)
		}
	})
	s.next, s.ahead = 0, 0
	if err != nil {
		return err
	}
	return failed
}

func (s *udp) send(b []byte, to netip.AddrPort) (id uint32, err error) {
	if err := s.put(b, to); err != nil {
		// Whether the kernel counted it depends on where it failed and on the kernel. Stamps of before are given up.
		for s.ahead = maxAhead; ; {
			if _, ok := s.departed(false); !ok { // either way it reads on until there is none
				break
			}
		}
		s.on = s.on && s.number() == nil
		return 0, err
	}
	id = s.next
	s.next++
	if s.on {
		s.ahead = min(s.ahead+1, maxAhead)
	}
	return id, nil
}

func (s *udp) expect() { s.ahead = max(s.ahead, 1) }

func (s *udp) departed(twice bool) (d departure, ok bool) {
	for s.ahead > 0 {
		if err := s.raw.Control(s.drain); err != nil || s.length < 0 {
			return d, false
		}
		stamped := false
		d = departure{}
		eachControl(s.control[:s.length], func(level, kind int32, data []byte) {
			switch {
			case level == unix.SOL_SOCKET && kind == unix.SCM_TIMESTAMPING:
				d.kernel, d.hardware = timestamping(data)
			case (level == unix.SOL_IP && kind == unix.IP_RECVERR || level == unix.SOL_IPV6 && kind == unix.IPV6_RECVERR) && len(data) >= 16:
				// struct sock_extended_err: errno, origin, type, code, pad, info, data.
				if data[4] == unix.SO_EE_ORIGIN_TIMESTAMPING {
					d.id, stamped = binary.NativeEndian.Uint32(data[12:]), true
				}
			}
		})
		if stamped {
			switch {
			case twice: // two of each, in whatever order: whether there are more is known only by asking
			case s.ahead < maxAhead:
				s.ahead--
			}
			return d, true
		}
	}
	return d, false
}

// stampsOf returns the stamps of a datagram that was received.
func stampsOf(oob []byte) (kernel, hardware int64) {
	eachControl(oob, func(level, kind int32, data []byte) {
		if level == unix.SOL_SOCKET && kind == unix.SCM_TIMESTAMPING {
			kernel, hardware = timestamping(data)
		}
	})
	return kernel, hardware
}

// timestamping reads struct scm_timestamping: three timespecs, of software, unused, of hardware.
func timestamping(data []byte) (kernel, hardware int64) {
	const size = int(unsafe.Sizeof(unix.Timespec{}))
	if len(data) < 3*size {
		return 0, 0
	}
	at := func(i int) int64 {
		var t unix.Timespec
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&t)), size), data[i*size:])
		return t.Nano()
	}
	return at(0), at(2)
}

// eachControl calls f for each control message: unix.ParseSocketControlMessage without its allocations.
func eachControl(b []byte, f func(level, kind int32, data []byte)) {
	for len(b) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		n := int(h.Len)
		if n < unix.SizeofCmsghdr || n > len(b) {
			return
		}
		f(h.Level, h.Type, b[unix.CmsgLen(0):n])
		b = b[min(len(b), unix.CmsgSpace(n-unix.CmsgLen(0))):]
	}
}
