package pipeline

import (
	"context"
	"fmt"
	"slices"

	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/pipeline/source"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// Ordered is the events and packets of a timeline, in its order and as far as they are selected. It holds none of them:
// each pass reads the inputs again.
type Ordered struct {
	*Aligned
	selection filter.Options
	logical   string // one of Logicals, by which events are annotated; "" for none
	// First and last instant of the timeline within the selection.
	first, last clock.TimelineTime
	misses      []filter.Miss // what of the selection fits no host, or no instant
}

// Order selects events and packets of a timeline.
func Order(a *Aligned, s Selection) (*Ordered, error) {
	first, last := a.extent()
	selection, err := s.resolve(first, last)
	if err != nil {
		return nil, err
	}
	misses := s.misses(a, &selection, first, last)
	if selection.From.Timed {
		first = max(first, selection.From.Time)
	}
	if selection.To.Timed {
		last = min(last, selection.To.Time)
	}
	o := &Ordered{Aligned: a, selection: selection, first: first, last: max(first, last), misses: misses}
	return o, nil
}

// passKind is the form in which a pass brings the events of recordings.
type passKind uint8

const (
	rowPass   passKind = iota // what happens on the rows of a timeline: threads, interrupts, spans
	eventPass                 // the events as they were recorded
)

// schema begins the schema of the timeline: its hosts, in the order of their clocks.
func (o *Ordered) schema() *trace.Schema {
	schema := &trace.Schema{Title: "Timeline of " + o.HostNames()}
	if names := unalignedNames(o.Aligned); names != "" {
		schema.Title += "; not aligned: " + names
	}
	if o.Report != nil && len(o.Clocks) > 1 {
		schema.Method, schema.Assumption = o.Report.Method, o.Report.Assumption
	}
	for i := range o.Clocks {
		if host := o.Clocks[i].Host; !slices.Contains(schema.Hosts, host) {
			schema.Hosts = append(schema.Hosts, host)
		}
	}
	return schema
}

// unalignedNames names the hosts that share no component with the reference; "" for none.
func unalignedNames(o *Aligned) string {
	var names []string
	for i := range o.Clocks {
		if o.coverage != nil && o.coverage.unaligned[i] != nil {
			names = append(names, o.Clocks[i].Name)
		}
	}
	return firstOf(names)
}

// sources opens all sources of events: recordings, captures, endpoints of messages, operations, bounds. The caller closes
// their Events. What is wrong with rows is added to w.
func (o *Ordered) sources(kind passKind, schema *trace.Schema, w *trace.Warnings) (all []order.EventSource, err error) {
	host := func(clock int) int { return slices.Index(schema.Hosts, o.Clocks[clock].Host) }
	for _, x := range o.recordings {
		for k, h := range x.Hosts {
			s, err := x.Open(kind == rowPass, w)
			if err != nil {
				closeAll(all)
				return nil, err
			}
			placed := o.placed(x.clocks[k], order.EventSource{
				Host: host(x.clocks[k]), Map: o.mapOf(x.clocks[k]), Keep: x.Only(h.Name, s), Window: x.Window(), Ahead: x.ReadAhead(),
			})
			placed.Events, placed.Granularity = recordedEvents(o, &x, k, s)
			all = append(all, placed)
		}
	}
	for i, s := range o.segments {
		c := o.captures[s.capture]
		if !o.isFile(c) {
			continue // its events are those of a recording
		}
		m := o.mapOf(s.clock)
		if m != nil {
			m = o.segmentMap(i)
		}
		packets := source.Packets(o.rowName(s.clock, o.captureRow(c)), c, o.packetFilter(s), newPayloads(c))
		placed := o.placed(s.clock, order.EventSource{Events: packets, Host: host(s.clock), Map: m, Window: order.DefaultWindow})
		placed.Granularity = stepOf(o.Matched, s.clock, c.Granularity)
		all = append(all, placed)
	}
	all = append(all, o.endpoints(host)...)
	for i := range o.Clocks {
		add := func(s trace.Source) {
			all = append(all, o.placed(i, order.EventSource{Events: s, Host: host(i), Map: o.mapOf(i), Window: order.InOrder}))
		}
		if len(o.operations[i]) > 0 {
			add(source.Operations(o.rowName(i, "operations"), o.operations[i]))
		}
		c := &o.Clocks[i]
		if m := o.mapOf(i); m != nil && o.Solution.Hosts[i].Bounded && o.Solution.Parent[i] != i && c.Events > 0 {
			add(source.Bounds(o.rowName(i, "clock bound"), m, c.First, c.Last, o.coverage.gaps[i]))
		}
	}
	return all, nil
}

// placed completes a source of a clock's events with what is known of the clock beside its map.
func (a *Aligned) placed(i int, s order.EventSource) order.EventSource {
	s.Granularity = a.Clocks[i].Granularity
	if s.Map != nil {
		s.Component, s.Unbounded = a.Solution.Component[i], a.coverage.gaps[i]
	}
	return s
}

// recordedEvents returns the events that a recording has of its k-th host, and how coarse they are where they do not
// say it themselves.
func recordedEvents(o *Ordered, x *recording, k int, s trace.Source) (trace.Source, int64) {
	number := x.clocks[k]
	switch {
	case o.resolutions.isStated[number]:
		return statedSteps{s}, o.Clocks[number].Granularity
	case x.Spans():
		return s, 1
	}
	return s, x.Hosts[k].Step
}

// isRecorded reports whether events of recordings are the endpoints of a channel's messages.
func (o *Ordered) isRecorded(channel int) bool {
	return channel >= o.recorded[0] && channel < o.recorded[1]
}

func closeAll(sources []order.EventSource) {
	for _, s := range sources {
		s.Events.Close()
	}
}

// occurs reports whether events of a class may come from a source. Recordings come first among the sources, one for each
// host, and are known to have events of a class or not.
func (o *Ordered) occurs(kind passKind, source, class int) bool {
	for _, x := range o.recordings {
		if source < len(x.Hosts) {
			return kind == rowPass || x.Occurs(class)
		}
		source -= len(x.Hosts)
	}
	return true
}

// passResult is one pass over the events that has ended.
type passResult struct {
	stats  order.Stats
	filter *filter.Filter
	names  []trace.Class // the types of events that the sources know
}

// play sends the selected events to the sink that open returns for a schema, and closes it if all went well.
func (o *Ordered) play(ctx context.Context, kind passKind, w *trace.Warnings, p Progress, open func(*trace.Schema) (trace.Sink, error)) (*passResult, error) {
	schema := o.schema()
	sources, err := o.sources(kind, schema, w)
	if err != nil {
		return nil, err
	}
	defer closeAll(sources)
	var times *logicalTimes
	if o.logical != "" {
		if times, err = o.newLogicalTimes(ctx, kind, p); err != nil {
			return nil, err
		}
		for i := range sources {
			sources[i].Events = &annotated{Source: sources[i].Events, field: times.field}
		}
	}
	selection := o.selection
	var names []trace.Class
	order.Enter(sources, schema, func(source, class int) bool {
		c := &sources[source].Events.Classes()[class]
		if !o.occurs(kind, source, class) {
			return false
		}
		names = append(names, *c)
		return selection.WantsClass(c)
	})
	selection.Clock = o.clockFacts(schema)
	f := filter.New(schema, selection)
	sink, err := open(f.Schema())
	if err != nil {
		return nil, err
	}
	f.To(sink)
	var total, done int64
	for i := range o.Clocks {
		total += o.Clocks[i].Events
	}
	stats, err := order.Events(ctx, sources, schema, func(rec *trace.TimelineEvent) error {
		if done++; done&0xffff == 0 {
			p.Report("writing events", min(done, total), total)
		}
		if times != nil {
			if err := times.annotate(rec, schema); err != nil {
				return err
			}
		}
		return f.Write(rec)
	})
	if err == nil {
		err = f.Close()
	}
	return &passResult{stats, f, names}, err
}

// describe says what became of the events, and notes what was asked for and fits nothing.
func (p *passResult) describe(out *Outcome, w *trace.Warnings) {
	late := int64(0)
	for _, n := range p.stats.Late {
		late += n
	}
	if late > 0 {
		w.AddN("", "events came later than the window allows; the outputs are out of order there", "", late)
	}
	p.filter.Warnings(w)
	misses := p.filter.Misses(p.names)
	if p.filter.Passed == 0 && p.filter.Dropped > 0 && !out.missed && len(misses) == 0 {
		misses = []filter.Miss{{Asked: "the filters", Why: fmt.Sprintf("no event fits all of them together, of %s", show.Count(p.filter.Dropped))}}
	}
	out.miss(misses, w)
	out.Played = &show.Conversion{Events: p.filter.Passed, LeftOut: p.filter.Dropped, Pairs: p.filter.Results()}
}
