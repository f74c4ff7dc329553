package index

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestEveryTileSaysWhatTheItemsSay(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		x := drawTimeline(t, 10_000).build(t, Options{MinDelay: rapid.Int64Range(0, 100).Draw(t, "least delay")})
		defer x.Close()
		x.mostTile = rapid.SampledFrom([]int{mostTile, mostTile, 20_000, 1000, 100, 10}).Draw(t, "bytes of a tile")
		items := make([][]item, len(x.lanes))
		for n := range x.lanes {
			items[n] = everything(t, x, n)
		}
		a := x.about
		for level := a.Top; level >= 0; level-- {
			last := a.Span >> (level + tileBits)
			numbers := []int64{0, 1, last / 2, last - 1, last, last + 1}
			if last > 0 {
				numbers = append(numbers, rapid.Int64Range(0, last).Draw(t, "tile"))
			}
			for group := range x.groups {
				for _, i := range numbers {
					if i >= 0 && i <= last+1 {
						checkTile(t, &subject{x, x.groups, x.mostTile, a.Span, fileLanes{x}.kind}, items, group, level, i)
					}
				}
			}
		}
	})
}

// subject is what makes the tiles.
type subject struct {
	tiles interface {
		Tile(group, level int, i int64) ([]byte, error)
	}
	groups   [][]int
	mostTile int
	span     int64
	kind     func(lane int) laneKind
}

// checkTile holds a tile against all items of its lanes.
func checkTile(t *rapid.T, x *subject, items [][]item, group, level int, i int64) {
	b, err := x.tiles.Tile(group, level, i)
	if err != nil {
		t.Fatal(err)
	}
	d, err := DecodeTile(b, level, i)
	if err != nil {
		t.Fatalf("tile %d.%d.%d: %v", group, level, i, err)
	}
	if len(b) > max(x.mostTile, 2) || d.Left && d.Shift < tileBits {
		t.Fatalf("tile %d.%d.%d has %d bytes of %d at most, shift %d", group, level, i, len(b), x.mostTile, d.Shift)
	}
	from := i << (level + tileBits)
	to := from + 1<<(level+tileBits)
	final, next, most := !d.Left, 0, mostExact>>d.Shift
	for _, n := range x.groups[group] {
		kind := x.kind(n)
		var exact []item
		var before *float64
		if i <= x.span>>(level+tileBits) {
			for _, it := range items[n] {
				if there(&it, kind, from, to) {
					exact = append(exact, it)
				}
				if kind == counter && it.at < from {
					v := it.value()
					before = &v
				}
			}
		}
		var want []wantedBin
		if len(exact) > most {
			final = false
			want = wantedBins(exact, kind, level+d.Shift, from, to)
		}
		if len(exact) == 0 && before == nil || len(exact) > most && len(want) == 0 {
			continue
		}
		if next == len(d.Lanes) && d.Left {
			return
		}
		if next == len(d.Lanes) || d.Lanes[next].Lane != n {
			t.Fatalf("tile %d.%d.%d lacks lane %d", group, level, i, n)
		}
		l := d.Lanes[next]
		next++
		if kind == counter && (l.Before == nil) != (before == nil) || before != nil && *l.Before != *before {
			t.Fatalf("tile %d.%d.%d lane %d: another value before", group, level, i, n)
		}
		if len(exact) <= most {
			checkExact(t, &l, exact, kind)
		} else {
			checkBins(t, &l, want, kind, level+d.Shift)
		}
	}
	if next != len(d.Lanes) || d.Final != final {
		t.Fatalf("tile %d.%d.%d: %d lanes of %d, final %v", group, level, i, next, len(d.Lanes), d.Final)
	}
}

// there reports whether an item is there at some instant of [from, to).
func there(it *item, k laneKind, from, to int64) bool {
	switch k {
	case sliced:
		if it.at == it.to {
			return it.at >= from && it.at < to
		}
		return it.at < to && it.to > from
	case messages:
		return min(it.at, it.to) < to && max(it.at, it.to) >= from
	}
	return it.at >= from && it.at < to
}

func checkExact(t *rapid.T, l *DecodedLane, want []item, k laneKind) {
	if l.Mode != int(k) || len(l.Items) != len(want) {
		t.Fatalf("lane %d: mode %d with %d items, wanted %d of kind %v", l.Lane, l.Mode, len(l.Items), len(want), k)
	}
	byEvent := make(map[int64]item)
	for _, it := range want {
		byEvent[it.event] = it
	}
	for i, g := range l.Items {
		w := want[i]
		if k == messages || k == instants { // in order of their sending, and of their time
			w = byEvent[g.Event]
			if b := l.Items[max(i-1, 0)]; g.At < b.At || g.At == b.At && g.Event < b.Event {
				t.Fatalf("lane %d: items are out of order", l.Lane)
			}
		}
		bad := g.At != w.at || g.Event != w.event
		switch k {
		case instants:
			bad = bad || g.Class != int(w.class)
		case sliced:
			bad = bad || g.To != w.to || g.Class != int(w.class) || g.Flags != int(w.flags)
		case counter:
			bad = bad || g.Value != w.value()
		case messages:
			bad = bad || g.To != w.to || g.Verdict != Verdict(w.flags) || g.Other != w.other
		}
		if bad {
			t.Fatalf("lane %d: item %d is %+v, wanted %+v", l.Lane, i, g, w)
		}
	}
}

// wantedBin is what a bin is to say, found without trees.
type wantedBin struct {
	bin                   int
	count, busy           int64
	weights               map[uint32]int64
	least, greatest, last float64
	quickest, slowest     int64
	worst                 Verdict
}

func wantedBins(items []item, k laneKind, level int, from, to int64) (out []wantedBin) {
	bins := make([]wantedBin, tileBins)
	length := int64(1) << level
	for _, it := range items {
		first := (max(it.at, from) - from) / length
		b := &bins[min(first, tileBins-1)]
		inside := it.at >= from && it.at < to
		switch k {
		case sliced:
			if inside {
				b.count++
				if it.to == it.at {
					b.weigh(it.class, 1)
				}
			}
			for n := first; n < tileBins && from+n*length < min(it.to, to); n++ {
				part := min(it.to, from+(n+1)*length) - max(it.at, from+n*length)
				bins[n].busy += part
				bins[n].weigh(it.class, part)
			}
			continue
		case counter:
			v := it.value()
			if b.count == 0 {
				b.least, b.greatest = v, v
			}
			b.least, b.greatest, b.last = min(b.least, v), max(b.greatest, v), v
		case messages:
			if !inside {
				continue
			}
			d := it.to - it.at
			if b.count == 0 {
				b.quickest, b.slowest = d, d
			}
			b.quickest, b.slowest, b.worst = min(b.quickest, d), max(b.slowest, d), max(b.worst, Verdict(it.flags))
		case instants:
			b.weigh(it.class, 1)
		}
		b.count++
	}
	for i := range bins {
		if bins[i].bin = i; bins[i].count > 0 || bins[i].busy > 0 {
			out = append(out, bins[i])
		}
	}
	return out
}

func (b *wantedBin) weigh(class uint32, w int64) {
	if b.weights == nil {
		b.weights = make(map[uint32]int64)
	}
	b.weights[class] += w
}

func checkBins(t *rapid.T, l *DecodedLane, want []wantedBin, k laneKind, level int) {
	if l.Mode != int(k)+4 || len(l.Bins) != len(want) {
		t.Fatalf("lane %d: mode %d with %d bins, wanted %d of kind %v", l.Lane, l.Mode, len(l.Bins), len(want), k)
	}
	for i, g := range l.Bins {
		w := want[i]
		bad := g.Bin != w.bin
		switch k {
		case instants:
			bad = bad || g.Count != w.count
			checkHeaviest(t, g.Class, w.weights)
		case sliced:
			share := float64(w.busy) / math.Ldexp(1, level) * 255
			bad = bad || g.Count != w.count || math.Abs(float64(g.Busy)-share) > 1 || (g.Busy == 0) != (w.busy == 0) ||
				(g.Busy == 255) != (w.busy == 1<<level)
			checkHeaviest(t, g.Class, w.weights)
		case counter:
			bad = bad || g.Least != w.least || g.Greatest != w.greatest || g.Last != w.last
		case messages:
			bad = bad || g.Count != w.count || g.Quickest != w.quickest || g.Slowest != w.slowest || g.Worst != w.worst
		}
		if bad {
			t.Fatalf("lane %d: bin is %+v, wanted %+v", l.Lane, g, w)
		}
	}
}

// checkHeaviest holds a class against the weights of all: none is heavier by more than a fifth of all.
func checkHeaviest(t *rapid.T, class int, weights map[uint32]int64) {
	var all, most int64
	for _, w := range weights {
		all, most = all+w, max(most, w)
	}
	if got := weights[uint32(class)]; got <= 0 || most-got > all/5 {
		t.Fatalf("class %d has %d of %d, another %d", class, got, all, most)
	}
}
