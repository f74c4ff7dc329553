//go:build unix

package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/sensor/ring"
	"meridian/trace"
)

// texts are events of a text and no more, in a ring of one shard.
type texts struct {
	shard *ring.Shard
	class uint16
	said  []string // so far
}

func newTexts(t *testing.T, dir string) *texts {
	t.Helper()
	w, err := ring.Create(ring.Options{Dir: dir, Program: "web", Shards: 1, Buffers: 4, BufferSize: 1 << 17,
		Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Remove() })
	h, err := w.Register(ring.Class{Name: "said", Fields: "string _text;"})
	if err != nil {
		t.Fatal(err)
	}
	shard, err := w.Claim()
	if err != nil {
		t.Fatal(err)
	}
	return &texts{shard: shard, class: h.ID}
}

// say emits an event of so many bytes of a file.
func (x *texts) say(t *testing.T, size int) {
	t.Helper()
	text := fmt.Sprintf("%d ", len(x.said))
	text += string(bytes.Repeat([]byte{'x'}, max(0, size-fileEventHead-len(text)-1)))
	inRing := ring.HeadSize + len(text) + 1
	p := x.shard.Reserve(inRing)
	if p == nil {
		t.Fatal("no room in the ring")
	}
	stamp := uint64(clock.Monotonic.Now())
	ring.PutHead(p, x.class, inRing, stamp)
	copy(unsafe.Slice((*byte)(unsafe.Add(p, ring.HeadSize)), len(text)+1), text+"\x00")
	x.shard.Commit(inRing, stamp)
	x.said = append(x.said, text)
}

// filePacket is a packet of a ring as the package comment lays it out, with the texts of its events.
type filePacket struct {
	offset, size, sequence, begin, end, position, discarded int
	texts                                                   []string
}

// packetsOf reads a file byte by byte, and checks what holds for each packet by itself.
func packetsOf(t *testing.T, data []byte, head int) (all []filePacket) {
	t.Helper()
	le := binary.LittleEndian
	number := func(b []byte) int { return int(le.Uint64(b)) }
	for at := 0; at < len(data); {
		b := data[at:]
		p := filePacket{offset: at, size: number(b[56:]) / 8, sequence: number(b[64:]), begin: number(b[32:]), end: number(b[40:]), position: number(b[100:]), discarded: number(b[72:])}
		content := number(b[48:]) / 8
		if le.Uint32(b) != 0xc1fc1fc1 || content < head || content > p.size || p.size > len(b) {
			t.Fatalf("offset %d: %d bytes of content in a packet of %d, %d are left", at, content, p.size, len(b))
		}
		events := b[head:content]
		if got := le.Uint32(b[80:]); got != crc32.Checksum(events, crc32.MakeTable(crc32.Castagnoli)) {
			t.Fatalf("offset %d: the checksum is wrong", at)
		}
		if bytes.Count(b[content:p.size], []byte{0}) != p.size-content {
			t.Fatalf("offset %d: the padding is not 0", at)
		}
		for last := p.begin; len(events) > 0; {
			stamp, n := number(events), bytes.IndexByte(events[10:], 0)
			if stamp < last || stamp > p.end || len(p.texts) == 0 && stamp != p.begin {
				t.Fatalf("offset %d: an event at %d after %d, in a packet from %d to %d", at, stamp, last, p.begin, p.end)
			}
			last = stamp
			p.texts = append(p.texts, string(events[10:10+n]))
			if events = events[10+n+1:]; len(events) == 0 && last != p.end {
				t.Fatalf("offset %d: the last event is at %d, the packet ends at %d", at, last, p.end)
			}
		}
		all = append(all, p)
		at += p.size
	}
	return all
}

// recordTexts records texts of random sizes in passes of random length, and returns the file and the size of a packet's
// head. Nothing is released in the ring.
func recordTexts(t *testing.T, random *rand.Rand, dir, rings string, x *texts, size func() int) (path string, head int) {
	t.Helper()
	r, err := New(Options{Dir: dir, Rings: []string{rings}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.t.close()
	if _, _, err := r.find(); err != nil || len(r.rings) != 1 {
		t.Fatal(len(r.rings), err)
	}
	for _, d := range r.rings {
		d.line.reach(clock.Monotonic.Now())
		for inRing, pass := 0, 0; inRing < 300_000; {
			for n := 1 + random.IntN(1<<random.IntN(9)); n > 0 && inRing < 300_000; n-- {
				event := size()
				x.say(t, event)
				inRing += event
			}
			if pass++; pass%5 == 0 {
				if err := d.tellOf(d.shard(0), d.shard(0).discarded); err != nil { // a packet without events
					t.Fatal(err)
				}
			}
			if err := takeAll(d); err != nil {
				t.Fatal(err)
			}
		}
		path, head = d.shards[0].file.path, len(d.head)
		if int(d.counts.Events) != len(x.said) {
			t.Errorf("%d events are counted of %d", d.counts.Events, len(x.said))
		}
		d.shards[0].file.close()
		d.reader.Close()
	}
	return path, head
}

// A packet crosses into another page only for the sake of one event. Each packet tells exactly what the file has up to it: whatever
// a kill leaves of the file, cut at any page, is whole, and the next recorder adds just what is missing.
func TestPacketsOfARingLieWithinPages(t *testing.T) {
	random := testseed.New(t)
	for name, size := range map[string]func() int{
		"small":  func() int { return 13 + random.IntN(60) },
		"middle": func() int { return 13 + random.IntN(2500) },
		"whole":  func() int { return 3900 + random.IntN(100) },
		"large":  func() int { return 13 + random.IntN(1<<(5+random.IntN(11))) },
	} {
		t.Run(name, func(t *testing.T) {
			rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
			x := newTexts(t, rings)
			path, head := recordTexts(t, random, dir, rings, x, size)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			said, position, before := 0, 0, filePacket{}
			all := packetsOf(t, data, head)
			for i, p := range all {
				if p.sequence != i || p.begin < before.end || p.discarded != 0 {
					t.Fatalf("offset %d: packet %d has number %d, begins at %d after one that ends at %d", p.offset, i, p.sequence, p.begin, before.end)
				}
				for _, text := range p.texts {
					if text != x.said[said] {
						t.Fatalf("offset %d: event %q, where %q was emitted", p.offset, text, x.said[said])
					}
					said++
				}
				first := 0
				if len(p.texts) > 0 {
					first = fileEventHead + len(p.texts[0]) + 1
				}
				last := (p.offset + p.size - 1) / page
				if last > p.offset/page && (p.offset%page != 0 || head+first <= (p.size-1)/page*page) {
					t.Fatalf("offset %d: the packet of %d bytes crosses a page, and its first event has %d", p.offset, p.size, first)
				}
				if len(p.texts) == 0 && p.size > page {
					t.Fatalf("offset %d: %d bytes without an event", p.offset, p.size)
				}
				if p.position < position {
					t.Fatalf("offset %d: position %d after %d", p.offset, p.position, position)
				}
				position, before = p.position, p
			}
			if said != len(x.said) {
				t.Fatalf("%d events of %d are in the file", said, len(x.said))
			}
			for range 4 {
				cutAndGoOn(t, random, dir, rings, path, data, all, x)
			}
		})
	}
}

// cutAndGoOn leaves a file as a recorder does that is killed within a write, and has the next recorder go on.
func cutAndGoOn(t *testing.T, random *rand.Rand, dir, rings, path string, data []byte, all []filePacket, x *texts) {
	t.Helper()
	at := random.IntN(len(data)/page+1) * page
	paths, _ := filepath.Glob(filepath.Join(dir, sensorFiles+"*")) // also of a recorder that found no packet to go on with
	for _, path := range paths {
		os.Remove(path)
	}
	if err := os.WriteFile(path, data[:at], 0o666); err != nil {
		t.Fatal(err)
	}
	size, crosses := 0, false
	for _, p := range all {
		if p.offset+p.size <= at {
			size = p.offset + p.size
		} else if p.offset < at {
			crosses = p.size > page
		}
	}
	if size != at && !crosses {
		t.Fatalf("cut at %d, the packets end at %d", at, size)
	}
	var w trace.Warnings
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Warnings: &w})
	if err != nil {
		t.Fatal(err)
	}
	if torn := len(w.Lines()) > 0; torn != (size != at) {
		t.Errorf("cut at %d of packets that end at %d: %q", at, size, w.Lines())
	}
	if _, _, err := r.find(); err != nil {
		t.Fatal(err)
	}
	for path, d := range r.rings {
		if err := takeAll(d); err != nil {
			t.Fatal(err)
		}
		for _, s := range d.shards {
			if s != nil {
				s.file.close()
			}
		}
		d.reader.Close()
		delete(r.rings, path)
	}
	r.t.close()
	got := 0
	for _, e := range read(t, dir) {
		if e.class.Name != "said" {
			continue
		}
		if got >= len(x.said) || string(e.values[0].Data) != x.said[got] {
			t.Fatalf("cut at %d: event %d is %q", at, got, e.values[0].Data)
		}
		got++
	}
	if got != len(x.said) {
		t.Errorf("cut at %d: %d events of %d", at, got, len(x.said))
	}
	babeltrace(t, dir)
}

// takeAll writes what is in a ring and releases nothing there.
func takeAll(d *drain) error {
	d.line.reach(clock.Monotonic.Now())
	for p := (ring.Packet{}); ; {
		ok, err := d.reader.Next(&p)
		if err == nil && ok {
			err = d.take(&p)
		}
		if err != nil || !ok {
			return err
		}
	}
}
