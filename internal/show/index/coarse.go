package index

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// At high levels a bin has many pages of a lane's tree, at low ones a lane has few items. At the levels in between, and above
// them, each page would have to be opened for a few bins. For those the file has summaries in equal steps of time: at level
// c steps of 2^c ns, without the empty ones. The first such level is the least with a step for three items. Then comes
// every second level, until there are no more steps than a tile has bins. Together they are fewer than half of the items.
//
// A page of them: kind and level, a byte each, how many; then for each its step (signed, from the one before) and what it
// sums up. Of messages and their ends, which are not in order, a step may come twice.
const (
	leastCoarse  = 1024 // items of a lane that has any
	itemsAStep   = 3
	stepsAPage   = 512
	longestPage  = 64 << 10
	openMessages = 32 // steps that wait for more messages
)

// coarse is one level of a lane.
type coarse struct {
	level int
	pages []coarsePage
}

// coarsePage is where steps lie, which are from first to last.
type coarsePage struct {
	pageRef
	first, last int64
}

// borders counts how often each power of two lies between two items: at how many steps of any level a lane has something.
func (l *lane) borders(items []item) {
	for i := range items {
		l.deep[bits.Len64(uint64(l.before^items[i].at))]++
		l.before = items[i].at
	}
}

// A segment's lane is summed up more coarsely, since that is done anew for each merger: below its finest level a tile opens pages of no more
// than segmentItemsAStep items for each of its bins.
const (
	segmentItemsAStep = 16
	// fewSteps is how many steps the coarsest level of a segment's lane has at most: a tile may have few bins for a segment.
	fewSteps = 16
)

// coarseLevels returns the levels that a lane is to have: from one with a step for so many items up to one of so many bins, or up to the highest.
func (l *lane) coarseLevels(busy int64, itemsAStep int64, highest int, bins int64) (levels []int) {
	if l.items < leastCoarse {
		return nil
	}
	steps := int64(1)
	level := 63
	for ; level > 0; level-- {
		if n := steps + l.deep[level] + busy>>(level-1); n > l.items/itemsAStep {
			break
		}
		steps += l.deep[level]
	}
	for ; level <= highest; level += 2 {
		levels = append(levels, level)
		n := int64(1) + busy>>level
		for _, x := range l.deep[level+1:] {
			n += x
		}
		if n <= bins {
			break
		}
	}
	return levels
}

// coarsener makes the levels of one lane, as a visitor of its items.
type coarsener struct {
	kind   laneKind
	levels []*coarseLevel
	take   func(madePage) error // is given each page when it is full
	err    error                // the first of take: no more pages are made
}

// madePage is a page of a level that has no place in a file yet.
type madePage struct {
	level *coarse
	page  coarsePage
	body  []byte
}

// put gives the page its place.
func (m *madePage) put(e *extent) (err error) {
	if m.page.pageRef, err = e.put(m.body); err == nil {
		m.level.pages = append(m.level.pages, m.page)
	}
	return err
}

type coarseLevel struct {
	coarse
	open  []step
	body  []byte
	count int
	last  int64
	page  coarsePage
}

type step struct {
	number int64
	summary
}

func newCoarsener(k laneKind, levels []int, take func(madePage) error) *coarsener {
	c := &coarsener{kind: k, take: take}
	for _, level := range levels {
		c.levels = append(c.levels, &coarseLevel{coarse: coarse{level: level}})
	}
	return c
}

func (c *coarsener) node(*node) bool { return c.err == nil }

func (c *coarsener) item(it *item) {
	level := c.levels[0].level
	switch c.kind {
	case instants: // how many, and their classes, are all that is written of them
		s := c.at(0, it.at>>level)
		s.count++
		s.top.add(it.class, 1)
		return
	case counter, messages:
		c.at(0, it.at>>level).add(it, c.kind)
		return
	}
	s := c.at(0, it.at>>level)
	s.count++
	if it.to == it.at {
		s.top.add(it.class, sliceWeight(it.at, it.to))
	}
	for at := it.at; at < it.to; {
		next := min((at>>level+1)<<level, it.to)
		c.at(0, at>>level).part(it.class, next-at)
		at = next
	}
}

// part adds a part of a slice that lies in a step or a bin.
func (s *summary) part(class uint32, length int64) {
	s.busy += length
	s.top.add(class, length)
}

// step takes in a step of a level no coarser than the finest.
func (c *coarsener) step(s *step, level int) {
	c.at(0, s.number>>(c.levels[0].level-level)).merge(&s.summary, c.kind)
}

// at returns a step of the i-th level to which something is to be added.
func (c *coarsener) at(i int, number int64) *summary {
	l := c.levels[i]
	for k := len(l.open) - 1; k >= 0; k-- {
		if l.open[k].number == number {
			return &l.open[k].summary
		}
	}
	if n := len(l.open); n >= openMessages || n > 0 && c.kind != messages {
		c.close(i)
	}
	l.open = append(l.open, step{number: number})
	return &l.open[len(l.open)-1].summary
}

// close ends the first open step of a level and adds it to the one above.
func (c *coarsener) close(i int) {
	l := c.levels[i]
	first := 0
	for k := range l.open {
		if l.open[k].number < l.open[first].number {
			first = k
		}
	}
	s := l.open[first]
	l.open = slices.Delete(l.open, first, first+1)
	if l.count == 0 {
		l.page, l.last = coarsePage{first: s.number, last: s.number}, 0
	}
	l.page.first, l.page.last = min(l.page.first, s.number), max(l.page.last, s.number)
	l.body = appendStep(l.body, c.kind, &s, l.last)
	l.last = s.number
	if l.count++; l.count == stepsAPage {
		c.write(l)
	}
	if i+1 < len(c.levels) {
		c.at(i+1, s.number>>(c.levels[i+1].level-l.level)).merge(&s.summary, c.kind)
	}
}

func (c *coarsener) write(l *coarseLevel) {
	if l.count == 0 || c.err != nil {
		return
	}
	head := binary.AppendUvarint([]byte{byte(c.kind), byte(l.level)}, uint64(l.count))
	c.err = c.take(madePage{&l.coarse, l.page, append(head, l.body...)})
	l.body, l.count = l.body[:0], 0
}

// finish makes pages of what is open.
func (c *coarsener) finish() error {
	for i, l := range c.levels {
		for len(l.open) > 0 {
			c.close(i)
		}
		c.write(l)
	}
	return c.err
}

// coarse returns the levels, once their pages have places.
func (c *coarsener) coarse() (out []coarse) {
	for _, l := range c.levels {
		out = append(out, l.coarse)
	}
	return out
}

func appendStep(b []byte, k laneKind, s *step, before int64) []byte {
	b = binary.AppendVarint(b, s.number-before)
	switch k {
	case instants:
		b = appendDominant(binary.AppendUvarint(b, uint64(s.count)), &s.top)
	case sliced:
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.count)), uint64(s.busy))
		b = appendDominant(b, &s.top)
	case counter:
		b = appendWhole(appendWhole(appendWhole(b, s.least), s.greatest), s.final)
	case messages:
		b = binary.AppendUvarint(b, uint64(s.count))
		b = binary.AppendVarint(binary.AppendVarint(b, s.quickest), s.slowest)
		b = append(b, byte(s.worst))
	}
	return b
}

// appendWhole appends a float as a varint, which is short for those that people count with.
func appendWhole(b []byte, v float64) []byte {
	return binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(v)))
}

// words are the varints of a page, which is decoded as a whole: twice as fast as one by one.
type words struct {
	v   []uint64
	bad bool
}

func (w *words) u() uint64 {
	if len(w.v) == 0 {
		w.bad = true
		return 0
	}
	v := w.v[0]
	w.v = w.v[1:]
	return v
}

func (w *words) number() float64 {
	v := math.Float64frombits(bits.ReverseBytes64(w.u()))
	w.bad = w.bad || math.IsNaN(v) || math.IsInf(v, 0)
	return v
}

// step decodes into s what appendStep wrote.
func (w *words) step(s *step, k laneKind, l limits) {
	*s = step{number: s.number + signed(w.u())}
	s.count = 1
	switch k {
	case instants:
		s.count = int64(w.u())
		w.dominant(&s.top, l)
	case sliced:
		s.count, s.busy = int64(w.u()), int64(w.u())
		w.dominant(&s.top, l)
	case counter:
		s.least, s.greatest, s.final = w.number(), w.number(), w.number()
	case messages:
		s.count = int64(w.u())
		s.quickest, s.slowest = signed(w.u()), signed(w.u())
		v := w.u()
		s.worst = Verdict(v)
		w.bad = w.bad || v > uint64(Certain)
	}
	w.bad = w.bad || s.count < 0 || s.busy < 0
}

func (w *words) dominant(out *dominant, l limits) {
	n := w.u()
	if n == 0 {
		class := w.u()
		w.bad = w.bad || class >= l.classes
		out.any = uint32(class)
		return
	}
	if n > uint64(len(out.few)) {
		w.bad = true
		return
	}
	for i := range n {
		class, x := w.u(), w.u()
		w.bad = w.bad || class >= l.classes || x == 0 || x > math.MaxInt64
		out.few[i], out.any = weight{uint32(class), int64(x)}, uint32(class)
	}
}

// coarseAt returns the coarsest level of a lane that is no coarser than a tile's; nil if there is none.
func (l *laneRoot) coarseAt(level int) *coarse {
	for i := range slices.Backward(l.coarse) {
		if l.coarse[i].level <= level {
			return &l.coarse[i]
		}
	}
	return nil
}

// steps fills bins from a level.
func (b *bins) steps(w *walker, c *coarse) error {
	first, end := b.from>>c.level, (b.to-1)>>c.level
	return w.steps(b.kind, c, first, end, func(s *step) { b.at(b.number(s.number<<c.level)).merge(&s.summary, b.kind) })
}

// steps shows the steps of a level from one to another.
func (w *walker) steps(k laneKind, c *coarse, first, last int64, see func(s *step)) error {
	for _, p := range c.pages {
		if p.first > last || p.last < first {
			continue
		}
		page, err := w.x.pages.page(p.pageRef)
		if err != nil {
			return err
		}
		whole := false
		if w.varints, whole = varints(w.varints[:0], page); !whole || len(w.varints) < 3 || w.varints[0] != uint64(k) || w.varints[1] != uint64(c.level) {
			return damaged("wrong kind or size of the page at offset %d", p.at)
		}
		v := words{v: w.varints[3:]}
		var s step
		for range min(w.varints[2], uint64(len(page))) {
			if v.step(&s, k, w.x.limits); v.bad || s.number < p.first || s.number > p.last {
				return damaged("the page at offset %d contradicts its parent", p.at)
			}
			if s.number >= first && s.number <= last {
				see(&s)
			}
		}
	}
	return nil
}
