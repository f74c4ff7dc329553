package show

import (
	"cmp"
	"math/bits"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// pictureRow is what a picture keeps of one stream.
type pictureRow struct {
	stream, host int
	count        int64
	inverted     bool // an inverted message begins or ends here
	forgotten    bool // too quiet to be drawn, where there were too many rows
	blocks       []block
	latest       []int // for each level, its last block
	open         []begun
	deeper       int // slices that began beyond the deepest
	ticks        []dash
	curve        *curve
}

// block is a slice, or several that share a pixel. Those of one level do not overlap and come in order.
type block struct {
	start, end    clock.TimelineTime
	busy, longest int64
	class, level  int32
}

// begun is a slice that has not ended.
type begun struct {
	start clock.TimelineTime
	id    uint64
	class int32
	level int32
}

// dash is the instants in one column.
type dash struct {
	column, count int32
}

// curve is the values of one field of one counter, column by column.
type curve struct {
	class, field int
	low, high    float64
	at           []swing
}

type swing struct {
	column          int32
	low, high, last float64
}

const deepestLevel = 32

// begin opens a slice on the lowest free level. So nested slices are drawn one below the other, and slices that only
// overlap, such as the spans of a process, are on levels of their own.
func (w *pictureRow) begin(r *trace.TimelineEvent) {
	if len(w.open) >= deepestLevel {
		w.deeper++
		return
	}
	var taken uint64
	for _, s := range w.open {
		taken |= 1 << s.level
	}
	level := bits.TrailingZeros64(^taken)
	w.open = append(w.open, begun{r.Time, r.Slice, int32(r.Class), int32(level)})
}

func (w *pictureRow) close(id uint64) (begun, bool) {
	if id == 0 && w.deeper > 0 {
		w.deeper--
		return begun{}, false
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if s := w.open[i]; id == 0 || s.id == id {
			w.open = slices.Delete(w.open, i, i+1)
			return s, true
		}
	}
	return begun{}, false
}

// slice adds a block, to the one before if both lie in one column.
func (p *Picture) slice(w *pictureRow, s begun, end clock.TimelineTime) {
	if s.start > p.options.Last || end < p.options.First || w.forgotten {
		return
	}
	start := max(s.start, p.options.First)
	end = max(min(end, p.options.Last), start)
	busy := clock.Sub(end, start)
	p.spent[s.class] = clock.Add(p.spent[s.class], busy)
	for len(w.latest) <= int(s.level) {
		w.latest = append(w.latest, -1)
	}
	if i := w.latest[s.level]; i >= 0 {
		if b := &w.blocks[i]; p.column(b.start) == p.column(end) {
			if busy > b.longest {
				b.class, b.longest = s.class, busy
			}
			b.end, b.busy = max(b.end, end), b.busy+busy
			return
		}
	}
	w.latest[s.level] = len(w.blocks)
	w.blocks = append(w.blocks, block{start, end, busy, busy, s.class, s.level})
	p.blocks++
}

func (p *Picture) tick(w *pictureRow, at clock.TimelineTime) {
	if w.forgotten {
		return
	}
	c := p.column(at)
	if n := len(w.ticks); n > 0 && w.ticks[n-1].column == c {
		w.ticks[n-1].count++
		return
	}
	w.ticks = append(w.ticks, dash{c, 1})
	p.blocks++
}

// counter follows the first number of the first counter that a row has; others are ticks.
func (p *Picture) counter(w *pictureRow, r *trace.TimelineEvent) {
	for i := range r.Values {
		v, ok := r.Values[i].Number()
		if !ok || v-v != 0 { // no number, infinite or NaN
			continue
		}
		if w.curve == nil {
			w.curve = &curve{class: r.Class, field: i, low: v, high: v}
		}
		k := w.curve
		if k.class != r.Class || k.field != i {
			continue
		}
		if w.forgotten {
			return
		}
		k.low, k.high = min(k.low, v), max(k.high, v)
		c := p.column(r.Time)
		if n := len(k.at); n > 0 && k.at[n-1].column == c {
			s := &k.at[n-1]
			s.low, s.high, s.last = min(s.low, v), max(s.high, v), v
			return
		}
		k.at = append(k.at, swing{c, v, v, v})
		p.blocks++
		return
	}
	p.tick(w, r.Time)
}

// busiest returns the rows in the order in which they deserve to be drawn: no row with an inverted message may be hidden
// by busy ones without.
func (p *Picture) busiest() []*pictureRow {
	var all []*pictureRow
	for _, w := range p.rows {
		if w != nil {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *pictureRow) int {
		if a.inverted != b.inverted {
			if a.inverted {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.stream, b.stream))
	})
	return all
}

// trim forgets what rows did that are far from being drawn.
func (p *Picture) trim() {
	for n, w := range p.busiest() {
		if n >= 4*p.options.Rows {
			w.forgotten = true
			w.blocks, w.latest, w.ticks, w.curve = nil, nil, nil, nil
		}
	}
	p.blocks = 0
	for _, w := range p.rows {
		if w != nil {
			p.blocks += len(w.blocks) + len(w.ticks)
			if w.curve != nil {
				p.blocks += len(w.curve.at)
			}
		}
	}
}
