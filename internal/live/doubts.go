package live

import (
	"math"
	"slices"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

// DoubtEvent is the name of an event that says which places may be wrong of those that were handed on before it. A step of a clock is found some seconds
// after it, and what was shown meanwhile stays. One such event comes for each host of the component, on a row of its own:
//
//	host db, meridian:doubt  why="set" hosts="web" by_ns=5000000 from_ns=... to_ns=... recorded_from_ns=... recorded_to_ns=... events=2041
//
// It says that the places of db's events in the interval from_ns to to_ns that came before it may be wrong, with their bounds, since the clock of web was set.
const DoubtEvent = "meridian:doubt"

var doubtClass = []trace.Class{{Name: DoubtEvent, Category: "clocks", Fields: []trace.Field{
	{Name: "why", Type: trace.Type{Kind: trace.Text}},   // set, doubted, bent, slewed
	{Name: "hosts", Type: trace.Type{Kind: trace.Text}}, // of which one's clock it was
	{Name: "by_ns", Type: trace.Type{Kind: trace.Int}},  // 0: not known
	{Name: "from_ns", Type: trace.Type{Kind: trace.Int}},
	{Name: "to_ns", Type: trace.Type{Kind: trace.Int}},
	{Name: "recorded_from_ns", Type: trace.Type{Kind: trace.Int}},
	{Name: "recorded_to_ns", Type: trace.Type{Kind: trace.Int}},
	{Name: "events", Type: trace.Type{Kind: trace.Int}},
}}}

// doubt is something of a clock that was found later.
type doubt struct {
	why    string
	hosts  OneOf
	by     int64
	clocks []int // that it is about: those of their components are concerned
	since  int64 // by Session.elapsed, what was handed on from then on is in doubt
	found  int64 // by Session.elapsed
}

// doubts are found, and written after the next events.
type doubts struct {
	found []doubt
	rows  map[*input]*doubtRow
}

// doubtRow is the row of a host, as a source with one stream.
type doubtRow struct {
	stream  [1]trace.Stream
	entries *order.SourceEntries
}

func (r *doubtRow) Next(*trace.Event) error { return trace.ErrPending }
func (r *doubtRow) Values() []trace.Value   { return nil }
func (r *doubtRow) Streams() []trace.Stream { return r.stream[:] }
func (r *doubtRow) Classes() []trace.Class  { return doubtClass }
func (r *doubtRow) Close() error            { return nil }

// shownSpan is what an input's events that were handed on in a quarter of a second have in common.
type shownSpan struct {
	began       int64 // by Session.elapsed
	first, last clock.HostTime
	low, high   clock.TimelineTime
	events      int64
}

const (
	shownLength = 250_000_000
	mostShown   = 512 // two minutes: twice what a round looks at
)

// handed notes an event that is handed on.
func (in *input) handed(r *trace.TimelineEvent) {
	if in.s.ending && r.Time.Sub(in.s.presentOf(in.host)) > maxLead {
		in.left.add(r)
		return
	}
	n := len(in.shown) - 1
	if now := in.s.elapsed(); n < 0 || now-in.shown[n].began >= shownLength {
		if n+1 >= mostShown {
			in.shown = slices.Delete(in.shown, 0, mostShown/8)
		}
		in.shown = append(in.shown, shownSpan{began: now})
		n = len(in.shown) - 1
	}
	in.shown[n].add(r)
}

func (x *shownSpan) add(r *trace.TimelineEvent) {
	x.merge(&shownSpan{first: r.Event.Time, last: r.Event.Time, low: r.Time, high: r.Time, events: 1})
}

func (x *shownSpan) merge(y *shownSpan) {
	if x.events == 0 {
		x.first, x.last, x.low, x.high = y.first, y.last, y.low, y.high
	}
	x.first, x.last, x.low, x.high = min(x.first, y.first), max(x.last, y.last), min(x.low, y.low), max(x.high, y.high)
	x.events += y.events
}

// doubtful notes what a change says of places that were handed on. What precedes the reading of a clock by guard may be wrong as well.
func (s *Session) doubtful(c *alignlive.Change, why string, hosts OneOf, guard int64) {
	clocks := []int{c.Clock}
	if c.Other >= 0 {
		clocks = append(clocks, c.Other)
	}
	s.doubts.found = append(s.doubts.found, doubt{why, hosts, c.By, clocks, s.handedSince(c.Clock, c.From) - guard, s.elapsed()})
}

// doubtGuard is how long before it was doubted a clock may have been set, ns; see package align/live.
const doubtGuard = 3_000_000_000

// handedSince returns from when on events of a clock behind a reading were handed on.
func (s *Session) handedSince(number int, from clock.HostTime) int64 {
	since := int64(math.MaxInt64)
	for _, in := range s.inputs {
		if in.number != number {
			continue
		}
		for i := range in.shown {
			x := &in.shown[i]
			if s.free(number, x.last) >= from {
				since = min(since, x.began)
				break
			}
		}
	}
	if since == math.MaxInt64 { // nothing of it yet: its messages tell more than it has shown
		since = s.elapsed()
	}
	return since
}

// free returns the reading of the clock that is aligned for a stamp.
func (s *Session) free(number int, stamp clock.HostTime) clock.HostTime {
	if x := s.steered[number]; x != nil && x.following {
		return x.follower.Map().At(stamp)
	}
	return stamp
}

// writeDoubts writes what was found, once the events that had been placed by then have been handed on. All writes the rest too.
func (s *Session) writeDoubts(all bool) error {
	if !s.o.Doubts {
		s.doubts.found = s.doubts.found[:0]
	}
	held := s.frame() + int64(max(s.o.Sorter.ReasonTimeout, 0)) + shownLength
	for len(s.doubts.found) > 0 && (all || s.elapsed()-s.doubts.found[0].found > held) {
		d := s.doubts.found[0]
		s.doubts.found = s.doubts.found[1:]
		within := make(map[int]bool)
		for _, n := range d.clocks {
			_, c := s.clocks.Maps().Map(n)
			within[c] = true
		}
		for _, in := range s.inputs {
			if in.number < 0 || len(in.shown) == 0 {
				continue
			}
			if _, c := s.clocks.Maps().Map(in.number); !within[c] && !slices.Contains(d.clocks, in.number) {
				continue
			}
			var x shownSpan
			for i := range in.shown {
				if y := &in.shown[i]; y.began+shownLength > d.since {
					x.merge(y)
				}
			}
			if err := s.writeDoubt(in, &d, &x); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeLeft writes which events came at the end alone, far ahead of all others, where a clock was set: what it had recorded until that was found.
func (s *Session) writeLeft() error {
	var set OneOf
	for _, o := range s.set.told() {
		set = append(set, o...)
	}
	slices.Sort(set)
	d := doubt{why: "set", hosts: slices.Compact(set)}
	for _, in := range s.inputs {
		if !s.o.Doubts || len(set) == 0 {
			continue
		}
		if err := s.writeDoubt(in, &d, &in.left); err != nil {
			return err
		}
	}
	return nil
}

// writeDoubt writes what a doubt says of some events of an input, at the instant of the last event of its component.
func (s *Session) writeDoubt(in *input, d *doubt, x *shownSpan) error {
	if x.events == 0 {
		return nil
	}
	at := x.last
	place := s.place(in.number, at)
	e := trace.TimelineEvent{Event: trace.Event{Time: at}, Host: in.host, Map: s.mapOf(in, &place), Time: x.high}
	component, _ := s.rows.Component(&e)
	if last := *s.last.of(component); last > math.MinInt64 {
		e.Time = last
	}
	e.Low, e.High = e.Time, e.Time
	row := s.doubtRow(in)
	e.Stream = row.entries.Stream(0)
	e.Class, _ = row.entries.Class(0) // there is one
	e.Values = []trace.Value{trace.OfText(d.why), trace.OfText(d.hosts.list()), trace.OfInt(d.by), trace.OfInt(int64(x.low)), trace.OfInt(int64(x.high)),
		trace.OfInt(int64(x.first)), trace.OfInt(int64(x.last)), trace.OfInt(x.events)}
	return s.sink.Write(&e, order.Note{})
}

// doubtRow returns the row of a host's doubts. Of an index that is gone on with it is the one that the schema has.
func (s *Session) doubtRow(in *input) *doubtRow {
	if r := s.doubts.rows[in]; r != nil {
		return r
	}
	if s.doubts.rows == nil {
		s.doubts.rows = make(map[*input]*doubtRow)
	}
	r := &doubtRow{stream: [1]trace.Stream{{Name: "clock", Kind: trace.OtherStream, Parent: -1}}}
	r.entries = s.rowNames.Of(r, in.host)
	r.entries.Resume([]int{slices.IndexFunc(s.rows.Streams, func(x trace.Stream) bool {
		return x.Host == in.name && x.Kind == trace.OtherStream && x.Name == r.stream[0].Name
	})})
	s.doubts.rows[in] = r
	return r
}
