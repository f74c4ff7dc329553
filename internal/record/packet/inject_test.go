//go:build linux

package packet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/netlab"
	"meridian/internal/record/netstate"
)

// inject sends frames out of an interface of a host as they are.
func inject(t testing.TB, netns, name string, frames [][]byte) {
	t.Helper()
	if err := netstate.Within(netns, func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		// What is sent before the kernel's worker has seen that the wire is there, up to a second, it drops without a word.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			w, err := netstate.Open(netstate.Options{})
			if err != nil {
				return err
			}
			all := w.Snapshot()
			w.Close()
			at := slices.IndexFunc(all, func(i netstate.Interface) bool { return i.Name == name && i.Running })
			if at < 0 {
				if time.Now().After(deadline) {
					return fmt.Errorf("%s never runs: %+v", name, all)
				}
				continue
			}
			for _, f := range frames {
				if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: all[at].Index}); err != nil {
					return err
				}
			}
			return nil
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// ethernetOf makes a frame from one host of a lab to another.
func ethernetOf(lab *netlab.Lab, from, to string, kind uint16, body []byte) []byte {
	var b []byte
	for _, host := range []string{to, from} {
		out, err := lab.Command(host, "cat", "/sys/class/net/eth0/address").Output()
		if err != nil {
			panic(err)
		}
		for part := range strings.SplitSeq(strings.TrimSpace(string(out)), ":") {
			n := byte(0)
			for _, c := range part {
				n = n<<4 | byte(strings.IndexRune("0123456789abcdef", c))
			}
			b = append(b, n)
		}
	}
	return append(binary.BigEndian.AppendUint16(b, kind), body...)
}

func udp(source, destination uint16, payload int) []byte {
	b := binary.BigEndian.AppendUint16(nil, source)
	b = binary.BigEndian.AppendUint16(b, destination)
	b = binary.BigEndian.AppendUint16(b, uint16(8+payload))
	return append(b, make([]byte, 2+payload)...)
}

// ipv4 makes a packet; part is the field of flags and fragment offset; the options are as many bytes as part is odd.
func ipv4(protocol byte, source, destination string, part uint16, body []byte) []byte {
	options := int(part&1) * 8
	b := []byte{0x40 | byte(5+options/4), 0}
	b = binary.BigEndian.AppendUint16(b, uint16(20+options+len(body)))
	b = append(b, 0, 1)
	b = binary.BigEndian.AppendUint16(b, part)
	b = append(b, 64, protocol, 0, 0)
	b = append(b, netip.MustParseAddr(source).AsSlice()...)
	b = append(b, netip.MustParseAddr(destination).AsSlice()...)
	b = append(b, make([]byte, options)...)
	sum := uint32(0)
	for i := 0; i < 20+options; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
	return append(b, body...)
}

func ipv6(next byte, source, destination string, body []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(body)))
	b = append(b, next, 64)
	b = append(b, netip.MustParseAddr(source).AsSlice()...)
	b = append(b, netip.MustParseAddr(destination).AsSlice()...)
	return append(b, body...)
}

// crafted is frames of every kind that the filters tell apart, addressed to nobody who would answer.
func crafted(lab *netlab.Lab) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	ports := []uint16{53, 80, 443, 75, 999, 5}
	v4 := []string{lab.Address("db", "web").String(), lab.Address("web", "db").String(), "10.200.1.1", "192.0.2.1"}
	v6 := []string{lab.Address6("db", "web").String(), lab.Address6("web", "db").String(), "fd00:8000::1", "2001:db8::1"}
	header := ethernetOf(lab, "web", "db", 0, nil)[:12]
	protocols := []byte{protoTCP, protoUDP, protoSCTP, protoICMP, protoIGMP, protoICMP6, 47}
	var frames [][]byte
	add := func(kind uint16, body []byte) {
		b := binary.BigEndian.AppendUint16(append([]byte{}, header...), kind)
		b = append(b, body...)
		for len(b) < 60 {
			b = append(b, 0)
		}
		frames = append(frames, b)
	}
	for range 800 {
		body := udp(ports[random.IntN(len(ports))], ports[random.IntN(len(ports))], random.IntN(80))
		body = append(body, make([]byte, 40)...)
		protocol := protocols[random.IntN(len(protocols))]
		switch random.IntN(10) {
		case 0: // ARP and RARP
			arp := append([]byte{0, 1, 8, 0, 6, 4, 0, 2}, header[6:12]...)
			arp = append(arp, netip.MustParseAddr(pick(v4[2:]...)).AsSlice()...)
			arp = append(append(arp, header[:6]...), netip.MustParseAddr(pick(v4...)).AsSlice()...)
			add([]uint16{typeARP, typeRARP}[random.IntN(2)], arp)
		case 1: // no network protocol that anybody knows
			add(0x88b5, body)
		case 2: // a later fragment
			add(typeIPv4, ipv4(protocol, pick(v4...), pick(v4...), uint16(1+random.IntN(50)), body))
		case 3:
			fragment := append([]byte{protocol, 0, 0, 1, 0, 0, 0, 7}, body...)
			add(typeIPv6, ipv6(protoFragment, pick(v6...), pick(v6...), fragment))
		case 4, 5, 6:
			add(typeIPv6, ipv6(protocol, pick(v6...), pick(v6...), body))
		default:
			add(typeIPv4, ipv4(protocol, pick(v4...), pick(v4...), 0x4000, body))
		}
	}
	return frames
}
