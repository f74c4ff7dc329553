package kernel_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"meridian/internal/netlab"
	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// frameVariable makes the test binary send the frame that is in it, and nothing else.
const frameVariable = "MERIDIAN_TEST_FRAME"

func TestMain(m *testing.M) {
	if frame := os.Getenv(frameVariable); frame != "" {
		if err := sendFrame(frame); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	netlab.Main(m)
}

// sendFrame sends a frame from eth0 as it is.
func sendFrame(frame string) error {
	b, err := hex.DecodeString(frame)
	if err != nil {
		return err
	}
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	return unix.Sendto(s, b, 0, &unix.SockaddrLinklayer{Ifindex: eth0.Index})
}

// headerOf returns the IP header of an event by its members' names, and which version it is: "unknown" for none.
func headerOf(t *testing.T, e *kerneltest.Event) (version string, members map[string]*trace.Value) {
	t.Helper()
	h := e.Value(t, "network_header")
	fields := e.Type.Fields
	as := &fields[len(fields)-1].Type.Fields[h.Bits]
	members = make(map[string]*trace.Value)
	for i := range as.Type.Fields {
		members[as.Type.Fields[i].Name] = &h.Items[0].Items[i]
	}
	return as.Name, members
}

// frame is an Ethernet frame, and how the kernel's events must describe it.
type frame struct {
	name      string
	etherType uint16
	rest      []byte
	version   string
	transport uint64 // alternative of transport_header
}

const udpHeader = 2

func frames() []frame {
	udp := []byte{0x30, 0x39, 0x30, 0x3a, 0, 12, 0, 0, 'a', 'b', 'c', 'd'}
	four := append([]byte{0x46, 0, 0, 36, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 1, 2, 3, 10, 1, 2, 4, 1, 1, 1, 0}, udp...) // with an option
	six := append(append([]byte{0x60, 0, 0, 0, 0, 12, 17, 64}, make([]byte, 32)...), udp...)
	six[8], six[23], six[24], six[39] = 0xfd, 5, 0xfd, 6
	part := append([]byte{}, four...)
	part[6], part[7] = 0, 100 // a fragment that is not the first
	tag := func(etherType uint16, rest []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{0, 7}, etherType), rest...)
	}
	return []frame{
		{"IPv4 with an option", 0x0800, four, "ipv4", udpHeader},
		{"IPv6", 0x86dd, six, "ipv6", udpHeader},
		{"IPv4 in a VLAN", 0x8100, tag(0x0800, four), "ipv4", udpHeader},
		{"IPv6 in a VLAN", 0x88a8, tag(0x86dd, six), "ipv6", udpHeader},
		{"a later fragment", 0x0800, part, "ipv4", 0},
		{"something else", 0x88b5, four, "unknown", 0},
		{"IPv4 cut short", 0x0800, four[:10], "unknown", 0},
		{"UDP cut short", 0x0800, four[:26], "ipv4", 0},
	}
}

func TestFramesOfAllKindsAreUnderstoodOnBothEnds(t *testing.T) {
	for _, test := range frames() {
		t.Run(test.name, func(t *testing.T) {
			lab := netlab.TwoHosts(t)
			rec := record(t, kernel.Options{Groups: kernel.Net})
			sent := append([]byte{255, 255, 255, 255, 255, 255, 2, 0xab, 0xcd, 0xef, 1, 2}, binary.BigEndian.AppendUint16(nil, test.etherType)...)
			sent = append(sent, test.rest...)
			c := lab.Command("web", os.Args[0])
			c.Env = append(os.Environ(), frameVariable+"="+hex.EncodeToString(sent))
			kerneltest.Run(t, c)
			spaces := map[uint64]string{uint64(netns(t, lab, "web")): "net_dev_queue", uint64(netns(t, lab, "db")): "netif_receive_skb"}
			found := 0
			for _, e := range rec.Stop() {
				// The buffer is as long as the frame, or without its Ethernet header. Few of the host's own are.
				n := len(sent)
				if e.Name() == "netif_receive_skb" {
					n -= 14
				}
				if e.Name() == spaces[e.Value(t, "netns").Bits] && e.Value(t, "len").Bits == uint64(n) && test.check(t, &e) {
					found++
				}
			}
			if lost := int(rec.Lost()); found > 2 || found+lost < 2 {
				t.Errorf("%d ends of the frame among %d events, %d lost", found, len(rec.Events), lost)
			}
		})
	}
}

// check checks an event of the frame's length, and reports whether it is the frame's.
func (f *frame) check(t *testing.T, e *kerneltest.Event) bool {
	t.Helper()
	version, h := headerOf(t, e)
	if version == "ipv6" && h["nexthdr"].Bits == 58 {
		return false // the host looks for routers
	}
	if version != f.version {
		t.Errorf("%s: %s header", e.Name(), version)
		return false
	}
	if version == "unknown" {
		return true
	}
	transport := h["transport_header"]
	if transport.Bits != f.transport {
		t.Errorf("%s: transport header %d", e.Name(), transport.Bits)
		return true
	}
	if last := h["daddr"].Items[len(h["daddr"].Items)-1].Bits; last != 4 && last != 6 {
		t.Errorf("%s: to ...%d", e.Name(), last)
	}
	if f.transport == udpHeader {
		if u := transport.Items[0].Items; u[0].Bits != 12345 || u[1].Bits != 12346 || u[2].Bits != 12 {
			t.Errorf("%s: UDP %v", e.Name(), u)
		}
	}
	return true
}
