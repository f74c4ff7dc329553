package order

import (
	"errors"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// causality is the graph of what happened before what: the instants of every clock in their order, and a message from one
// instant to another. Equal stamps of one clock are one instant, since a curve cannot take them apart. The knots of the
// estimates are instants too, without messages, so that an estimate is straight between any two.
type causality struct {
	base  []int32              // the first instant of each clock, and the end of the last
	host  []clock.HostTime     // stamps, in ns of their clock
	time  []clock.TimelineTime // where the estimate puts them
	shift []int64              // the correction, to be added
	rise  []int64              // pushing: by how much an instant was pushed itself; pulling: how steeply the correction climbs to it

	channels []trace.Channel
	least    []int64 // by channel
	first    []int   // by channel, the number of its first message
	messages []edge
	in, out  adjacency
}

// edge is a message between two instants.
type edge struct {
	from, to, channel int32
	cut               bool // contradicts others: given up
}

func newCausality(p *trace.Problem, curves []clock.Curve, least []int64) (*causality, error) {
	g := &causality{channels: p.Channels, least: least, base: make([]int32, len(curves)+1)}
	stamps := make([][]clock.HostTime, len(curves))
	ends := make([]int, len(curves))
	count, knots := 0, 0
	for _, c := range p.Channels {
		g.first = append(g.first, count)
		count += len(c.Messages)
		ends[c.From] += len(c.Messages)
		ends[c.To] += len(c.Messages)
	}
	for i, c := range curves {
		knots += len(c)
		stamps[i] = make([]clock.HostTime, 0, ends[i]+len(c))
		for _, k := range c {
			stamps[i] = append(stamps[i], k.X)
		}
	}
	if 2*count+knots > math.MaxInt32-1 {
		return nil, errors.New("order: more messages than can be repaired at once")
	}
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			stamps[c.From] = append(stamps[c.From], m.Sent)
			stamps[c.To] = append(stamps[c.To], m.Received)
		}
	}
	g.host = make([]clock.HostTime, 0, 2*count+knots)
	for i, s := range stamps {
		slices.Sort(s)
		g.host = append(g.host, slices.Compact(s)...)
		g.base[i+1] = int32(len(g.host))
		stamps[i] = nil
	}
	g.time = make([]clock.TimelineTime, len(g.host))
	for i, c := range curves {
		u := clock.NewCursor(c)
		for j := g.base[i]; j < g.base[i+1]; j++ {
			g.time[j] = u.At(g.host[j])
		}
	}
	g.shift, g.rise = make([]int64, len(g.host)), make([]int64, len(g.host))
	g.messages = make([]edge, 0, count)
	for i, c := range p.Channels {
		for _, m := range c.Messages {
			g.messages = append(g.messages, edge{from: g.instant(c.From, m.Sent), to: g.instant(c.To, m.Received), channel: int32(i)})
		}
	}
	g.in = newAdjacency(len(g.host), g.messages, func(e *edge) int32 { return e.to })
	g.out = newAdjacency(len(g.host), g.messages, func(e *edge) int32 { return e.from })
	return g, nil
}

// instant returns the number of a stamp that is known to be there.
func (g *causality) instant(c int, stamp clock.HostTime) int32 {
	i, _ := slices.BinarySearch(g.host[g.base[c]:g.base[c+1]], stamp)
	return g.base[c] + int32(i)
}

// at returns where an instant lies on the timeline, as far as it is known.
func (g *causality) at(i int32) clock.TimelineTime { return limited(clock.Add(g.time[i], g.shift[i])) }

// limited returns the instant within clock.Limit that is nearest to t: the difference of two such stays within int64.
func limited(t clock.TimelineTime) clock.TimelineTime {
	return min(max(t, -clock.Limit), clock.Limit-1)
}

// arrival returns the earliest instant at which a message can arrive.
func (g *causality) arrival(e *edge) clock.TimelineTime {
	return clock.Add(g.at(e.from), g.least[e.channel])
}

// adjacency lists the messages of each instant.
type adjacency struct {
	start []int32
	list  []int32
}

func newAdjacency(instants int, messages []edge, end func(*edge) int32) adjacency {
	a := adjacency{start: make([]int32, instants+1), list: make([]int32, len(messages))}
	for i := range messages {
		a.start[end(&messages[i])+1]++
	}
	for i := range instants {
		a.start[i+1] += a.start[i]
	}
	next := slices.Clone(a.start[:instants])
	for i := range messages {
		at := end(&messages[i])
		a.list[next[at]] = int32(i)
		next[at]++
	}
	return a
}

func (a *adjacency) of(i int32) []int32 { return a.list[a.start[i]:a.start[i+1]] }

// progress is how far a walk along causality has come (Kahn): everything before next has been visited on each clock.
type progress struct {
	*causality
	next    []int32
	pending []int32 // by instant, messages to it that were not sent yet
	ready   []int32 // clocks whose next instant waits for nothing
	stuck   int     // no clock before it has an instant left
	met     []int   // by clock, the search for a circle that came by last
	search  int
}

// walk visits all instants, each after those before it on its clock and after the sends of what it receives. Where
// messages contradict each other it cuts some.
func (g *causality) walk(visit func(c int, i int32)) {
	clocks := len(g.base) - 1
	w := progress{causality: g, next: slices.Clone(g.base[:clocks]), pending: make([]int32, len(g.host)), met: make([]int, clocks)}
	for i := range w.pending {
		w.pending[i] = g.in.start[i+1] - g.in.start[i]
	}
	for c := range clocks {
		w.wake(c)
	}
	for {
		for k := 0; k < len(w.ready); k++ {
			c := int(w.ready[k])
			for i := w.next[c]; i < g.base[c+1] && w.pending[i] == 0; i++ {
				visit(c, i)
				w.next[c] = i + 1
				for _, m := range g.out.of(i) {
					w.arrived(m)
				}
			}
		}
		w.ready = w.ready[:0]
		for w.stuck < clocks && w.next[w.stuck] == g.base[w.stuck+1] {
			w.stuck++
		}
		if w.stuck == clocks {
			return
		}
		w.cut()
	}
}

// wake makes a clock ready if its next instant waits for nothing.
func (w *progress) wake(c int) {
	if i := w.next[c]; i < w.base[c+1] && w.pending[i] == 0 {
		w.ready = append(w.ready, int32(c))
	}
}

// arrived lets the receiver of a message wait for one less.
func (w *progress) arrived(m int32) {
	e := &w.messages[m]
	if e.cut {
		return
	}
	if w.pending[e.to]--; w.pending[e.to] == 0 {
		if c := w.channels[e.channel].To; w.next[c] == e.to {
			w.wake(c)
		}
	}
}

// cut gives up one message of a circle. Every clock that has instants left waits for a message of another such clock, so
// that going from one to the next must come to a circle.
func (w *progress) cut() {
	w.search++
	var path []int32 // messages, each from the clock that the one after it goes to
	var clocks []int
	c := w.stuck
	for w.met[c] != w.search {
		w.met[c] = w.search
		m := w.waitsFor(w.next[c])
		path = append(path, m)
		clocks = append(clocks, c)
		c = w.channels[w.messages[m].channel].From
	}
	worst, early := int32(-1), int64(math.MinInt64)
	for _, m := range path[slices.Index(clocks, c):] {
		e := &w.messages[m]
		if by := clock.Sub(clock.Add(w.time[e.from], w.least[e.channel]), w.time[e.to]); worst < 0 || by > early {
			worst, early = m, by
		}
	}
	w.arrived(worst)
	w.messages[worst].cut = true
}

// waitsFor returns a message to an instant that was not sent yet.
func (w *progress) waitsFor(i int32) int32 {
	for _, m := range w.in.of(i) {
		e := &w.messages[m]
		if !e.cut && e.from >= w.next[w.channels[e.channel].From] {
			return m
		}
	}
	return -1 // cannot be: pending counts exactly these
}
