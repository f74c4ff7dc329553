package netstate

import (
	"encoding/binary"
	"iter"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// apply takes one message of the kernel into the state. Messages of other kinds, and what is too short to be what it says, are
// passed over.
func (s *state) apply(m *syscall.NetlinkMessage) {
	switch m.Header.Type {
	case unix.RTM_NEWLINK:
		if i, ok := linkOf(m); ok {
			s.link(i)
		}
	case unix.RTM_DELLINK:
		if i, ok := linkOf(m); ok {
			s.unlink(i.Index)
		}
	case unix.RTM_NEWADDR:
		if index, p, ok := addressOf(m); ok {
			s.address(index, p)
		}
	case unix.RTM_DELADDR:
		if index, p, ok := addressOf(m); ok {
			s.drop(index, p)
		}
	}
}

// linkOf reads ifinfomsg and its attributes.
//
//	family, pad (1 each) | type (2) | index (4) | flags (4) | change (4) | attributes
//
// A bridge announces its ports with family AF_BRIDGE, also when one leaves it: that says nothing of the interface.
func linkOf(m *syscall.NetlinkMessage) (i Interface, ok bool) {
	if len(m.Data) < unix.SizeofIfInfomsg || m.Data[0] != unix.AF_UNSPEC {
		return i, false
	}
	i.Hardware = binary.NativeEndian.Uint16(m.Data[2:])
	i.Index = int(int32(binary.NativeEndian.Uint32(m.Data[4:])))
	flags := binary.NativeEndian.Uint32(m.Data[8:])
	i.Up, i.Running = flags&unix.IFF_UP != 0, flags&unix.IFF_RUNNING != 0
	for kind, value := range attributes(m.Data[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_IFNAME:
			i.Name = strings.TrimRight(string(value), "\x00")
		case unix.IFLA_MTU:
			if len(value) == 4 {
				i.MTU = int(binary.NativeEndian.Uint32(value))
			}
		case unix.IFLA_ADDRESS:
			i.MAC = net.HardwareAddr(append([]byte{}, value...))
		}
	}
	return i, i.Name != ""
}

// addressOf reads ifaddrmsg and its attributes.
//
//	family, prefix length, flags, scope (1 each) | index (4) | attributes
//
// On a point-to-point link IFA_ADDRESS is the other end's; IFA_LOCAL is then the interface's own.
func addressOf(m *syscall.NetlinkMessage) (index int, p netip.Prefix, ok bool) {
	if len(m.Data) < unix.SizeofIfAddrmsg {
		return 0, p, false
	}
	var own netip.Addr
	for kind, value := range attributes(m.Data[unix.SizeofIfAddrmsg:]) {
		if kind != unix.IFA_LOCAL && (kind != unix.IFA_ADDRESS || own.IsValid()) {
			continue
		}
		if x, sound := netip.AddrFromSlice(value); sound {
			own = x
		}
	}
	if !own.IsValid() || int(m.Data[1]) > own.BitLen() {
		return 0, p, false
	}
	return int(binary.NativeEndian.Uint32(m.Data[4:])), netip.PrefixFrom(own, int(m.Data[1])), true
}

// attributes goes over a list of them as far as it is sound. The standard library's own reader panics where the last one is
// not padded.
//
//	length, with these four bytes (2) | type (2) | value | up to 3 bytes of padding
func attributes(list []byte) iter.Seq2[uint16, []byte] {
	const typeMask = 1<<14 - 1 // above it are flags
	return func(yield func(uint16, []byte) bool) {
		for len(list) >= 4 {
			length := int(binary.NativeEndian.Uint16(list))
			if length < 4 || length > len(list) || !yield(binary.NativeEndian.Uint16(list[2:])&typeMask, list[4:length]) {
				return
			}
			list = list[min(len(list), (length+3)&^3):]
		}
	}
}
