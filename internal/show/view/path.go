package view

import (
	"cmp"
	"slices"

	"meridian/internal/cause"
	"meridian/internal/show/index"
	"meridian/trace"
)

// Path is the critical path of a request: pieces that follow each other without a gap, and what of it each item took.
type Path struct {
	Request       Request    `json:"request"`
	Pieces        []Piece    `json:"pieces"`
	Items         []PathItem `json:"items"`  // the longest first, by the estimate
	Total         []int      `json:"total"`  // items of which each can be the longest: one is named, several are undecided
	Beyond        []int      `json:"beyond"` // the same of what is beyond like requests
	Like          int        `json:"like"`   // how many these are
	Contradiction bool       `json:"contradiction,omitempty"`
	Locks         []LockWait `json:"locks,omitempty"`
	// Of a path between two events: whether it passes the first one's host, and whether the clocks leave open which was first.
	Reaches   bool `json:"reaches,omitempty"`
	Unordered bool `json:"unordered,omitempty"`
}

// Piece is a part of a path: a stretch of a row, or a message on its way from a row.
type Piece struct {
	Row        int    `json:"row"`
	From       int    `json:"from"` // -1: no message
	Begin      int64  `json:"begin"`
	End        int64  `json:"end"`
	Name       string `json:"name"`             // what the thread did, where its states are known; else the deepest slice, "" for none
	Detail     string `json:"detail,omitempty"` // the call it waited in, who had the processor, or the packet
	Depth      int    `json:"depth"`
	Low        *int64 `json:"low,omitempty"` // of a message's delay, where it is bounded
	High       *int64 `json:"high,omitempty"`
	Assumed    bool   `json:"assumed,omitempty"`    // that it was waited for
	Unresolved bool   `json:"unresolved,omitempty"` // what happened there is not known
}

// PathItem is what a path spent on one name of one host, or on the way between two.
type PathItem struct {
	Name       string `json:"name"`
	Host       int    `json:"host"`
	FromHost   int    `json:"fromHost"` // of a way; -1
	Estimate   int64  `json:"estimate"`
	Low        int64  `json:"low"`
	High       int64  `json:"high"`
	BeyondLow  int64  `json:"beyondLow"`
	BeyondHigh int64  `json:"beyondHigh"`
	Pieces     int    `json:"pieces"`
}

const (
	mostLike = 64 // requests that one is compared with, the nearest in time
	leastFew = 8  // fewer tell nothing of what is usual
)

// Path returns the critical path of a request, by its number in the list.
func (t *Timeline) Path(request int) (*Path, error) {
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.path(request)
}

// PathOf returns the critical path of the request that an event begins and another ends, as [Request] has them. Several may: then it
// is that with a number, or the first.
func (t *Timeline) PathOf(request int, event, last int64) (*Path, error) {
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.pathOf(request, event, last)
}

func (c *causes) pathOf(request int, event, last int64) (*Path, error) {
	is := func(r cause.Request) bool { return r.Event == event && r.Last == last }
	if request >= 0 && request < len(c.list) && is(c.list[request]) {
		return c.path(request)
	}
	if i := slices.IndexFunc(c.list, is); i >= 0 {
		return c.path(i)
	}
	return nil, wrong("path: no request begins with event %d and ends with event %d; ask for the list again", event, last)
}

func (c *causes) path(request int) (*Path, error) {
	if request < 0 || request >= len(c.list) {
		return nil, wrong("request: there is no request %d; there are %d", request, len(c.list))
	}
	a := c.about
	c.walking.Lock()
	defer c.walking.Unlock()
	r := &c.list[request]
	like, apart := c.like(request)
	out := c.worded(a, c.paths.Of(r), like, turn(a, r, c.model, apart))
	out.Request = c.request(request)
	return out, c.err
}

// PathBetween returns what led from one event to another: the critical path of the latter's row, as far back as the former is by the
// estimate; where that is later but the bounds leave it open, as far back as it can truly be. Nothing is like it, so that Beyond is empty.
func (t *Timeline) PathBetween(from, to int64) (*Path, error) {
	c, err := t.causesOf()
	if err != nil {
		return nil, err
	}
	return c.between(from, to)
}

func (c *causes) between(from, to int64) (*Path, error) {
	var ends [2]index.Event
	for i, number := range []int64{from, to} {
		list, err := c.of.Events(number, 1)
		if err != nil || len(list) == 0 {
			return nil, cmp.Or(err, wrong("path: there is no event %d", number))
		}
		ends[i] = list[0]
		ends[i].At -= ends[i].Late // it did not happen later because it came late
	}
	a := c.about
	first, last := &ends[0], &ends[1]
	x, y := c.model.Bounds(first.Row, first.At), c.model.Bounds(last.Row, last.At)
	apart, known := a.Rows[first.Row].Host != a.Rows[last.Row].Host, x.Known && y.Known
	unordered := apart && (!known || first.At+x.Above > last.At-y.Below && first.At-x.Below <= last.At+y.Above)
	begin := first.At
	if first.At > last.At {
		if !unordered {
			return nil, wrong("path: event %d is not after event %d; ask for the other way round", to, from)
		}
		if begin = last.At; known {
			begin = min(begin, first.At-x.Below)
		}
	}
	c.walking.Lock()
	defer c.walking.Unlock()
	var pieces []cause.Piece
	known = false
	if c.world != nil && a.Rows[last.Row].Kind == trace.Thread.String() {
		pieces, known = c.world.Between(a.Rows[last.Row].Host, int32(a.Rows[last.Row].ID), begin, last.At)
	}
	if !known {
		pieces = c.paths.Between(last.Row, begin, last.At)
	}
	out := c.worded(a, pieces, nil, 0)
	out.Request = Request{ID: -1, Kind: "between", Client: first.Row, Server: last.Row, Begin: begin, Total: last.At - begin, Event: from, Last: to, Alone: true}
	out.Reaches, out.Unordered = !apart, unordered
	if host := a.Rows[first.Row].Host; apart {
		out.Reaches = slices.ContainsFunc(pieces, func(p cause.Piece) bool {
			return a.Rows[p.Row].Host == host || p.From >= 0 && a.Rows[p.From].Host == host
		})
	}
	return out, c.err
}

// worded words pieces, and says what of them can be the longest. Like are the paths of like requests, whose clocks may have turned since.
func (c *causes) worded(a *index.About, pieces []cause.Piece, like [][]cause.Piece, turned int64) *Path {
	out := &Path{Pieces: []Piece{}, Items: []PathItem{}, Beyond: []int{}, Like: len(like)}
	b, shown := c.model.Sum(pieces), cause.Shown(pieces)
	for i := range pieces {
		p := c.piece(a, b, &pieces[i])
		p.Begin, p.End = shown[i].Begin, shown[i].End
		out.Pieces = append(out.Pieces, p)
	}
	at := make(map[cause.Key]int)
	c.add(out, at, pieces, like, turned, func(pieces []cause.Piece) []cause.Piece { return pieces })
	if without := withoutAssumed(pieces); without != nil {
		c.add(out, at, without, like, turned, func(pieces []cause.Piece) []cause.Piece {
			if x := withoutAssumed(pieces); x != nil {
				return x
			}
			return pieces
		})
	}
	out.Contradiction, out.Locks = b.Contradiction, locksOf(a, pieces)
	return out
}

// add adds one reading of a path to what is said of it: where there are two, an item has any length that one of them gives it, and each that
// can be the longest by one of them can be. Like requests are read the same way.
func (c *causes) add(out *Path, at map[cause.Key]int, pieces []cause.Piece, like [][]cause.Piece, turned int64, read func([]cause.Piece) []cause.Piece) {
	a, b, before := c.about, c.model.Sum(pieces), len(out.Items)
	shown := make(map[cause.Key]int64)
	for _, it := range c.model.Sum(cause.Shown(pieces)).Items {
		shown[it.Key] = it.C
	}
	sums := make([]*cause.Blame, 0, len(like))
	for _, pieces := range like {
		sums = append(sums, c.model.Sum(read(pieces)))
	}
	beyond := b.Beyond(cause.Typical(sums), turned)
	has := make(map[int]bool)
	place := make([]int, len(b.Items))
	for i := range b.Items {
		it := &b.Items[i]
		x := PathItem{Host: it.Key.Host, FromHost: it.Key.FromHost, Estimate: shown[it.Key], Pieces: it.Pieces}
		if x.FromHost < 0 {
			x.Name = itemName(a, it.Key)
		}
		x.Low, x.High = b.Range(it)
		x.BeyondLow, x.BeyondHigh = beyond.Range(&beyond.Items[i])
		if it.Key.FromHost >= 0 {
			x.Low = max(x.Low, int64(it.Pieces)*a.MinDelay)
		} else if x.Low < 0 { // it has one clock
			x.Low, x.High = 0, max(x.High, x.Estimate, 0)
		}
		n, known := at[it.Key]
		if place[i] = n; !known {
			n = len(out.Items)
			at[it.Key], place[i] = n, n
			if before > 0 { // the other reading has none of it
				x.Estimate, x.Pieces, x.Low, x.BeyondLow = 0, 0, 0, min(x.BeyondLow, 0)
			}
			out.Items = append(out.Items, x)
			continue
		}
		has[n] = true
		y := &out.Items[n]
		y.Low, y.High, y.BeyondLow, y.BeyondHigh = min(y.Low, x.Low), max(y.High, x.High), min(y.BeyondLow, x.BeyondLow), max(y.BeyondHigh, x.BeyondHigh)
	}
	for n := range before {
		if y := &out.Items[n]; !has[n] {
			y.Low, y.BeyondLow = min(y.Low, 0), min(y.BeyondLow, 0)
		}
	}
	out.Total = placed(out.Total, b.Largest(), place)
	if len(like) >= leastFew {
		out.Beyond = placed(out.Beyond, beyond.Largest(), place)
	}
}

// placed adds items to those that can be the longest.
func placed(list, more, place []int) []int {
	for _, i := range more {
		if n := place[i]; !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// withoutAssumed returns the path through hosts of which packets alone are recorded if nothing of what is assumed was waited for: their hosts
// did something else meanwhile. It is nil where nothing is assumed.
func withoutAssumed(pieces []cause.Piece) (out []cause.Piece) {
	is := func(p *cause.Piece) bool { return p.Assumed && (p.From >= 0 || p.State != cause.Unnamed) }
	if !slices.ContainsFunc(pieces, func(p cause.Piece) bool { return p.State == cause.AtHost && p.Assumed }) {
		return nil
	}
	for i := 0; i < len(pieces); i++ {
		if !is(&pieces[i]) {
			out = append(out, pieces[i])
			continue
		}
		first := i
		for i+1 < len(pieces) && is(&pieces[i+1]) {
			i++
		}
		last := &pieces[i]
		out = append(out, cause.Piece{Row: last.Row, From: -1, Begin: pieces[first].Begin, End: last.End, Class: -1, Depth: max(0, last.Depth-1), State: cause.AtHost})
	}
	return out
}

// itemName names an item by what a thread did, else by its slice.
func itemName(a *index.About, key cause.Key) string {
	if words := key.State.Words(key.Wait); words != "" {
		return words
	}
	return sliceName(a, key.Class)
}

func sliceName(a *index.About, class int) string {
	if class < 0 || class >= len(a.Classes) {
		return ""
	}
	return a.Classes[class].Name
}

func (c *causes) piece(a *index.About, b *cause.Blame, x *cause.Piece) Piece {
	p := Piece{Row: x.Row, From: x.From, Begin: x.Begin, End: x.End, Name: sliceName(a, x.Class), Depth: x.Depth, Assumed: x.Assumed, Unresolved: x.Unresolved, Detail: x.Detail}
	if words := x.State.Words(x.Wait); words != "" {
		p.Name = words
	}
	if x.From >= 0 && !b.Contradiction && len(x.Less) == 0 {
		if low, high, bounded := b.Way(c.model, x); bounded {
			p.Low, p.High = &low, &high
		}
	}
	return p
}

// like returns the paths of the like requests nearest in time, and how far apart they are at most, ns.
func (c *causes) like(request int) (list [][]cause.Piece, apart int64) {
	all := c.groups[c.groupOf[request]].members
	at, _ := slices.BinarySearch(all, int32(request))
	from := max(0, min(at-mostLike/2, len(all)-mostLike))
	for _, i := range all[from:min(len(all), from+mostLike)] {
		if x := &c.list[i]; int(i) == request || x.Overlapping || x.Alone != c.list[request].Alone {
			continue
		}
		list = append(list, c.paths.Of(&c.list[i]))
		d := c.list[i].Begin - c.list[request].Begin
		apart = max(apart, d, -d)
	}
	return list, apart
}

// turn is by how much the difference of two clocks may have changed within a time apart, ns: what the bounds leave of the
// clocks' rates over the whole timeline, and 1 ppm of wander. Of clocks without bounds, 100 ppm are allowed for.
func turn(a *index.About, r *cause.Request, m *cause.Model, apart int64) int64 {
	x, y := m.Bounds(r.Client, r.Begin), m.Bounds(r.Server, r.There.Received)
	if !x.Known || !y.Known || a.Span <= 0 {
		return 1000 + int64(float64(apart)*1e-4)
	}
	width := x.Below + x.Above + y.Below + y.Above
	return min(width, 1000+int64(float64(apart)*(2*float64(width)/float64(a.Span)+1e-6)))
}
