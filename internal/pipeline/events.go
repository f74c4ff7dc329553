package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// shape is what becomes of events.
type shape uint8

const (
	asRows   shape = iota // what happens on the rows of a timeline: threads, interrupts, spans
	asEvents              // the events as they were recorded
)

// legend begins the legend of the timeline: its hosts, in the order of their clocks.
func (r *run) legend() *trace.Schema {
	l := &trace.Schema{Title: "Timeline of " + r.hostNames()}
	if r.report != nil && len(r.matched.Clocks) > 1 {
		l.Method, l.Assumption = r.report.Method, r.report.Assumption
	}
	for i := range r.matched.Clocks {
		if host := r.matched.Clocks[i].Host; !slices.Contains(l.Hosts, host) {
			l.Hosts = append(l.Hosts, host)
		}
	}
	return l
}

func (r *run) hostNames() string {
	var names []string
	for _, c := range r.matched.Clocks {
		names = append(names, c.Name)
	}
	return fewOf(names)
}

// mapOf returns the map of a clock; nil leaves its stamps as recorded, which one clock alone always does.
func (r *run) mapOf(clock int) *clock.Map {
	if r.solution == nil || len(r.matched.Clocks) == 1 {
		return nil
	}
	return &r.solution.Maps[clock]
}

// sources opens all that has events: recordings, captures, the ends of messages, bounds. The caller closes their Events.
func (r *run) sources(v shape, l *trace.Schema, w *trace.Warnings) (all []order.EventSource, err error) {
	add := func(clock int, s trace.Source, keep func(*trace.Event) bool, m *clockMap, window int64, ahead bool) {
		host := slices.Index(l.Hosts, r.matched.Clocks[clock].Host)
		all = append(all, order.EventSource{Events: s, Host: host, Map: m, Keep: keep, Window: window, Ahead: ahead})
	}
	for _, x := range r.recordings {
		for _, h := range x.hosts {
			s, err := x.open(v == asRows, w)
			if err != nil {
				closeAll(all)
				return nil, err
			}
			add(h.clock, s, x.only(h.name, s), r.mapOf(h.clock), x.window(), x.worth())
		}
	}
	for i, s := range r.cut {
		c := r.captures[s.capture]
		if !r.isFile(c) {
			continue // its events are those of a recording
		}
		m := r.mapOf(s.clock)
		if m != nil {
			m = r.stretchMap(i)
		}
		add(s.clock, &packets{capture: c, keep: r.keep(s), name: r.rowName(s.clock, r.captureRow(c))}, nil, m, order.DefaultWindow, false)
	}
	r.numberFlows()
	for i, e := range r.allEnds() {
		if len(e.list) > 0 {
			add(i, e, nil, r.mapOf(i), order.InOrder, false)
		}
		if marks := r.marks[i]; len(marks) > 0 {
			add(i, &marked{marks: marks, name: r.rowName(i, "operations")}, nil, r.mapOf(i), order.InOrder, false)
		}
		c := &r.matched.Clocks[i]
		if m := r.mapOf(i); m != nil && r.solution.Hosts[i].Bounded && r.solution.Parent[i] != i && c.Events > 0 {
			add(i, &bounds{m: m, first: c.First, last: c.Last, name: r.rowName(i, "clock bound")}, nil, m, order.InOrder, false)
		}
	}
	return all, nil
}

type clockMap = clock.Map

// captureRow names the row of a capture's packets: its file where a host has several.
func (r *run) captureRow(c *trace.Capture) string {
	for _, other := range r.captures {
		if other != c && other.Host == c.Host && r.isFile(other) {
			return "packets " + stem(c.File)
		}
	}
	return "packets"
}

// isFile reports whether a capture is a file of packets; others were made of a kernel's events.
func (r *run) isFile(c *trace.Capture) bool {
	return !slices.ContainsFunc(r.recordings, func(x *recording) bool { return x.capture == c })
}

// numberFlows gives each message a number of its own, which is its flow.
func (r *run) numberFlows() {
	r.flows = r.flows[:0]
	next := uint64(0)
	for _, ch := range r.matched.Channels[:r.sent] {
		r.flows = append(r.flows, next)
		next += uint64(len(ch.Messages))
	}
}

func closeAll(sources []order.EventSource) {
	for _, s := range sources {
		s.Events.Close()
	}
}

// extent returns the first and the last instant of the timeline.
func (r *run) extent() (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for i := range r.matched.Clocks {
		c := &r.matched.Clocks[i]
		if c.Events == 0 {
			continue
		}
		a, b := c.First, c.Last
		if m := r.mapOf(i); m != nil {
			a, b = m.At(a), m.At(b)
		}
		first, last = min(first, a), max(last, b)
	}
	if first > last {
		return 0, 0
	}
	return first, last
}

// play sends the events in one shape, as far as they are wanted, to the sink that make makes for a legend, and closes it if
// all went well.
func (r *run) play(ctx context.Context, v shape, make func(*trace.Schema) (trace.Sink, error)) error {
	o, err := r.wanted()
	if err != nil {
		return err
	}
	// What is amiss was said when the recordings were first read, but for what only their rows tell.
	w := new(trace.Warnings)
	if v == asRows && !r.saidOfRows {
		r.saidOfRows, w = true, &r.warnings
	}
	l := r.legend()
	sources, err := r.sources(v, l, w)
	if err != nil {
		return err
	}
	defer closeAll(sources)
	order.Enter(sources, l, func(source, class int) bool {
		return r.occurs(v, source, class) && o.WantsClass(&sources[source].Events.Classes()[class])
	})
	o.Clock = r.clockFacts(l)
	f := filter.New(l, o)
	sink, err := make(f.Legend())
	if err != nil {
		return err
	}
	f.To(sink)
	var total, done int64
	for i := range r.matched.Clocks {
		total += r.matched.Clocks[i].Events
	}
	stats, err := order.Events(ctx, sources, l, func(rec *trace.TimelineEvent) error {
		if done++; done&0xffff == 0 {
			r.Progress("writing events", min(done, total), total)
		}
		return f.Write(rec)
	})
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	r.tellOf(stats, f)
	return nil
}

// occurs reports whether events of a type may come from a source: recordings were read once, and come first among the
// sources.
func (r *run) occurs(v shape, source, class int) bool {
	for _, x := range r.recordings {
		if source < len(x.hosts) {
			return v == asRows || class < len(x.classes) && x.classes[class]
		}
		source -= len(x.hosts)
	}
	return true
}

// tellOf says, once for a run, what became of the events.
func (r *run) tellOf(stats order.Stats, f *filter.Filter) {
	if r.played != nil {
		return
	}
	r.played = &show.Conversion{Events: f.Passed, LeftOut: f.Dropped, Pairs: f.Results()}
	late := int64(0)
	for _, n := range stats.Late {
		late += n
	}
	if late > 0 {
		r.warnings.AddN("", "events later than any before them by more than the window; their output is out of order there", "", late)
	}
	if from, to := f.Found(); !from {
		r.warnings.Add("", "no event begins the stretch, so nothing is in it", fmt.Sprintf("--from-event %s", r.Filter.From.Event))
	} else if !to {
		r.warnings.Add("", "no event ends the stretch, so it goes on to the end", fmt.Sprintf("--to-event %s", r.Filter.To.Event))
	}
	f.Warnings(&r.warnings)
}

// tee is several sinks as one.
type tee []trace.Sink

func (t tee) Write(r *trace.TimelineEvent) error {
	for _, s := range t {
		if err := s.Write(r); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Close() error {
	for _, s := range t {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
