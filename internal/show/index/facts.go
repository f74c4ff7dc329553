package index

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/trace"
)

// facts are what is known of a timeline beside its items and events: all that About says but for lanes and links. They are
// a copy, which does not change while the timeline grows.
type facts struct {
	schema   trace.Schema
	streams  []int32 // of the schema, their rows; -1 for none
	byRow    []int   // streams of rows
	origin   clock.TimelineTime
	last     int64
	events   int64
	classes  []int64 // their events
	hosts    []int64
	maps     []mapState // by number+1
	rows     []rowFacts
	verdicts [5]int64
	inverted *int64
	minDelay int64
	delays   []Histogram
	lost     losses
	lanes    lostLanes
	waiting  int64 // ends of messages
}

type rowFacts struct {
	host, clock int
	runs        []Run
	events      int64
	mixed       bool
}

// facts copies what is known now. The elements of the schema do not change, and there are only more of them.
func (b *Builder) facts() *facts {
	s := b.sorter
	f := &facts{schema: *b.schema, streams: b.streams, byRow: b.byRow, origin: b.origin, last: b.last, events: b.events,
		hosts: slices.Clone(b.hosts), maps: slices.Clone(b.maps), verdicts: s.pairs.counts, inverted: s.pairs.raw.total(), minDelay: s.minDelay, delays: histograms(s.pairs.delays),
		lost: b.lost, lanes: s.lost, waiting: int64(len(s.pairs.waiting))}
	f.schema.Maps = slices.Clone(f.schema.Maps)
	f.classes = make([]int64, len(b.classes))
	for i := range b.classes {
		f.classes[i] = b.classes[i].events
	}
	f.rows = make([]rowFacts, len(s.rows))
	for i, w := range s.rows {
		x := rowFacts{host: int(w.host), events: w.events, mixed: w.mixed}
		x.clock, x.runs = w.clocks()
		x.runs = slices.Clone(x.runs)
		f.rows[i] = x
	}
	return f
}

// counterName names a counter after its class, and after the field too where it has several.
func counterName(class *trace.Class, field int) string {
	name := class.Fields[field].Name
	if len(numbers(class)) > 1 || class.Name == "" {
		return strings.TrimSpace(class.Name + " " + name)
	}
	return class.Name
}

// topLevel returns the least level whose tile 0 covers all.
func topLevel(span int64) int { return max(bits.Len64(uint64(span))-tileBits, 0) }

// about fills what is known but for the lanes and the links.
func (b *facts) about() *About {
	l := b.schema
	a := &About{
		Version: version, Title: l.Title, Origin: b.origin, Span: int64(b.last), Top: topLevel(int64(b.last)), Step: b.maps[0].granularity, Events: b.events, Late: b.lost.lateness,
		Verdicts: b.verdicts, Inverted: b.inverted, MinDelay: b.minDelay, Delays: b.delays, Method: l.Method, Assumption: l.Assumption,
		Hosts: []Host{}, Clocks: []Clock{}, Rows: []Row{}, Classes: []Class{}, Links: []Link{},
		Warnings: b.warnings(), Pairs: [][]string{}, Left: []string{},
	}
	for _, n := range a.Verdicts {
		a.Messages += n
	}
	named := make(map[string]int)
	for i, name := range l.Hosts {
		if _, ok := named[name]; !ok {
			named[name] = i
		}
		a.Hosts = append(a.Hosts, Host{Name: name, HostReport: HostReport{Addresses: []string{}}, Events: b.hosts[i]})
	}
	for i := range l.Maps {
		a.Clocks = append(a.Clocks, b.clock(i))
	}
	for i, stream := range b.byRow {
		s := &l.Streams[stream]
		x := Row{Host: named[s.Host], Clock: -1, Name: s.Name, Kind: s.Kind.String(), ID: s.ID, Parent: -1, Lanes: []Lane{}}
		if i < len(b.rows) && b.rows[i].events > 0 {
			w := &b.rows[i]
			x.Host, x.Events, x.Clock, x.Clocks = int(w.host), w.events, w.clock, w.runs
		}
		if s.Parent >= 0 && s.Parent < len(b.streams) {
			x.Parent = int(b.streams[s.Parent])
		}
		a.Rows = append(a.Rows, x)
	}
	for i := range l.Classes {
		c := &l.Classes[i]
		x := Class{Name: c.Name, Category: c.Category, Fields: []string{}, Events: b.classes[i]}
		for k := range c.Fields {
			x.Fields = append(x.Fields, c.Fields[k].Name)
		}
		a.Classes = append(a.Classes, x)
	}
	return a
}

// mostCorners is how many corners all clocks have together, at least 64 each.
const mostCorners = 1 << 16

// clock describes a map of the schema. It is drawn over the whole timeline and somewhat beyond, but for one that is not its
// host's only one: that is drawn where it brought stamps.
func (b *facts) clock(i int) Clock {
	m := &b.schema.Maps[i]
	c := Clock{Host: m.Host, Low: m.Map.Low != nil, High: m.Map.High != nil, Granularity: b.maps[i+1].granularity, Corners: []Corner{}}
	if m.Map.Mid.Check() != nil {
		return c
	}
	first, last := int64(0), b.last
	for k := range b.schema.Maps {
		if s := &b.maps[i+1]; k != i && b.schema.Maps[k].Host == m.Host && s.used {
			first, last = s.first, s.last
		}
	}
	margin := max((last-first)/8, 1_000_000)
	limit := max(64, min(2048, mostCorners/len(b.schema.Maps)))
	c.Corners = Corners(m.Map, clock.Add(b.origin, first-margin), clock.Add(b.origin, clock.Add(last, margin)), limit)
	for k := range c.Corners {
		c.Corners[k].At = clock.Sub(clock.TimelineTime(c.Corners[k].At), b.origin)
	}
	return c
}

// warnings says what is not shown as it was.
func (b *facts) warnings() []string {
	of := &b.lanes
	mixed := int64(0)
	for i := range b.rows {
		if b.rows[i].mixed {
			mixed++
		}
	}
	out := []string{}
	for _, x := range []struct {
		n   int64
		say string
	}{
		{b.lost.late, "events came after later ones and are shown at the instant of these"},
		{b.lost.far, "events lie more than 146 years behind the first and are shown there"},
		{of.ends + b.waiting, "ends of messages are without their other end"},
		{of.folded, "messages are shown between the first rows of their hosts, as there are too many pairs of rows"},
		{of.noBegin, "slices have no begin"},
		{of.noEnd, "slices have no end and are shown to the last instant"},
		{of.reused, "slices have no end and are shown until another began under their number"},
		{of.deep, "slices overlap with more than 256 others of their row and are not shown"},
		{mixed, "rows have events by several clocks in turns, and in raw time are shown by one of them"},
		{b.lost.cut, "events have more in their fields than is shown"},
		{b.lost.noNumber, "values of counters are infinite or no number and are not shown"},
	} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.say))
		}
	}
	return out
}
