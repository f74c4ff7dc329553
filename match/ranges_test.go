package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

func TestWithinIncludesItsBorders(t *testing.T) {
	for _, c := range []struct {
		a, b     clock.HostTime
		distance int64
		want     bool
	}{{5, 5, 0, true}, {5, 15, 10, true}, {15, 5, 10, true}, {5, 16, 10, false}, {16, 5, 10, false}, {5, 14, 10, true}} {
		if within(c.a, c.b, c.distance) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// TestARangeIsAMessageWhereOneSegmentSentItsLastByte counts the segments over every byte one by one.
func TestARangeIsAMessageWhereOneSegmentSentItsLastByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		origin := rapid.SampledFrom([]int64{0, 1 << 40, -50}).Draw(t, "origin")
		draw := func(label string) half {
			var h half
			for i := range rapid.IntRange(0, 12).Draw(t, label) {
				h.segments = append(h.segments, segment{start: origin + rapid.Int64Range(0, 12).Draw(t, "start"), bytes: rapid.Uint32Range(1, 5).Draw(t, "bytes"),
					time: clock.HostTime(int64(i+1) * 1_000_000_000), stamp: rapid.SampledFrom([]uint32{0, 0, 7, 8}).Draw(t, "stamp")})
			}
			h.sort()
			return h
		}
		up, down := draw("sent"), draw("received")
		count := func(segments []segment, b int64, stamp uint32) (n int, last *segment) {
			for i := range segments {
				s := &segments[i]
				if s.start <= b && b < s.start+int64(s.bytes) && (s.stamp == stamp || s.stamp == 0 || stamp == 0) {
					n++
					last = s
				}
			}
			return n, last
		}
		var want []trace.Message
		ambiguous := int64(0)
		for i := range down.segments {
			s := &down.segments[i]
			b := s.start + int64(s.bytes) - 1
			sent, at := count(up.segments, b, s.stamp)
			received, _ := count(down.segments, b, s.stamp)
			switch {
			case sent == 1 && received == 1:
				want = append(want, trace.Message{Sent: at.time, Received: s.time})
			case sent > 0:
				ambiguous++
			}
		}
		l := &link{}
		if got := matchSegments(up.segments, down.segments, l); got != ambiguous {
			t.Fatalf("%d ambiguous, want %d", got, ambiguous)
		}
		if got := slices.Concat(l.blocks()...); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		// In any order of questions.
		var c cover
		for range 20 {
			b, stamp := origin+rapid.Int64Range(-1, 18).Draw(t, "byte"), rapid.SampledFrom([]uint32{0, 7, 8}).Draw(t, "of")
			n, at := c.find(up.segments, b, stamp)
			m, s := count(up.segments, b, stamp)
			if n != min(m, 2) || m == 1 && &up.segments[at] != s {
				t.Fatalf("byte %d: %d segments at %d, want %d", b, n, at, m)
			}
		}
	})
}

func TestSegmentsMetTwiceAreOneAndStandInTheOrderOfTheirBytes(t *testing.T) {
	base := segment{start: 100, bytes: 10, time: 1_000_000_000, stamp: 7}
	for _, c := range []struct {
		name   string
		change func(s *segment)
		n      int
	}{
		{"at another interface", func(s *segment) { s.time += repeatWithin }, 1}, {"earlier", func(s *segment) { s.time -= repeatWithin }, 1},
		{"later", func(s *segment) { s.time += repeatWithin + 1 }, 2}, {"another stamp", func(s *segment) { s.stamp++ }, 2},
		{"longer", func(s *segment) { s.bytes++ }, 2}, {"elsewhere", func(s *segment) { s.start++ }, 2}, {"before", func(s *segment) { s.start -= 50 }, 2},
	} {
		s := base
		c.change(&s)
		h := half{segments: []segment{base, s}}
		h.sort()
		if len(h.segments) != c.n || h.segments[0].time != base.time && c.n == 1 {
			t.Errorf("%s: %+v", c.name, h.segments)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	var h half
	for i := range 200 {
		h.segments = append(h.segments, segment{start: r.Int64N(500), bytes: 1 + r.Uint32N(60), time: clock.HostTime(int64(i) * 1_000_000_000)})
	}
	h.sort()
	reach := int64(-1 << 62)
	for i, s := range h.segments {
		if reach = max(reach, s.start+int64(s.bytes)); s.reach != reach || i > 0 && (s.start < h.segments[i-1].start || s.start == h.segments[i-1].start && s.bytes < h.segments[i-1].bytes) {
			t.Fatalf("segment %d: %+v after %+v, reach %d", i, s, h.segments[max(i, 1)-1], reach)
		}
	}
	h.shift(-1000)
	if h.segments[0].start >= 0 || h.segments[0].start < -1000 {
		t.Errorf("shifted to %d", h.segments[0].start)
	}
}

// occurrence is what is seen of a key at one end.
type occurrence struct {
	first   clock.HostTime
	n       int
	several bool // times further apart than a repetition
}

// occurrences counts every key of a list.
func occurrences(list []acknowledgement) map[uint64]*occurrence {
	seen := make(map[uint64]*occurrence)
	for _, a := range list {
		o := seen[a.key]
		if o == nil {
			seen[a.key] = &occurrence{first: a.time, n: 1}
			continue
		}
		o.n++
		o.several = o.several || a.time-o.first > repeatWithin
	}
	return seen
}

// bothOnce returns the messages of the keys that both ends saw at one time, the number of them and of the ambiguous keys,
// and how many acknowledgements of each end the other has not.
func bothOnce(seen [2]map[uint64]*occurrence) (want map[trace.Message]int, messages, ambiguous int64, alone [2]int) {
	want = make(map[trace.Message]int)
	for end := range seen {
		for key, o := range seen[end] {
			p := seen[1-end][key]
			switch {
			case p == nil:
				alone[end] += o.n
			case end == 1:
			case o.several || p.several:
				ambiguous++
			default:
				want[trace.Message{Sent: o.first, Received: p.first}]++
				messages++
			}
		}
	}
	return want, messages, ambiguous, alone
}

// TestWhatBothSawOnceIsAMessageWhateverThePartsOfTheTable counts every key at both ends.
func TestWhatBothSawOnceIsAMessageWhateverThePartsOfTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (list []acknowledgement) {
			now := clock.HostTime(0)
			for range rapid.IntRange(0, 20).Draw(t, label) {
				now += clock.HostTime(rapid.SampledFrom([]int64{1, repeatWithin, repeatWithin + 1, 3 * repeatWithin}).Draw(t, "pause"))
				list = append(list, acknowledgement{key: rapid.SampledFrom([]uint64{0, 1, 2, 3, 5, 1 << 63, 1<<63 + 1, 1<<64 - 1}).Draw(t, "key"), time: now})
			}
			return list
		}
		ends := [2][]acknowledgement{draw("sent"), draw("received")}
		seen := [2]map[uint64]*occurrence{occurrences(ends[0]), occurrences(ends[1])}
		want, messages, ambiguous, alone := bothOnce(seen)
		var table table
		for _, parts := range []uint64{0, 1, 2, 3} { // 0: as it is called
			l := &link{}
			got, left := int64(0), [2]int{}
			unmatched := func(end, place int) {
				if seen[1-end][ends[end][place].key] != nil {
					t.Fatalf("%d is not alone at end %d", place, end)
				}
				left[end]++
			}
			if parts == 0 {
				got = table.matchUnique(ends[0], ends[1], l, unmatched)
				table.matchUnique(ends[0], ends[1], &link{}, nil)
			}
			for part := range parts {
				got += table.matchPart(ends, part, parts, l, unmatched)
			}
			found, last := int64(0), int64(-1)
			for _, m := range slices.Concat(l.blocks()...) {
				found++
				if parts < 2 && int64(m.Received) < last {
					t.Fatalf("%v: not in the order of the receiver", m)
				}
				last = int64(m.Received)
				if want[m] == 0 {
					t.Fatalf("%d parts: %v of %v", parts, m, want)
				}
			}
			if got != ambiguous || found != messages || left != alone {
				t.Fatalf("%d parts: %d ambiguous, %d messages, %v alone; want %d, %d, %v", parts, got, found, left, ambiguous, messages, alone)
			}
		}
	})
}

func TestALinkHoldsAllThatWasAddedInOrder(t *testing.T) {
	l := &link{}
	const n = 2*linkBlock + 100
	for i := range clock.HostTime(n) {
		l.add(trace.Message{Sent: i})
	}
	all := slices.Concat(l.blocks()...)
	for i, m := range all {
		if m.Sent != clock.HostTime(i) {
			t.Fatalf("message %d is %v", i, m)
		}
	}
	for _, b := range l.blocks() {
		if len(b) == 0 || len(b) > linkBlock {
			t.Errorf("a block of %d messages", len(b))
		}
	}
	if len(all) != n || len(l.blocks()) != 3 {
		t.Errorf("%d messages in %d blocks", len(all), len(l.blocks()))
	}
	c := collector{links: make(map[[2]*index]*link)}
	a, b, d := &index{}, &index{host: 1}, &index{host: 2}
	for range 2 {
		for _, pair := range [][2]*index{{a, b}, {a, b}, {b, a}, {a, d}, {a, b}, {d, b}, {a, b}, {d, d}} {
			if got := c.link(pair[0], pair[1]); got.from != pair[0] || got.to != pair[1] || got != c.links[pair] {
				t.Fatal("the link of other captures")
			}
		}
	}
	if len(c.ordered) != 5 {
		t.Errorf("%d links", len(c.ordered))
	}
}
