package cause

import (
	"cmp"
	"slices"
	"sort"
)

// Piece is a part of a path: on a row of a host, or a message on its way. Pieces of a path follow each other without a gap.
type Piece struct {
	Row        int // of a message, where it was received
	From       int // row from which a message came; -1 for a piece on a host
	Begin, End int64
	Class      int  // name of the deepest slice there; -1 for none
	Depth      int  // of the waits: 0 for the client's own
	Assumed    bool // that what came meanwhile was waited for
	Unresolved bool // the walk was given up here
	State      State
	Wait       Wait
	Detail     string    // of a state: the call, or who had the processor
	Less       []Shorter // of a piece that was cut where a wait on another clock began: by what it is uncertain
	// Loose says of a message's sending and receiving that the thread is not known: the row is the packet's.
	Loose [2]bool
}

// Length is how long the piece took, by the estimate: exact for a piece on one host.
func (p *Piece) Length() int64 { return p.End - p.Begin }

const (
	mostSteps = 20_000
	mostDepth = 40
)

// Paths finds critical paths in a model. It is for one goroutine.
type Paths struct {
	// Walk returns the path of one of Model.Found by what is known of threads; false where that does not tell. It may be nil.
	Walk     func(found int) ([]Piece, bool)
	m        *Model
	requests []Request
	received [][]int32 // by row: messages by their receipt
	children *children
}

// NewPaths prepares a model with its requests, as Requests lists them.
func NewPaths(m *Model, requests []Request) *Paths {
	p := &Paths{m: m, requests: requests}
	together(
		func() { p.received = m.received() },
		func() { p.children = newChildren(m, requests) },
	)
	return p
}

// received lists the messages of each row in order of their receipt.
func (m *Model) received() [][]int32 {
	type receipt struct {
		at int64
		i  int32
	}
	starts := make([]int, len(m.Hosts)+1)
	for i := range m.Messages {
		starts[m.Messages[i].To+1]++
	}
	for row := range m.Hosts {
		starts[row+1] += starts[row]
	}
	all, ends := make([]receipt, len(m.Messages)), slices.Clone(starts)
	for i := range m.Messages {
		x := &m.Messages[i]
		all[ends[x.To]] = receipt{x.Received, int32(i)}
		ends[x.To]++
	}
	lists, numbers := make([][]int32, len(m.Hosts)), make([]int32, len(all))
	for row := range lists {
		list := all[starts[row]:starts[row+1]]
		slices.SortFunc(list, func(a, b receipt) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i)) })
		lists[row] = numbers[starts[row]:starts[row+1]]
		for k := range list {
			lists[row][k] = list[k].i
		}
	}
	return lists
}

// Of returns the path of a request, from its begin to its end.
func (p *Paths) Of(r *Request) []Piece {
	if p.Walk != nil && r.Found > 0 {
		if pieces, known := p.Walk(int(r.Found) - 1); known {
			return pieces
		}
	}
	w := &walk{Paths: p}
	w.request(r, 0)
	slices.Reverse(w.pieces)
	return w.pieces
}

// Between returns the path from one instant of a row to a later one of the same clock.
func (p *Paths) Between(row int, from, to int64) []Piece {
	w := &walk{Paths: p}
	w.row(row, to, from, -1, 0, 0)
	slices.Reverse(w.pieces)
	return w.pieces
}

// walk collects pieces from the last to the first.
type walk struct {
	*Paths
	pieces []Piece
	steps  int
}

func (w *walk) add(x Piece) {
	if x.End != x.Begin || x.From >= 0 {
		w.pieces = append(w.pieces, x)
	}
}

func (w *walk) way(x *Message, depth int) {
	from, to := x.rows()
	w.add(Piece{Row: to, From: from, Begin: x.Sent, End: x.Received, Class: -1, Depth: depth})
}

// request walks all of a request.
func (w *walk) request(r *Request, depth int) {
	if !r.Divided() || depth > mostDepth {
		w.add(Piece{Row: r.Client, From: -1, Begin: r.Begin, End: r.End, Class: r.Class, Depth: depth, Unresolved: true})
		return
	}
	w.own(r, r.Back.Received, r.End, depth)
	w.way(&r.Back, depth)
	w.served(r, depth+1)
	w.way(&r.There, depth)
	w.own(r, r.Begin, r.There.Sent, depth)
}

// own is what the client did itself.
func (w *walk) own(r *Request, from, to int64, depth int) {
	if r.Kind == KindSpan {
		w.span(Slice{Row: r.Client, Class: r.Class, Event: r.Event}, to, from, depth)
		return
	}
	w.local(r.Client, from, to, depth)
}

// served walks what the server did between the request's arrival and the reply's sending.
func (w *walk) served(r *Request, depth int) {
	if r.Served >= 0 {
		if s := w.m.Ends[r.Served]; s.Row == r.There.To && s.Row == r.Back.From {
			if _, named := w.m.Spans.Of(s.Event); named {
				w.span(s, r.Back.Sent, r.There.Received, depth)
				return
			}
		}
	}
	if r.Back.From != r.There.To { // another row of the server answered
		w.local(r.Back.From, r.There.Received, r.Back.Sent, depth)
		return
	}
	w.row(r.Back.From, r.Back.Sent, r.There.Received, r.Client, r.Conversation, depth)
}

// span walks a span from t back to a bound: over the child that finished last, and on from where that began. Children are
// cut to their parent.
func (w *walk) span(s Slice, t, bound int64, depth int) {
	name, named := w.m.Spans.Of(s.Event)
	var below []child
	if named && name.ID != 0 && depth < mostDepth {
		below = w.children.of(name.Trace, name.ID)
	}
	// Ends go down, and each child on the path ends before the one after it begins: one pass is enough.
	for i := sort.Search(len(below), func(i int) bool { return below[i].end <= t }); i < len(below) && t > bound; i++ {
		c := &below[i]
		if c.end <= bound {
			break
		}
		if c.end > t || c.event == s.Event || w.m.Hosts[c.row] != w.m.Hosts[s.Row] {
			continue
		}
		if w.steps++; w.steps > mostSteps {
			w.add(Piece{Row: s.Row, From: -1, Begin: bound, End: t, Class: s.Class, Depth: depth, Unresolved: true})
			return
		}
		w.add(Piece{Row: s.Row, From: -1, Begin: c.end, End: t, Class: s.Class, Depth: depth})
		switch {
		case c.begin < bound: // it began before its parent's part did
			w.add(Piece{Row: c.row, From: -1, Begin: bound, End: c.end, Class: c.class, Depth: depth, Assumed: true})
		case c.request >= 0:
			w.request(&w.requests[c.request], depth)
		default:
			w.span(Slice{Row: c.row, Class: c.class, Event: c.event}, c.end, c.begin, depth)
		}
		t = max(c.begin, bound)
	}
	w.add(Piece{Row: s.Row, From: -1, Begin: bound, End: t, Class: s.Class, Depth: depth})
}

// row walks a row from t back to a bound by its messages: what it received is taken to have been waited for, if it had
// asked for it within the bound. Messages of the row that asked, except, are none of these, or those of its conversation alone.
func (w *walk) row(row int, t, bound int64, except int, asked int32, depth int) {
	list := w.received[row]
	for t > bound {
		if w.steps++; w.steps > mostSteps || depth > mostDepth {
			w.add(Piece{Row: row, From: -1, Begin: bound, End: t, Class: -1, Depth: depth, Unresolved: true})
			return
		}
		q, r := w.answer(list, t, bound, except, asked)
		if q == nil {
			break
		}
		w.local(row, q.Received, t, depth)
		mark := len(w.pieces)
		w.way(q, depth)
		w.row(q.From, q.Sent, r.Received, row, q.Conversation, depth+1)
		w.way(r, depth)
		for i := mark; i < len(w.pieces); i++ {
			w.pieces[i].Assumed = true
		}
		t = r.Sent
	}
	w.local(row, bound, t, depth)
}

// answer finds the last message that came before t, with the one that asked for it: the last that its sender had from the
// row before, sent behind the bound.
func (w *walk) answer(list []int32, t, bound int64, except int, asked int32) (q, r *Message) {
	for i := sort.Search(len(list), func(i int) bool { return w.m.Messages[list[i]].Received > t }) - 1; i >= 0; i-- {
		q := &w.m.Messages[list[i]]
		if q.Received <= bound {
			return nil, nil
		}
		if asked <= 0 && q.From == except || asked > 0 && q.Conversation == asked || w.m.Hosts[q.From] == w.m.Hosts[q.To] {
			continue
		}
		theirs := w.received[q.From]
		for k := sort.Search(len(theirs), func(k int) bool { return w.m.Messages[theirs[k]].Received > q.Sent }) - 1; k >= 0; k-- {
			r := &w.m.Messages[theirs[k]]
			if r.From != q.To || r.Conversation != q.Conversation {
				continue
			}
			if r.Sent >= bound && r.Sent < q.Received {
				return q, r
			}
			break
		}
	}
	return nil, nil
}

// local names a stretch of a row by its deepest slices.
func (w *walk) local(row int, from, to int64, depth int) {
	if to <= from {
		w.add(Piece{Row: row, From: -1, Begin: from, End: to, Class: -1, Depth: depth}) // below zero: clocks of one host that were set
		return
	}
	var list []Slice
	if w.m.Slices != nil {
		list = w.m.Slices(row, from, to)
	}
	pieces := deepest(list, from, to)
	for _, x := range slices.Backward(pieces) {
		w.add(Piece{Row: row, From: -1, Begin: x.Begin, End: x.End, Class: x.Class, Depth: depth})
	}
}

// deepest cuts a stretch where the deepest slice changes; -1 is the class where there is none.
func deepest(list []Slice, from, to int64) (out []Slice) {
	type edge struct {
		at    int64
		begin bool
		i     int
	}
	var edges []edge
	for i := range list {
		b, e := max(list[i].Begin, from), min(list[i].End, to)
		if b < e {
			edges = append(edges, edge{b, true, i}, edge{e, false, i})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i)) })
	open := make(map[int]bool)
	at := from
	put := func(until int64) {
		if until <= at {
			return
		}
		class, depth := -1, -1
		for i := range open {
			if s := &list[i]; s.Depth > depth || s.Depth == depth && s.Class > class {
				class, depth = s.Class, s.Depth
			}
		}
		if n := len(out); n > 0 && out[n-1].Class == class {
			out[n-1].End = until
		} else {
			out = append(out, Slice{Begin: at, End: until, Class: class})
		}
		at = until
	}
	for _, e := range edges {
		put(e.at)
		if e.begin {
			open[e.i] = true
		} else {
			delete(open, e.i)
		}
	}
	put(to)
	return out
}
