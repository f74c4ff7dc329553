package index

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Numbers says how often and how long what happened in a stretch of the timeline, complete for the rows that were asked for.
type Numbers struct {
	Names   []NameNumbers    `json:"names"`          // by row and name, those that took most first
	Links   []LinkNumbers    `json:"links"`          // those with most messages first
	Left    int64            `json:"left"`           // entries of Names and Links that are left out, the least ones
	Skipped map[string]int64 `json:"skipped"`        // items that are not counted here, by their kind: values of counters
	Gone    int64            `json:"gone,omitempty"` // ns of the stretch of which the index has nothing any more
}

// NameNumbers are those of slices or instants of one name on one row.
type NameNumbers struct {
	Row     int   `json:"row"`
	Class   int   `json:"class"`
	Instant bool  `json:"instant,omitempty"` // marks: they take no time
	Count   int64 `json:"count"`             // that are there at some instant of the stretch
	Sum     int64 `json:"sum"`               // ns that they take within the stretch; of slices within others of their name, both count
	Lengths
}

// Lengths are those of whole slices, or delays of messages, ns. Percentiles are exact to 1/32.
type Lengths struct {
	Least    int64 `json:"least"`
	P50      int64 `json:"p50"`
	P90      int64 `json:"p90"`
	P99      int64 `json:"p99"`
	Greatest int64 `json:"greatest"`
}

// LinkNumbers are those of the messages of one link that were sent or received within the stretch. Delays are by the estimate.
type LinkNumbers struct {
	Lane     int      `json:"lane"`
	From     int      `json:"from"` // rows
	To       int      `json:"to"`
	Count    int64    `json:"count"`
	Verdicts [5]int64 `json:"verdicts"`
	Lengths
}

// mostNumbers is how many entries of each kind are returned.
const mostNumbers = 5000

// Numbers counts what is there in [from, to), on the rows that wanted accepts. The cost is that of reading the items, some 30 ns each, on
// all processors.
func (x *Index) Numbers(ctx context.Context, from, to int64, wanted func(row int) bool) (*Numbers, error) {
	parts, err := x.countLanes().count(ctx, from, to, false, wanted)
	if err != nil {
		return nil, err
	}
	return x.countLanes().numbers(parts), nil
}

// Numbers is as for an [Index]. A slice that has no end yet counts with its length up to the last instant.
func (v *View) Numbers(ctx context.Context, from, to int64, wanted func(row int) bool) (*Numbers, error) {
	c := v.countLanes()
	parts, err := c.count(ctx, from, to, false, wanted)
	if err != nil {
		return nil, err
	}
	out := c.numbers(parts)
	for _, g := range v.gaps {
		out.Gone += max(0, min(g.to, to)-max(g.from, from))
	}
	return out, nil
}

// countedLanes are the lanes that are counted.
type countedLanes struct {
	laneSource
	owners []int         // rows, by lane
	links  map[int]*Link // by lane
}

func (x *Index) countLanes() *countedLanes {
	c := &countedLanes{laneSource: fileLanes{x}, owners: make([]int, len(x.lanes)), links: linksOf(x.about)}
	for n := range x.lanes {
		c.owners[n] = x.lanes[n].owner
	}
	return c
}

func (v *View) countLanes() *countedLanes {
	c := &countedLanes{laneSource: viewLanes{v}, owners: make([]int, len(v.lanes)), links: linksOf(v.about())}
	for n := range v.lanes {
		c.owners[n] = v.lanes[n].owner
	}
	return c
}

func linksOf(a *About) map[int]*Link {
	links := make(map[int]*Link, len(a.Links))
	for i := range a.Links {
		links[a.Links[i].Lane] = &a.Links[i]
	}
	return links
}

// numbers adds up what lanes have, by rows and names.
func (c *countedLanes) numbers(parts []*laneNumbers) *Numbers {
	out := &Numbers{Names: []NameNumbers{}, Links: []LinkNumbers{}, Skipped: map[string]int64{}}
	type name struct {
		row     int
		class   uint32
		instant bool
	}
	names := make(map[name]*nameSums)
	for n, p := range parts {
		if p == nil {
			continue
		}
		if k := c.links[n]; k != nil && p.links != nil {
			out.Links = append(out.Links, LinkNumbers{Lane: n, From: k.From, To: k.To, Count: p.links.lengths.count, Verdicts: p.links.verdicts, Lengths: p.links.lengths.summed()})
		}
		if p.values > 0 {
			out.Skipped[counter.String()] += p.values
		}
		for class, s := range p.names {
			key := name{c.owners[n], class, p.kind == instants}
			if names[key] == nil {
				names[key] = &nameSums{}
			}
			names[key].merge(s)
		}
	}
	for key, s := range names {
		e := NameNumbers{Row: key.row, Class: int(key.class), Instant: key.instant, Count: s.lengths.count, Sum: s.sum}
		if !key.instant {
			e.Lengths = s.lengths.summed()
		}
		out.Names = append(out.Names, e)
	}
	slices.SortFunc(out.Names, func(a, b NameNumbers) int {
		if order := cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Class, b.Class)); order != 0 {
			return order
		}
		if a.Instant { // an entry of slices of that name comes before that of instants
			return 1
		}
		return -1
	})
	slices.SortFunc(out.Links, func(a, b LinkNumbers) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Lane, b.Lane)) })
	out.Left = int64(max(0, len(out.Names)-mostNumbers) + max(0, len(out.Links)-mostNumbers))
	out.Names, out.Links = out.Names[:min(len(out.Names), mostNumbers)], out.Links[:min(len(out.Links), mostNumbers)]
	return out
}

// count counts what is in [from, to), by the number of the lane, on all processors; with whole, of slices only those that have both
// ends.
func (c *countedLanes) count(ctx context.Context, from, to int64, whole bool, wanted func(row int) bool) ([]*laneNumbers, error) {
	parts := make([]*laneNumbers, len(c.owners))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for n, owner := range c.owners {
		if k := c.links[n]; k != nil {
			if !wanted(k.From) || !wanted(k.To) {
				continue
			}
		} else if !wanted(owner) {
			continue
		}
		parts[n] = &laneNumbers{kind: c.kind(n), from: from, to: to, whole: whole}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var w walker
			return c.walk(&w, n, parts[n])
		})
	}
	return parts, group.Wait()
}

// laneNumbers visits a lane.
type laneNumbers struct {
	kind     laneKind
	from, to int64
	whole    bool // leaves out slices without a begin or an end
	names    map[uint32]*nameSums
	last     *nameSums // names come in runs
	class    uint32
	links    *linkSums
	values   int64
}

type nameSums struct {
	sum     int64
	lengths histogram
}

type linkSums struct {
	verdicts [5]int64
	lengths  histogram
}

func (v *laneNumbers) node(n *node) bool { return n.begin < v.to && n.end >= v.from }

func (v *laneNumbers) item(it *item) {
	if !it.touches(v.kind, v.from, v.to) || v.whole && v.kind == sliced && it.flags != 0 {
		return
	}
	switch v.kind {
	case counter:
		v.values++
	case messages:
		if v.links == nil {
			v.links = &linkSums{}
		}
		v.links.verdicts[it.flags]++
		v.links.lengths.add(it.to - it.at)
	default:
		if v.last == nil || v.class != it.class {
			if v.names == nil {
				v.names = make(map[uint32]*nameSums)
			}
			if v.names[it.class] == nil {
				v.names[it.class] = &nameSums{}
			}
			v.last, v.class = v.names[it.class], it.class
		}
		length := int64(0)
		if v.kind == sliced {
			length = it.to - it.at
			v.last.sum = sum(v.last.sum, max(0, min(it.to, v.to)-max(it.at, v.from)))
		}
		v.last.lengths.add(length)
	}
}

func (s *nameSums) merge(o *nameSums) {
	s.sum = sum(s.sum, o.sum)
	h, g := &s.lengths, &o.lengths
	if h.count == 0 {
		h.least, h.greatest = g.least, g.greatest
	}
	h.least, h.greatest = min(h.least, g.least), max(h.greatest, g.greatest)
	h.count += g.count
	h.total += g.total
	h.buckets.merge(&g.buckets)
}

// summed returns percentiles: the upper end of the bucket in which each lies, within the extremes.
func (h *histogram) summed() Lengths {
	l := Lengths{Least: h.least, Greatest: h.greatest}
	at := func(percent int64) int64 {
		left := (h.count*percent + 99) / 100
		for number, n := range h.buckets.all() {
			if left -= n; left <= 0 {
				_, to := borders(number)
				return max(h.least, min(h.greatest, to))
			}
		}
		return h.greatest
	}
	l.P50, l.P90, l.P99 = at(50), at(90), at(99)
	return l
}
