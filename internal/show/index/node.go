package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// laneKind is what lies on a lane.
type laneKind uint8

const (
	instants laneKind = iota
	sliced
	counter
	messages
	laneKinds
)

func (k laneKind) String() string { return [...]string{"instants", "slices", "counter", "messages"}[k] }

// item is what lies on a lane. Instants are ns since the origin, from 0 to far.
type item struct {
	at    int64  // of a message: when it was sent
	to    int64  // end of a slice, receipt of a message, the bits of a counter's value
	event int64  // that is it, began it, sent it
	other int64  // that ended or received it; -1 for none
	class uint32 // of an instant; the name of a slice
	flags uint8  // of a slice: noEnd, noBegin; of a message: its verdict
}

const (
	noEnd = 1 << iota
	noBegin
)

// far is the last instant of a timeline that can be shown: 146 years from the first.
const far = 1<<62 - 1

// extent returns from when to when an item is there.
func (it *item) extent(k laneKind) (from, to int64) {
	switch k {
	case sliced:
		return it.at, it.to
	case messages:
		return min(it.at, it.to), max(it.at, it.to)
	}
	return it.at, it.at
}

// value returns a counter's.
func (it *item) value() float64 { return math.Float64frombits(uint64(it.to)) }

// weight is by how much a slice counts towards the name that takes most of an interval: the time it takes there. One without
// length counts too, where nothing else does.
func sliceWeight(from, to int64) int64 { return max(to-from, 1) }

// summary is what is known of many items of a lane.
type summary struct {
	count                  int64
	first, last            int64    // least and greatest at
	begin, end             int64    // from when to when any of them is there
	busy                   int64    // slices: time taken
	top                    dominant // instants, slices
	least, greatest, final float64  // counters; final is the last value
	quickest, slowest      int64    // messages: delays
	worst                  Verdict
}

// add takes one more item in, which comes after the others.
func (s *summary) add(it *item, k laneKind) {
	from, to := it.extent(k)
	if s.count == 0 {
		s.first, s.last, s.begin, s.end = it.at, it.at, from, to
	} else {
		s.first, s.last = min(s.first, it.at), max(s.last, it.at)
		s.begin, s.end = min(s.begin, from), max(s.end, to)
	}
	switch k {
	case instants:
		s.top.add(it.class, 1)
	case sliced:
		s.busy = sum(s.busy, to-from)
		s.top.add(it.class, sliceWeight(from, to))
	case counter:
		v := it.value()
		if s.count == 0 {
			s.least, s.greatest = v, v
		}
		s.least, s.greatest, s.final = min(s.least, v), max(s.greatest, v), v
	case messages:
		delay := it.to - it.at
		if s.count == 0 {
			s.quickest, s.slowest = delay, delay
		}
		s.quickest, s.slowest = min(s.quickest, delay), max(s.slowest, delay)
		s.worst = max(s.worst, Verdict(it.flags))
	}
	s.count++
}

// addAll takes in items, which come after the others.
func (s *summary) addAll(items []item, k laneKind) {
	if k != instants || s.count > 0 {
		for i := range items {
			s.add(&items[i], k)
		}
		return
	}
	s.first, s.last = items[0].at, items[0].at
	for i := 0; i < len(items); {
		class, from := items[i].class, i
		for ; i < len(items) && items[i].class == class; i++ {
			s.first, s.last = min(s.first, items[i].at), max(s.last, items[i].at)
		}
		s.top.add(class, int64(i-from))
	}
	s.count, s.begin, s.end = int64(len(items)), s.first, s.last
}

// merge takes in those of another summary, which come after.
func (s *summary) merge(o *summary, k laneKind) {
	if o.empty() { // a step or a bin may be busy with slices that began before it
		return
	}
	if s.empty() {
		*s = *o
		return
	}
	s.count = sum(s.count, o.count)
	s.first, s.last = min(s.first, o.first), max(s.last, o.last)
	s.begin, s.end = min(s.begin, o.begin), max(s.end, o.end)
	switch k {
	case instants:
		s.top.merge(&o.top)
	case sliced:
		s.busy = sum(s.busy, o.busy)
		s.top.merge(&o.top)
	case counter:
		s.least, s.greatest, s.final = min(s.least, o.least), max(s.greatest, o.greatest), o.final
	case messages:
		s.quickest, s.slowest = min(s.quickest, o.quickest), max(s.slowest, o.slowest)
		s.worst = max(s.worst, o.worst)
	}
}

// node is a page of a tree: a leaf with items at level 0, else a page of nodes one level below.
type node struct {
	summary
	level int
	reach int64 // of chunks in memory: the greatest end up to here, and
	from  int   // which item is their first
	pageRef
}

// A page ends between two candidates where an instant with many trailing zeros (in binary, from the origin) lies, since
// bins end there as well. Then few pages cross the border of two bins. No page is opened for a tile whose bins are much
// longer than the page.
const (
	leastLeaf, mostLeaf = 48, 128
	leastFan, mostFan   = 32, 96
)

// cut says how many of n begin a page, given between which instants the page would end behind each.
func cut(least, n int, between func(i int) (last, first int64)) int {
	best, deepest := n-1, -1
	for i := least; i < n; i++ {
		last, first := between(i)
		if d := bits.Len64(uint64(last ^ first)); d >= deepest {
			best, deepest = i, d
		}
	}
	return best
}

// lane is one lane while it is built: items wait until there are enough for a page, and so do pages.
type lane struct {
	kind    laneKind
	extent  *extent
	pending []item
	up      [][]node // by level, pages without one above them
	items   int64
	deep    [65]int64 // see borders
	before  int64     // at of the last item in a page
	memory
}

// trees is where lanes lay down their pages.
type trees struct {
	s       *store
	extents []*extent // of the links, and of each host's lanes: so that reading one group skips no pages of others
	page    []byte    // being encoded
	waiting int       // items of all lanes that are not yet in a page
	lanes   []*lane
	held    bool  // items stay in memory: there is no file
	touched int64 // the least instant at which something came to lie since this was last set to far
}

// mostWaiting is how many items all lanes together hold back (40 bytes each); beyond it pages become smaller.
const mostWaiting = 1 << 20

// extent returns where the lanes of a host lie; -1 stands for links.
func (t *trees) extent(host int) *extent {
	for host+1 >= len(t.extents) {
		t.extents = append(t.extents, &extent{s: t.s})
	}
	for _, e := range t.extents {
		e.most = max(min(mostGathered/len(t.extents), 256<<10), 16<<10)
	}
	return t.extents[host+1]
}

// mostGathered is how many bytes all extents together wait for.
const mostGathered = 32 << 20

func (t *trees) flush() error {
	for _, e := range t.extents {
		if err := e.flush(); err != nil {
			return err
		}
	}
	return nil
}

// newLane adds a lane of a row, or with host -1 one of a link.
func (t *trees) newLane(k laneKind, host, owner int) *lane {
	l := &lane{kind: k, memory: memory{number: len(t.lanes), host: host, owner: owner}}
	if !t.held {
		l.extent = t.extent(host)
	}
	t.lanes = append(t.lanes, l)
	return l
}

// changed notes that something comes to lie at an instant that may be before the last.
func (t *trees) changed(at int64) { t.touched = min(t.touched, at) }

func (t *trees) add(l *lane, it item) error {
	l.items++
	if t.held {
		l.room()
		l.pending = append(l.pending, it)
		l.sumUp()
		return nil
	}
	l.pending = append(l.pending, it)
	if t.waiting++; t.waiting > mostWaiting {
		if err := t.relieve(); err != nil {
			return err
		}
	}
	if len(l.pending) < mostLeaf {
		return nil
	}
	return t.leaf(l, cutItems(l.pending))
}

// cutItems says how many items begin a leaf.
func cutItems(p []item) int {
	return cut(leastLeaf, len(p), func(i int) (int64, int64) { return p[i-1].at, p[i].at })
}

// leaf lays down the first n items of a lane.
func (t *trees) leaf(l *lane, n int) error {
	x := node{}
	items := l.pending[:n]
	if l.kind == instants { // ends of messages come in any order; leaves may overlap
		inOrder(items)
	}
	x.addAll(items, l.kind)
	if err := t.lay(l, items, x); err != nil {
		return err
	}
	l.pending = l.pending[:copy(l.pending, l.pending[n:])]
	t.waiting -= n
	return nil
}

// lay lays down a leaf of items that x sums up.
func (t *trees) lay(l *lane, items []item, x node) error {
	l.borders(items)
	t.page = appendLeaf(t.page[:0], l.kind, items, &x.summary)
	return t.put(l, t.page, x)
}

// put lays down a page that x sums up.
func (t *trees) put(l *lane, page []byte, x node) (err error) {
	if x.pageRef, err = l.extent.put(page); err != nil {
		return err
	}
	return t.raise(l, x)
}

// inOrder sorts instants by their time, those of one instant as they came.
func inOrder(items []item) {
	if !inTime(items) {
		slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.at, b.at) })
	}
}

func inTime(items []item) bool {
	for i := 1; i < len(items); i++ {
		if items[i].at < items[i-1].at {
			return false
		}
	}
	return true
}

// raise puts a page below one of the level above it.
func (t *trees) raise(l *lane, x node) error {
	if x.level == len(l.up) {
		l.up = append(l.up, nil)
	}
	l.up[x.level] = append(l.up[x.level], x)
	p := l.up[x.level]
	if len(p) < mostFan {
		return nil
	}
	return t.fan(l, x.level, cut(leastFan, len(p), func(i int) (int64, int64) { return p[i-1].last, p[i].first }))
}

// fan lays down a page with the first n pages of a level.
func (t *trees) fan(l *lane, level, n int) error {
	below := l.up[level]
	x := node{level: level + 1}
	for i := range below[:n] {
		x.merge(&below[i].summary, l.kind)
	}
	t.page = appendFan(t.page[:0], l.kind, below[:n])
	l.up[level] = below[:copy(below, below[n:])]
	return t.put(l, t.page, x)
}

// relieve lays down what waits on lanes that would not fill a page for long.
func (t *trees) relieve() error {
	for _, l := range t.lanes {
		if len(l.pending) > 8 {
			if err := t.leaf(l, len(l.pending)); err != nil {
				return err
			}
			l.pending = nil
		}
	}
	if t.waiting > mostWaiting/2 { // a million lanes of a few items each
		for _, l := range t.lanes {
			if len(l.pending) > 0 {
				if err := t.leaf(l, len(l.pending)); err != nil {
					return err
				}
				l.pending = nil
			}
		}
	}
	return nil
}

// finish lays down all that waits and returns the root.
func (t *trees) finish(l *lane) (node, error) {
	if len(l.pending) > 0 {
		if err := t.leaf(l, len(l.pending)); err != nil {
			return node{}, err
		}
	}
	l.pending = nil
	for level := 0; level < len(l.up); level++ {
		n := len(l.up[level])
		if level == len(l.up)-1 && n == 1 {
			return l.up[level][0], nil
		}
		if n > 0 {
			if err := t.fan(l, level, n); err != nil {
				return node{}, err
			}
		}
	}
	return node{}, nil
}
