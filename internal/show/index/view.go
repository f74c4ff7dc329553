package index

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"meridian/trace"
)

// View is what a [Live] had at one instant. It answers like the [Index] of a [Builder] that was closed then.
type View struct {
	facts      *facts
	lanes      []laneFacts
	groups     [][]int
	open       map[int]item // by lane, the slice that has no end yet
	openFrom   []int64      // by group, where the first of them begins
	parts      []part       // in order of time
	segments   []*segment   // those among them, which come first
	drops      int64        // how often something had been dropped
	ends       []int64      // of the parts but for the last, the number of the event behind each
	edge       *edge
	gaps       []gap // what was dropped
	order      []*link
	worst      worst
	raw        rawInversions
	attached   map[string][]byte
	version    int64
	shape      int64
	border     int64
	changes    []change
	mostTile   int
	close      sync.Once
	about      func() *About
	violations func() *Violations
	byRow      func() *rowLanes
}

type laneFacts struct {
	kind  laneKind
	items int64
	memory
}

// part is what lies between two seals: a segment, or what is in memory.
type part interface {
	walk(w *walker, lane int, v visitor) error
	summed(w *walker, lane int, b *bins) error
	events() blockList
	// lay writes the items of a lane behind those of another file's lane; with whole, leaves that hold enough as they are.
	lay(t *trees, w *walker, l *lane, lane int, whole bool) error
	// coarsen shows the items of a lane, or steps that sum them up.
	coarsen(w *walker, lane int, c *coarsener) error
}

// rowLanes are the numbers of lanes by row.
type rowLanes struct{ all, slices, sent, got [][]int }

// prepare sets up what is made when it is first asked for.
func (v *View) prepare() {
	v.about = sync.OnceValue(v.makeAbout)
	v.violations = sync.OnceValue(func() *Violations {
		number := func(l *link) int { return l.lane.number }
		list := v.worst.list(v.facts.verdicts, number)
		list.Raw = v.raw.list(number)
		return list
	})
	v.byRow = sync.OnceValue(v.rowLanes)
}

// rowLanes lists the lanes of rows as about has them: instants, slices by their depth, counters.
func (v *View) rowLanes() *rowLanes {
	n := len(v.facts.byRow)
	r := &rowLanes{all: make([][]int, n), slices: make([][]int, n), sent: make([][]int, n), got: make([][]int, n)}
	for i := range v.lanes {
		l := &v.lanes[i]
		if l.kind == messages {
			k := v.order[l.owner]
			r.sent[k.from], r.got[k.to] = append(r.sent[k.from], i), append(r.got[k.to], i)
			continue
		}
		r.all[l.owner] = append(r.all[l.owner], i)
		if l.kind == sliced {
			r.slices[l.owner] = append(r.slices[l.owner], i)
		}
	}
	for _, list := range r.all {
		slices.SortStableFunc(list, func(a, b int) int {
			x, y := &v.lanes[a], &v.lanes[b]
			return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.depth, y.depth))
		})
	}
	return r
}

func (v *View) makeAbout() *About {
	f := *v.facts
	f.lanes.noEnd, f.waiting = f.lanes.noEnd-int64(len(v.open)), 0 // their ends are still to come
	a := f.about()
	a.Live = true
	for row, list := range v.byRow().all {
		for _, n := range list {
			l := &v.lanes[n]
			x := Lane{Lane: n, Kind: l.kind.String(), Depth: l.depth, Items: l.items, Least: l.least, Greatest: l.greatest}
			if _, open := v.open[n]; open {
				x.Items++
			}
			if l.kind == counter {
				x.Name = counterName(&v.facts.schema.Classes[l.class], l.field)
			}
			a.Rows[row].Lanes = append(a.Rows[row].Lanes, x)
		}
	}
	for _, k := range v.order {
		l := &v.lanes[k.lane.number]
		a.Links = append(a.Links, Link{Lane: k.lane.number, From: int(k.from), To: int(k.to), Messages: l.items, Worst: l.worst})
	}
	return a
}

// About returns what is known of the timeline. It is not to be changed.
func (v *View) About() *About { return v.about() }

// Reach returns how many hosts there are, and the top level.
func (v *View) Reach() (hosts, top int) { return len(v.groups) - 1, topLevel(v.facts.last) }

// Violations returns the messages that are not in order. It is not to be changed.
func (v *View) Violations() *Violations { return v.violations() }

// Attachment returns what was attached under a name; nil if nothing was. It is not to be changed.
func (v *View) Attachment(name string) ([]byte, error) { return v.attached[name], nil }

// Close lets go of the files.
func (v *View) Close() error {
	v.close.Do(func() {
		for _, s := range v.segments {
			s.release()
		}
	})
	return nil
}

// Tile returns tile i of a level and a group, as docs/viewer.md has it.
func (v *View) Tile(group, level int, i int64) ([]byte, error) {
	top := topLevel(v.facts.last)
	if group < 0 || group >= len(v.groups) || level < 0 || level > top || i < 0 {
		return nil, fmt.Errorf("index: no tile %d.%d.%d (groups 0 to %d, levels 0 to %d)", group, level, i, len(v.groups)-1, top)
	}
	if i > v.facts.last>>(level+tileBits) {
		return []byte{isFinal | unsettled, 0}, nil
	}
	tile, err := makeTile(viewLanes{v}, v.groups[group], level, i, v.mostTile)
	if end := (i + 1) << (level + tileBits); err == nil && (end > v.border || end > v.openFrom[group]) {
		tile[0] |= unsettled
	}
	return tile, err
}

// Events returns up to n events from number from on, fewer where they are large.
func (v *View) Events(from int64, n int) ([]Event, error) {
	if err := v.gone(from); err != nil {
		return nil, err
	}
	return eventsOf(viewLanes{v}, from, n)
}

// Search returns the first events after one (-1: from the first on) that a query in the language of docs/viewer.md finds,
// up to limit. It may return fewer and go on from Next.
func (v *View) Search(text string, after int64, limit int) (*Found, error) {
	c := corpus{about: v.about(), events: viewLanes{v}}
	for i := range v.facts.classes {
		c.fields = append(c.fields, v.facts.schema.Classes[i].Fields)
	}
	return c.search(text, after, limit)
}

// viewLanes are the lanes and events of a view, through all its parts.
type viewLanes struct{ v *View }

func (x viewLanes) kind(n int) laneKind { return x.v.lanes[n].kind }

func (x viewLanes) walk(w *walker, n int, to visitor) error {
	for _, p := range x.v.parts {
		if err := p.walk(w, n, to); err != nil {
			return err
		}
	}
	x.last(n, to)
	return nil
}

func (x viewLanes) summed(w *walker, n int, b *bins) error {
	known, grows, ends := 0, b.to > x.v.border, x.v.ends
	if grows {
		known = x.v.edge.restore(n, b, x.v.drops, ends)
	}
	for i, p := range x.v.parts[known:] {
		if grows && i > 0 && known+i == len(ends) {
			x.v.edge.store(n, b, x.v.drops, ends[len(ends)-1])
		}
		if err := p.summed(w, n, b); err != nil {
			return err
		}
	}
	x.last(n, b)
	return nil
}

// last shows the slice that has no end yet: it lies behind all others of its lane.
func (x viewLanes) last(n int, to visitor) {
	if it, open := x.v.open[n]; open {
		to.item(&it)
	}
}

func (x viewLanes) fieldsOf(class uint32) []trace.Field {
	return x.v.facts.schema.Classes[class].Fields
}

func (x viewLanes) lateness() int64 { return x.v.facts.lost.lateness }

func (x viewLanes) linksOf(row int, sends bool) []int {
	if sends {
		return x.v.byRow().sent[row]
	}
	return x.v.byRow().got[row]
}

func (x viewLanes) slicesOf(row int) []int { return x.v.byRow().slices[row] }

func (x viewLanes) reader() blockReader {
	f := x.v.facts
	return blockReader{origin: f.origin, limits: eventLimits{rows: len(f.byRow), classes: len(f.classes), clocks: len(f.schema.Maps)}}
}

func (x viewLanes) lists() (out []blockList) {
	for _, p := range x.v.parts {
		out = append(out, p.events())
	}
	return out
}
