package match

import (
	"math/rand/v2"
	"testing"

	"meridian/trace"
)

func TestMixIsTheFinaliserOfSplitMix64(t *testing.T) {
	// The first outputs of the generator from the state 0 (Vigna, splitmix64.c).
	for n, want := range map[uint64]uint64{1: 0xe220a8397b1dcdaf, 2: 0x6e789e6aa1b965f4, 3: 0x06c45d188009454f} {
		if got := mix(n, 0); got != want {
			t.Errorf("output %d: %#x, want %#x", n, got, want)
		}
	}
	if mix(1, 2) == mix(1, 3) || mix(1, 2) == mix(2, 2) {
		t.Error("a word is left aside")
	}
}

// changes are packets that differ from one in a single field.
func changes(p trace.Packet) map[string]trace.Packet {
	out := make(map[string]trace.Packet)
	change := func(name string, f func(q *trace.Packet)) {
		q := p
		f(&q)
		out[name] = q
	}
	for _, bit := range []uint32{0, 7, 8, 15, 16, 24, 31} {
		one := uint32(1) << bit
		change("seq", func(q *trace.Packet) { q.Seq ^= one })
		change("ack", func(q *trace.Packet) { q.Ack ^= one })
		change("stamp", func(q *trace.Packet) { q.TSVal ^= one })
		change("digest", func(q *trace.Packet) { q.Digest ^= one })
		change("length", func(q *trace.Packet) { q.Length ^= one })
	}
	change("id", func(q *trace.Packet) { q.ID ^= 256 })
	change("empty", func(q *trace.Packet) { q.Length = 0 })
	change("time", func(q *trace.Packet) { q.Time++ })
	change("ttl", func(q *trace.Packet) { q.TTL++ })
	for name, flag := range map[string]uint8{"SYN": trace.SYN, "ACK": trace.ACK, "RST": trace.RST, "PSH": trace.PSH, "FIN": trace.FIN, "URG": trace.URG} {
		change(name, func(q *trace.Packet) { q.Flags ^= flag })
	}
	change("checksum", func(q *trace.Packet) { q.Digest ^= 1 })
	change("window", func(q *trace.Packet) { q.Digest ^= 1 << 16 })
	return out
}

func TestEveryKeyOfAPacketSaysWhatItIsMeantToAndNoMore(t *testing.T) {
	tcp := &conversation{connA: &connection{}, connB: &connection{}}
	plain := &conversation{connA: &connection{stamped: true}, connB: &connection{}}
	index := newIndex(&trace.Capture{Flows: make([]trace.Flow, 1)}, 0, nil)
	datagrams := &conversation{a: index, b: index}
	for _, c := range []struct {
		name string
		kind trace.Kind
		of   func(p *trace.Packet) uint64
		says []string
	}{
		{"fingerprint", trace.TCP, fingerprint, []string{"seq", "ack", "stamp", "SYN", "ACK", "RST"}},
		{"plainPrint", trace.TCP, plainPrint, []string{"seq", "ack", "SYN", "ACK", "RST"}},
		{"contentKey", trace.Datagram, func(p *trace.Packet) uint64 { return contentKey(p, p.Digest) }, []string{"digest", "checksum", "window", "length", "empty", "id"}},
		{"exactKey of TCP", trace.TCP, tcp.exactKey(), []string{"seq", "ack", "stamp", "SYN", "ACK", "RST", "digest", "checksum", "window", "length", "empty"}},
		{"exactKey of TCP without options", trace.TCP, plain.exactKey(), []string{"seq", "ack", "SYN", "ACK", "RST", "length", "empty"}},
		{"exactKey of datagrams", trace.Datagram, datagrams.exactKey(), []string{"digest", "checksum", "window", "length", "empty", "id"}},
		{"beginKey of TCP", trace.TCP, tcp.beginKey(), []string{"seq", "ack", "stamp", "SYN", "ACK", "RST", "digest", "checksum", "window", "empty"}},
		{"beginKey of TCP without options", trace.TCP, plain.beginKey(), []string{"seq", "ack", "SYN", "ACK", "RST", "empty"}},
		{"level exact", trace.Unaddressed, func(p *trace.Packet) uint64 { return levelKey(p, exact) }, []string{"seq", "ack", "SYN", "ACK", "RST", "PSH", "FIN", "URG", "digest", "checksum", "window"}},
		{"level unchecked", trace.Unaddressed, func(p *trace.Packet) uint64 { return levelKey(p, unchecked) }, []string{"seq", "ack", "SYN", "ACK", "RST", "PSH", "FIN", "URG", "digest", "window"}},
		{"level open", trace.Unaddressed, func(p *trace.Packet) uint64 { return levelKey(p, open) }, []string{"seq", "ack", "SYN", "ACK", "RST", "digest", "window"}},
	} {
		says := make(map[string]bool)
		for _, s := range c.says {
			says[s] = true
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			p := trace.Packet{Kind: c.kind, Seq: r.Uint32(), Ack: r.Uint32(), TSVal: r.Uint32(), Digest: r.Uint32(), Length: r.Uint32() | 1<<20, ID: uint16(r.Uint32()), Flags: uint8(r.IntN(64))}
			for name, q := range changes(p) {
				if differs := c.of(&p) != c.of(&q); differs != says[name] {
					t.Errorf("%s: another %s makes another key: %v", c.name, name, differs)
				}
			}
		}
	}
}

func TestTheIdentityOfAConnectionIsItsTwoSequenceNumbersTheOpenersFirst(t *testing.T) {
	c := &connection{initial: [2]uint32{0x11223344, 0x55667788}}
	if a, b := c.identity(0), c.identity(1); a != 0x1122334455667788 || b != 0x5566778811223344 {
		t.Errorf("%#x, %#x", a, b)
	}
}

func TestOnlyPacketsWithAnAcknowledgementAreDistinctive(t *testing.T) {
	for _, c := range []struct {
		p    trace.Packet
		want bool
	}{
		{trace.Packet{Kind: trace.TCP, Ack: 5, Flags: trace.ACK}, true}, {trace.Packet{Kind: trace.TCP, Ack: 5, Flags: trace.ACK | trace.SYN | trace.FIN}, true},
		{trace.Packet{Kind: trace.TCP, Flags: trace.ACK}, false}, {trace.Packet{Kind: trace.TCP, Ack: 5}, false}, {trace.Packet{Kind: trace.TCP, Ack: 5, Flags: trace.ACK | trace.RST}, false},
		{trace.Packet{Kind: trace.TCP, Ack: 5, Flags: trace.RST}, false}, {trace.Packet{Kind: trace.Datagram, Ack: 5, Flags: trace.ACK}, false}, {trace.Packet{Kind: trace.Other, Ack: 5, Flags: trace.ACK}, false},
	} {
		if got := distinctive(&c.p); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}
