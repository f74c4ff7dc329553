package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/format/pcap"
	"meridian/internal/encapsulation"
	"meridian/match"
	"meridian/trace"
)

// observation is one place at which a host's capture sees every packet of the traffic.
type observation struct {
	frame func(encapsulation.Packet) []byte
	after int64 // ns behind the packet's instant at the host
}

// observed is a capture that sees every packet at each of its places.
type observed struct {
	link   uint16
	places []observation
}

func encapsulated(name string) encapsulation.Encapsulation {
	all := encapsulation.All()
	return all[slices.IndexFunc(all, func(e encapsulation.Encapsulation) bool { return e.Name == name })]
}

// onWire is what a capture of one Ethernet interface sees, copies times.
func onWire(name string, copies int) observed {
	o := observed{link: 1}
	for i := range copies {
		o.places = append(o.places, observation{encapsulated(name).Frame, int64(i) * 3000})
	}
	return o
}

// cooked turns an Ethernet frame into one of tcpdump -i any (LINKTYPE_LINUX_SLL2), which says whether it was sent.
func cooked(device byte, sent bool, frame []byte) []byte {
	kind := byte(0)
	if sent {
		kind = 4
	}
	header := []byte{frame[12], frame[13], 0, 0, 0, 0, 0, device, 0, 1, kind, 6}
	return slices.Concat(header, frame[6:12], []byte{0, 0}, frame[14:])
}

// tunnelEnd is tcpdump -i any at an end of a tunnel: it sees packets inside it and as they are.
func tunnelEnd(name string) observed {
	at := func(device byte, name string, sign int64) []observation {
		place := func(sent bool, after int64) observation {
			return observation{after: after, frame: func(p encapsulation.Packet) []byte {
				if (p.Way == p.At) != sent {
					return nil
				}
				return cooked(device, sent, encapsulated(name).Frame(p))
			}}
		}
		return []observation{place(true, -sign*2000), place(false, sign*2000)}
	}
	return observed{276, slices.Concat(at(2, name, 0), at(7, "ethernet", 1))}
}

// gateway is tcpdump -i any on a host that takes packets out of a tunnel and forwards them, and back: to host own they go as they are
// if plain, else inside the tunnel.
func gateway(name string, own int, plain bool) observed {
	place := func(device byte, name string, toOwn, sent bool, after int64) observation {
		return observation{after: after, frame: func(p encapsulation.Packet) []byte {
			if (p.Way != own) != toOwn {
				return nil
			}
			return cooked(device, sent, encapsulated(name).Frame(p))
		}}
	}
	near, far := "ethernet", name
	if !plain {
		near, far = far, near
	}
	return observed{276, []observation{
		place(2, far, true, false, -1000), place(3, near, true, true, 1000),
		place(3, near, false, false, -1000), place(2, far, false, true, 1000),
	}}
}

// translated gives a frame's outermost IPv4 header another source or destination in place of an address.
func translated(name string, from, to string) observed {
	e := encapsulated(name)
	return observed{1, []observation{{frame: func(p encapsulation.Packet) []byte {
		f := e.Frame(p)
		if f[12] == 8 && f[13] == 0 {
			for _, at := range []int{14 + 12, 14 + 16} {
				if string(f[at:at+4]) == from {
					copy(f[at:], to)
				}
			}
		}
		return f
	}}}}
}

// judgeObserved matches what two captures observed and compares the messages with the truth.
func (w *carriedTraffic) judgeObserved(t *testing.T, hosts [2]observed, snap int, missed float64) shares {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, uint64(snap)))
	type seen struct {
		at     int64
		data   []byte
		packet int
	}
	var warnings trace.Warnings
	var captures []*trace.Capture
	var packetAt [2]map[int64]int
	var kept [2]map[int]bool
	for h, o := range hosts {
		var frames []seen
		packetAt[h], kept[h] = make(map[int64]int), make(map[int]bool)
		for i := range w.packets {
			p := &w.packets[i]
			at := [2]int64{p.sent, p.received}[p.way^h]
			if at == 0 {
				continue
			}
			for _, place := range o.places {
				data := place.frame(encapsulation.Packet{IP: p.ip, Way: p.way, Number: i, At: h})
				if data == nil || rng.Float64() < missed {
					continue
				}
				stamp := at + place.after
				for _, taken := packetAt[h][stamp]; taken; _, taken = packetAt[h][stamp] {
					stamp++
				}
				packetAt[h][stamp] = i
				kept[h][i] = true
				frames = append(frames, seen{stamp, data, i})
			}
		}
		slices.SortFunc(frames, func(f, g seen) int { return int(f.at - g.at) })
		var out bytes.Buffer
		out.Write(append([]byte("\x4d\x3c\xb2\xa1\x02\x00\x04\x00"), make([]byte, 8)...))
		write := func(v ...int64) {
			for _, v := range v {
				binary.Write(&out, binary.LittleEndian, uint32(v))
			}
		}
		write(int64(snap), int64(o.link))
		for _, f := range frames {
			at, n := f.at+int64(h)*offsetOfB, min(snap, len(f.data))
			write(at/1e9, at%1e9, int64(n), int64(len(f.data)))
			out.Write(f.data[:n])
		}
		path := filepath.Join(t.TempDir(), string(rune('a'+h))+".pcap")
		if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := pcap.Read(context.Background(), path, string(rune('a'+h)), &warnings, nil)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, c)
	}
	r, err := match.Match(context.Background(), captures, match.Options{}, &warnings)
	if err != nil {
		t.Fatal(err)
	}
	s := shares{both: make(map[string]int), matched: make(map[string]int), warnings: warnings.Lines()}
	for i := range w.packets {
		if kept[0][i] && kept[1][i] {
			s.both[w.packets[i].class]++
		}
	}
	done := make(map[int]bool)
	for _, c := range r.Channels {
		for _, m := range c.Messages {
			sent, received := int64(m.Sent)-int64(c.From)*offsetOfB, int64(m.Received)-int64(c.To)*offsetOfB
			i, is := packetAt[c.From][sent]
			j, was := packetAt[c.To][received]
			if !is || !was || i != j || w.packets[i].way != c.From || sent > received {
				s.wrong++
				continue
			}
			if !done[i] {
				done[i] = true
				s.matched[w.packets[i].class]++
			}
		}
	}
	return s
}

// oneSide is a capture that knows directions (meridian record --packets=eth1) of one interface of a host that forwards: inner is the
// side of host own, outer the other. Hops are what the host takes off the time to live.
func oneSide(own int, inner bool, hops byte) observed {
	return observed{276, []observation{{frame: func(p encapsulation.Packet) []byte {
		toOwn := p.Way != own
		f := encapsulated("ethernet").Frame(p)
		if toOwn == inner { // it has been forwarded
			if at := 14 + 8; f[12] == 8 {
				f[at] -= hops
			} else {
				f[at-1] -= hops
			}
		}
		return cooked(4, toOwn == inner, f)
	}}}}
}

// A host that forwards says that it received what it passes on, and that it sent what others sent before.
func TestDirectionsOfForwardingHostsMakeNoWrongMessage(t *testing.T) {
	w := newCarriedTraffic(5, *encapsulatedConnections, 0.01, 0)
	own := func(h int) observed { return oneSide(h, false, 0) } // a host that forwards nothing sees its packets as on an outer side
	for _, c := range []struct {
		name  string
		hosts [2]observed
		least float64 // share of each class; flows of UDP that go one way have no round trips
	}{
		{"two hosts", [2]observed{own(0), own(1)}, 0.9},
		{"the inner sides of two routers", [2]observed{oneSide(0, true, 1), oneSide(1, true, 1)}, 0.9},
		{"the inner sides of two bridges", [2]observed{oneSide(0, true, 0), oneSide(1, true, 0)}, 0},
		{"a host, and the inner side of the other's router", [2]observed{own(0), oneSide(1, true, 1)}, 0.6},
		{"a host, and the inner side of a bridge behind it", [2]observed{own(0), oneSide(1, true, 0)}, 0.6},
		{"the inner side of a router, no directions", [2]observed{oneSide(0, true, 1), onWire("ethernet", 1)}, 0.6},
	} {
		for _, snap := range []int{262144, 96} {
			s := w.judgeObserved(t, c.hosts, snap, 0)
			t.Logf("%s, snap length %d: TCP %.1f%%, UDP %.1f%%, ICMP %.1f%%, %d wrong, %q", c.name, snap, 100*s.of("TCP"), 100*s.of("UDP"), 100*s.of("ICMP"), s.wrong, s.warnings)
			if s.wrong > 0 || min(s.of("TCP"), s.of("UDP"), s.of("ICMP")) < c.least {
				t.Errorf("%s, snap length %d: %+v", c.name, snap, s)
			}
			if c.least > 0 && slices.ContainsFunc(s.warnings, misleading) {
				t.Errorf("%s: wrong advice: %q", c.name, s.warnings)
			}
		}
	}
}

func TestCapturesThatSeePacketsSeveralTimesInsideAndOutsideOfTunnels(t *testing.T) {
	t.Parallel()
	w := newCarriedTraffic(11, *encapsulatedConnections/2, 0.01, 0)
	tunnels := []string{"vxlan"}
	if *encapsulatedConnections > 12 {
		tunnels = append(tunnels, "gre", "ipip", "geneve", "gtp-u", "vxlan-unnumbered")
	}
	for _, tunnel := range tunnels {
		for _, c := range []struct {
			name  string
			hosts [2]observed
		}{
			{"both ends of the tunnel, any interface", [2]observed{tunnelEnd(tunnel), tunnelEnd(tunnel)}},
			{"one end, any interface; the wire", [2]observed{tunnelEnd(tunnel), onWire(tunnel, 1)}},
			{"the wire; one end, any interface", [2]observed{onWire(tunnel, 1), tunnelEnd(tunnel)}},
			{"one end, any interface; inside", [2]observed{tunnelEnd(tunnel), onWire("ethernet", 1)}},
			{"inside; one end, any interface", [2]observed{onWire("ethernet", 1), tunnelEnd(tunnel)}},
			{"mirror ports", [2]observed{onWire(tunnel, 2), onWire(tunnel, 2)}},
			{"a mirror port; the wire", [2]observed{onWire(tunnel, 2), onWire(tunnel, 1)}},
			{"a mirror port outside; inside", [2]observed{onWire(tunnel, 2), onWire("ethernet", 1)}},
			{"a mirror port; one end, any interface", [2]observed{onWire(tunnel, 2), tunnelEnd(tunnel)}},
			{"a gateway, any interface; a host behind it", [2]observed{gateway(tunnel, 1, true), onWire("ethernet", 1)}},
			{"a gateway, any interface; the tunnel's other end, any interface", [2]observed{gateway(tunnel, 1, false), tunnelEnd(tunnel)}},
			{"a gateway, any interface; the tunnel's wire", [2]observed{gateway(tunnel, 1, false), onWire(tunnel, 1)}},
			{"a host, any interface; a gateway, any interface", [2]observed{tunnelEnd(tunnel), gateway(tunnel, 0, false)}},
			{"two gateways, any interface", [2]observed{gateway(tunnel, 1, false), gateway(tunnel, 0, false)}},
			{"translation outside", [2]observed{onWire(tunnel, 1), translated(tunnel, "\xc0\x00\x02\x01", "\xc6\x33\x64\x07")}},
			{"translation outside, any interface", [2]observed{tunnelEnd(tunnel), translated(tunnel, "\xc0\x00\x02\x01", "\xc6\x33\x64\x07")}},
			{"translation inside", [2]observed{onWire(tunnel, 1), translated("ethernet", "\x0a\x00\x00\x01", "\xc6\x33\x64\x07")}},
			{"translation, any interface", [2]observed{tunnelEnd(tunnel), translated("ethernet", "\x0a\x00\x00\x01", "\xc6\x33\x64\x07")}},
		} {
			for _, how := range []struct {
				snap   int
				missed float64
			}{{262144, 0}, {262144, 0.05}, {96, 0}, {96, 0.05}} {
				s := w.judgeObserved(t, c.hosts, how.snap, how.missed)
				t.Logf("%s, %s, %+v: TCP %.0f%%, UDP %.0f%%, ICMP %.0f%%, %d wrong %q", tunnel, c.name, how, 100*s.of("TCP"), 100*s.of("UDP"), 100*s.of("ICMP"), s.wrong, s.warnings)
				if s.wrong > 0 {
					t.Errorf("%s, %s, %+v: %+v", tunnel, c.name, how, s)
				}
				if whole := min(s.of("TCP"), s.of("UDP"), s.of("ICMP")) >= 0.9; how.snap > 96 && how.missed == 0 && (!whole || slices.ContainsFunc(s.warnings, misleading)) {
					t.Errorf("%s, %s: %+v", tunnel, c.name, s)
				}
			}
		}
	}
}

// misleading tells advice that does not fit captures of two hosts whose senders can be told.
func misleading(warning string) bool {
	return strings.Contains(warning, "second capture") || strings.Contains(warning, "--address")
}
