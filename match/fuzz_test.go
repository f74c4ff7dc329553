package match

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// capturesOf makes captures of any bytes, 16 for a packet, some of which no capture can have.
func capturesOf(data []byte) []*trace.Capture {
	var captures []*trace.Capture
	for i := range 3 {
		c := &trace.Capture{Host: string(rune('a' + i%2 + i/2)), File: string(rune('a' + i)), Granularity: int64(i)}
		for f := range 3 {
			c.Flows = append(c.Flows, trace.Flow{Low: trace.Endpoint{Addr: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Port: uint16(f)},
				High: trace.Endpoint{Addr: netip.AddrFrom4([4]byte{10, 0, byte(i / 2), 2}), Port: 80}, Protocol: []uint8{6, 17, 1}[f]})
		}
		captures = append(captures, c)
	}
	numbers := [...]uint32{0, 1, 1000, 1 << 31, math.MaxUint32, 77, 78, 5}
	for ; len(data) >= 16; data = data[16:] {
		b := data[:16]
		p := captures[int(b[0])%len(captures)].Packets.Append()
		p.Flow = uint32(b[1] & 7) // up to flow 3 of 3
		if b[1]&8 != 0 {
			p.Flow = trace.NoFlow
		}
		p.Kind, p.From, p.Flags, p.TTL = trace.Kind(b[2]&15)%5, trace.Direction(b[2]>>4)%5, b[3], b[4]
		p.Seq, p.Ack, p.Length = numbers[b[5]&7], numbers[b[5]>>3&7], numbers[b[6]&7]
		p.TSVal, p.Digest, p.ID = uint32(b[6]>>6), numbers[b[6]>>3&7], uint16(b[7]&3)
		p.Time = clock.HostTime(binary.BigEndian.Uint64(b[8:])) >> (b[7] >> 2)
	}
	return captures
}

// FuzzMatch demands that any captures are refused with the reason, or matched to clocks that exist.
func FuzzMatch(f *testing.F) {
	f.Add([]byte{})
	var talk []byte
	for i := range byte(40) {
		for at := range byte(2) {
			talk = append(talk, at, i&1, byte(trace.TCP), trace.ACK, 64-at, i&7|i>>3<<3, i, 4, 0, 0, 0, 0, 1, i, at*16+8*(i&1)*(1-2*at), 0)
		}
	}
	f.Add(talk)
	f.Add([]byte(strings.Repeat("\x01\x09\x03\x10@\x05\x01\xf4\x7f\xff\xff\xff\xff\xff\xff\xff", 3)))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		captures := capturesOf(data[:min(len(data), 1<<14)])
		var invalid error
		for _, c := range captures {
			invalid = errors.Join(invalid, c.Check())
		}
		r, err := Match(context.Background(), captures, Options{}, nil)
		if (err != nil) != (invalid != nil) {
			t.Fatalf("%v, but %v", err, invalid)
		}
		if err != nil {
			return
		}
		events := int64(0)
		for _, c := range r.Clocks {
			events += c.Events
		}
		for i, c := range captures {
			events -= int64(c.Packets.Len())
			for n := range c.Packets.Len() {
				if of := r.Captures[i].Of(n); of < 0 || of >= len(r.Clocks) || r.Clocks[of].Host != c.Host {
					t.Fatalf("packet %d of capture %d is of clock %d", n, i, of)
				}
			}
		}
		if events != 0 {
			t.Fatalf("the clocks have %d events more than there are packets", events)
		}
		for _, c := range r.Channels {
			if c.From < 0 || c.To < 0 || c.From >= len(r.Clocks) || c.To >= len(r.Clocks) || c.From == c.To {
				t.Fatalf("messages from clock %d to %d of %d", c.From, c.To, len(r.Clocks))
			}
		}
	})
}

// FuzzTagged demands that every mark is counted once, whatever it says.
func FuzzTagged(f *testing.F) {
	f.Add([]byte{0, 1, 0, 5, 1, 2, 0, 5})
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		files := []TaggedFile{{Marks: &trace.Marks{}, Clocks: []int{0, 1}}, {Marks: &trace.Marks{}, Clocks: []int{1, -1, 2}}, {}}
		for ; len(data) >= 4; data = data[4:] {
			m := files[data[0]&1].Marks
			m.Marks = append(m.Marks, trace.Mark{Role: trace.Role(data[1] % 7), Host: int(data[2]%6) - 1, Key: trace.Key{data[3]}, Time: clock.HostTime(data[0])<<55 - 1<<62, Stream: int(data[1] >> 6)})
		}
		r := Tagged(files, nil)
		n := int64(0)
		for _, c := range r.Channels {
			n += int64(len(c.Messages))
			if c.From == c.To || c.From < 0 || c.To > 2 || c.To < 0 || c.From > 2 {
				t.Fatalf("messages from clock %d to %d", c.From, c.To)
			}
		}
		if n != r.Tally.Messages || int64(len(r.Collectives)) != r.Tally.Collectives {
			t.Fatalf("%d messages, %d collectives, but %v", n, len(r.Collectives), r.Tally)
		}
		Collectives(r.Collectives)
	})
}

func TestCapturesThatCannotBeAreRefusedByName(t *testing.T) {
	good := func() *trace.Capture {
		w := newWorld(0)
		oneWay(w, func(*trace.Packet, bool) {})
		return w.a
	}
	for want, spoil := range map[string]func(c *trace.Capture){
		"packet 3: flow 7 of 1":                     func(c *trace.Capture) { c.Packets.At(3).Flow = 14 },
		"packet 9: unknown kind 5":                  func(c *trace.Capture) { c.Packets.At(9).Kind = trace.Untimed + 1 },
		"packet 0: unknown direction 200":           func(c *trace.Capture) { c.Packets.At(0).From = 200 },
		"packet 2: a stamp of 9223372036854775807":  func(c *trace.Capture) { c.Packets.At(2).Time = math.MaxInt64 },
		"packet 2: a stamp of -4611686018427387904": func(c *trace.Capture) { c.Packets.At(2).Time = -clock.Limit },
		"a granularity of -1 ns":                    func(c *trace.Capture) { c.Granularity = -1 },
	} {
		bad := good()
		bad.Host, bad.File = "db", "db.pcap"
		spoil(bad)
		_, err := Match(t.Context(), []*trace.Capture{good(), bad}, Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `capture 1 (db.pcap of host "db")`) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, at := range []clock.HostTime{-clock.Limit + 1, clock.Limit - 1} {
		c := good()
		c.Packets.At(2).Time = at
		if _, err := Match(t.Context(), []*trace.Capture{good(), c}, Options{}, nil); err != nil {
			t.Errorf("a stamp at the limit: %v", err)
		}
	}
	if _, err := Match(t.Context(), []*trace.Capture{good(), nil}, Options{}, nil); err == nil || !strings.Contains(err.Error(), "capture 1 is nil") {
		t.Errorf("%v", err)
	}
	if _, err := Match(t.Context(), nil, Options{Addresses: map[string][]netip.Addr{"web": {{}}}}, nil); err == nil || !strings.Contains(err.Error(), `"web"`) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Match(ctx, []*trace.Capture{good()}, Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, captures := range [][]*trace.Capture{nil, {good()}, {{}}, {{}, {}}, {{}, {Host: "b"}}} {
		r, err := Match(t.Context(), captures, Options{}, nil)
		if err != nil || r.Tally != (Tally{}) || len(r.Captures) != len(captures) {
			t.Errorf("%d captures: %v", len(captures), err)
		}
	}
}
