package pipeline

import (
	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/trace"
)

// granularityOf returns the step of the stamps that came by a map of the schema, or that stayed as they were: of several
// clocks that it may be of, the coarsest.
func (o *Ordered) granularityOf(schema *trace.Schema) func(int) int64 {
	of := make(map[*clock.Map]int64)
	byHost, all := make(map[string]int64), int64(1)
	for i := range o.Clocks {
		c := &o.Clocks[i]
		if m := o.mapOf(i); m != nil {
			of[m] = c.Granularity
		}
		byHost[c.Host] = max(byHost[c.Host], c.Granularity)
		all = max(all, c.Granularity)
	}
	return func(m int) int64 {
		if m < 0 {
			return all
		}
		if step, known := of[schema.Maps[m].Map]; known {
			return step
		}
		return byHost[schema.Hosts[schema.Maps[m].Host]] // of a segment of a capture
	}
}

// clocksOf says which of the clocks that brought events can be compared with which: a host's second clock may be in another
// component than its first. For a segment of a capture it is known only where all clocks of the host agree; else nothing is
// comparable with it. Stamps that came by one map though the clock was set back between them have no order.
func (o *Ordered) clocksOf(schema *trace.Schema, hosts []index.HostReport) []view.ClockReport {
	out := make([]view.ClockReport, len(schema.Maps))
	for m := range schema.Maps {
		out[m].Component = hosts[schema.Maps[m].Host].Component
		for i := range o.Clocks {
			if o.Report == nil || o.Clocks[i].Host != schema.Hosts[schema.Maps[m].Host] {
				continue
			}
			if o.mapOf(i) == schema.Maps[m].Map {
				out[m] = view.ClockReport{Component: o.Solution.Component[i], Set: o.wasSet(i)}
				break
			}
			if o.Solution.Component[i] != out[m].Component {
				out[m].Component = -1 - m
			}
		}
	}
	return out
}

// wasSet reports whether a clock was set while it was recorded, as messages or its own stamps tell.
func (o *Ordered) wasSet(i int) bool {
	if i < len(o.Solution.Pieces) && o.Solution.Pieces[i] != nil {
		return true
	}
	for k, s := range o.segments {
		if s.clock == i && o.follows(k) {
			return true
		}
	}
	return false
}

// componentOf returns the component of a host, of which nothing is said where nothing was aligned: each is one of its own.
func (o *Ordered) componentOf(host int, name string) int {
	for k, c := range o.Clocks {
		if o.Report != nil && c.Name == name && c.Host == name { // the others are second clocks of it
			return o.Report.Hosts[k].Component
		}
	}
	if o.Report != nil {
		return len(o.Clocks) + host // of none of those that were aligned
	}
	return host
}

// clockFacts says of the clocks that stamp events what decides their order, to the filter as to the viewer. Its
// maps are entered.
func (o *Ordered) clockFacts(schema *trace.Schema) func(host, number int) filter.Clock {
	step, hosts := o.granularityOf(schema), make([]index.HostReport, len(schema.Hosts))
	for i, name := range schema.Hosts {
		hosts[i].Component = o.componentOf(i, name)
	}
	clocks := o.clocksOf(schema, hosts)
	return func(host, number int) filter.Clock {
		if number < 0 || number >= len(clocks) {
			return filter.Clock{Step: step(-1), Component: hosts[host].Component}
		}
		return filter.Clock{Step: step(number), Component: clocks[number].Component, Set: clocks[number].Set}
	}
}
