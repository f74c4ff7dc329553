package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
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

// TestARangeIsAMessageWhereOneSegmentSentIt counts the segments over every byte one by one. What the receiver merged
// was sent with its first byte, unless its timestamp is that of the whole.
func TestARangeIsAMessageWhereOneSegmentSentIt(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		origin := rapid.SampledFrom([]int64{0, 1 << 40, -50}).Draw(t, "origin")
		draw := func(label string) (h half, all []segment) {
			for i := range rapid.IntRange(0, 12).Draw(t, label) {
				h.segments = append(h.segments, segment{start: origin + rapid.Int64Range(0, 12).Draw(t, "start"), bytes: rapid.Uint32Range(1, 5).Draw(t, "bytes"),
					time: clock.HostTime(int64(i+1) * 1_000_000_000), stamp: rapid.SampledFrom([]uint32{0, 0, 7, 8}).Draw(t, "stamp"), copies: 1})
			}
			all = slices.Clone(h.segments)
			h.sort()
			return h, all
		}
		up, left := draw("sent")
		down, came := draw("received")
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
		alike := func(segments []segment, s *segment) (n int64) {
			for i := range segments {
				if o := &segments[i]; o.start == s.start && o.bytes == s.bytes && o.stamp == s.stamp {
					n++
				}
			}
			return n
		}
		var want []trace.Message
		ambiguous := int64(0)
		whole := rapid.Bool().Draw(t, "whole")
		for i := range down.segments {
			s := &down.segments[i]
			b := s.start + int64(s.bytes) - 1
			sent, at := count(up.segments, b, s.stamp)
			received, _ := count(down.segments, b, s.stamp)
			if merged := sent == 1 && received == 1 && at.start > s.start; merged && !whole {
				sent, at = count(up.segments, s.start, s.stamp)
				received, _ = count(down.segments, s.start, s.stamp)
			}
			copies := alike(came, s)
			switch {
			case sent == 1 && received == 1 && copies == 1 && alike(left, at) == 1:
				want = append(want, trace.Message{Sent: at.time, Received: s.time})
			case sent > 0:
				ambiguous += copies
			}
		}
		f := newFinding()
		(&segmentMatcher{wholeStamps: whole}).match(&up, &down, f)
		dropped := f.dropped
		for i := range f.several { // what only delays could tell apart
			dropped += int64(f.several[i].received)
		}
		if dropped != ambiguous {
			t.Fatalf("%d ambiguous, want %d", dropped, ambiguous)
		}
		if got := slices.Concat(f.link.blocks()...); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		// In any order of questions.
		var c cover
		for range 20 {
			b, stamp := origin+rapid.Int64Range(-1, 18).Draw(t, "byte"), rapid.SampledFrom([]uint32{0, 7, 8}).Draw(t, "of")
			n, at := c.find(up.segments, b, &segment{start: b, stamp: stamp})
			m, s := count(up.segments, b, stamp)
			if n != min(m, 2) || m == 1 && &up.segments[at] != s {
				t.Fatalf("byte %d: %d segments at %d, want %d", b, n, at, m)
			}
		}
	})
}

func TestSegmentsThatNothingTellsApartAreOneAndStandInTheOrderOfTheirBytes(t *testing.T) {
	base := segment{start: 100, bytes: 10, time: 1_000_000_000, stamp: 7, id: 3, copies: 1}
	for _, c := range []struct {
		name   string
		change func(s *segment)
		n      int
		apart  bool
	}{
		{"at another interface", func(s *segment) { s.time += repeatWithin }, 1, false}, {"earlier", func(s *segment) { s.time -= repeatWithin }, 1, false},
		{"later", func(s *segment) { s.time += repeatWithin + 1 }, 1, true}, {"another stamp", func(s *segment) { s.stamp++ }, 2, false},
		{"another identification", func(s *segment) { s.id++ }, 2, false},
		{"longer", func(s *segment) { s.bytes++ }, 2, false}, {"elsewhere", func(s *segment) { s.start++ }, 2, false}, {"before", func(s *segment) { s.start -= 50 }, 2, false},
	} {
		s := base
		c.change(&s)
		h := half{segments: []segment{base, s}}
		h.sort()
		if got := h.segments[0]; len(h.segments) != c.n || c.n == 1 && (got.time != base.time || got.copies != 2 || got.apart != c.apart) {
			t.Errorf("%s: %+v", c.name, h.segments)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	var h half
	for i := range 200 {
		h.segments = append(h.segments, segment{start: r.Int64N(500), bytes: 1 + r.Uint32N(60), time: clock.HostTime(int64(i) * 1_000_000_000), copies: 1})
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

// occurrences lists the stamps of every key.
func occurrences(list []acknowledgement) map[uint64][]clock.HostTime {
	seen := make(map[uint64][]clock.HostTime)
	for _, a := range list {
		seen[a.key] = append(seen[a.key], a.time)
	}
	return seen
}

// TestWhatBothSawIsOfferedWithAllCopiesWhateverThePartsOfTheTable counts every key at both ends.
func TestWhatBothSawIsOfferedWithAllCopiesWhateverThePartsOfTheTable(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		now := clock.HostTime(0)
		draw := func(label string) (list []acknowledgement) {
			for range rapid.IntRange(0, 20).Draw(t, label) {
				now++
				list = append(list, acknowledgement{key: rapid.SampledFrom([]uint64{0, 1, 2, 3, 5, 1 << 63, 1<<63 + 1, 1<<64 - 1}).Draw(t, "key"), time: now})
			}
			return list
		}
		ends := [2][]acknowledgement{draw("sent"), draw("received")}
		seen := [2]map[uint64][]clock.HostTime{occurrences(ends[0]), occurrences(ends[1])}
		once, more, dropped := make(map[trace.Message]bool), 0, int64(0)
		for key, sent := range seen[0] {
			switch came := seen[1][key]; {
			case len(came) == 0:
			case len(sent) == 1 && len(came) == 1:
				once[trace.Message{Sent: sent[0], Received: came[0]}] = true
			case len(sent) <= maxTimes && len(came) <= maxTimes:
				more++
			default:
				dropped += int64(len(came))
			}
		}
		var table table
		for _, parts := range []uint64{0, 1, 2, 3} { // 0: as it is called
			f := newFinding()
			unmatched := func(end, place int) {
				if seen[1-end][ends[end][place].key] != nil {
					t.Fatalf("%d is not alone at end %d", place, end)
				}
			}
			if parts == 0 {
				table.join(ends[0], ends[1], f, unmatched)
				table.join(ends[0], ends[1], newFinding(), nil)
			}
			for part := range parts {
				table.joinPart(ends, part, parts, f, unmatched)
			}
			last := int64(-1)
			for _, m := range slices.Concat(f.link.blocks()...) {
				if !once[m] || parts < 2 && int64(m.Received) < last {
					t.Fatalf("%d parts: %v of %v", parts, m, once)
				}
				last = int64(m.Received)
			}
			for _, s := range f.several {
				key := keyAt(ends[0], s.time[0][0])
				for end := range s.time {
					if all := seen[end][key]; !slices.Equal(all, s.time[end][:s.count[end]]) {
						t.Fatalf("end %d: %d, and %+v was offered", end, all, s)
					}
				}
				if int(s.received) != len(seen[1][key]) {
					t.Fatalf("%d receptions of %d", s.received, seen[1][key])
				}
			}
			if f.link.length() != len(once) || len(f.several) != more || f.dropped != dropped {
				t.Fatalf("%d parts: %d messages, %d keys of several, %d dropped; want %d, %d, %d", parts, f.link.length(), len(f.several), f.dropped, len(once), more, dropped)
			}
		}
	})
}

func newFinding() *finding { return &finding{link: &link{}} }

// keyAt returns the key that was seen at an instant.
func keyAt(list []acknowledgement, at clock.HostTime) uint64 {
	return list[slices.IndexFunc(list, func(a acknowledgement) bool { return a.time == at })].key
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
