package pipeline

import (
	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/show/view"
	"meridian/trace"
)

// granularityOf returns the step of the stamps that came by a map of the legend, or that stayed as they were: of several
// clocks that it may be of, the coarsest.
func (r *run) granularityOf(l *trace.Schema) func(int) int64 {
	of := make(map[*clock.Map]int64)
	byHost, all := make(map[string]int64), int64(1)
	for i := range r.matched.Clocks {
		c := &r.matched.Clocks[i]
		if m := r.mapOf(i); m != nil {
			of[m] = c.Granularity
		}
		byHost[c.Host] = max(byHost[c.Host], c.Granularity)
		all = max(all, c.Granularity)
	}
	return func(m int) int64 {
		if m < 0 {
			return all
		}
		if step, known := of[l.Maps[m].Map]; known {
			return step
		}
		return byHost[l.Hosts[l.Maps[m].Host]] // of a stretch of a clock
	}
}

// clocksOf says which of the clocks that brought events can be compared with which: a host's second clock may be in another
// component than its first. Of a stretch of a clock it is only known where all clocks of the host agree; else nothing is
// comparable with it. Stamps that came by one map though the clock was set back between them have no order.
func (r *run) clocksOf(l *trace.Schema, hosts []view.HostReport) []view.ClockReport {
	out := make([]view.ClockReport, len(l.Maps))
	for m := range l.Maps {
		out[m].Component = hosts[l.Maps[m].Host].Component
		for i := range r.matched.Clocks {
			if r.report == nil || r.matched.Clocks[i].Host != l.Hosts[l.Maps[m].Host] {
				continue
			}
			if r.mapOf(i) == l.Maps[m].Map {
				out[m] = view.ClockReport{Component: r.solution.Component[i], Set: r.wasSet(i)}
				break
			}
			if r.solution.Component[i] != out[m].Component {
				out[m].Component = -1 - m
			}
		}
	}
	return out
}

// wasSet reports whether a clock was set while it was recorded, as messages or its own stamps tell.
func (r *run) wasSet(i int) bool {
	if i < len(r.solution.Pieces) && r.solution.Pieces[i] != nil {
		return true
	}
	for k, s := range r.cut {
		if k > 0 && s.clock == i && r.cut[k-1].clock == i && r.cut[k-1].capture == s.capture {
			return true
		}
	}
	return false
}

// componentOf returns the component of a host, of which nothing is said where nothing was aligned: each is one of its own.
func (r *run) componentOf(host int, name string) int {
	for k, c := range r.matched.Clocks {
		if r.report != nil && c.Name == name && c.Host == name { // the others are second clocks of it
			return r.report.Hosts[k].Component
		}
	}
	return host
}

// clockFacts says of the clocks that stamp a legend's records what decides their order, to the filter as to the viewer. Its
// maps are entered.
func (r *run) clockFacts(l *trace.Schema) func(host, number int) filter.Clock {
	step, hosts := r.granularityOf(l), make([]view.HostReport, len(l.Hosts))
	for i, name := range l.Hosts {
		hosts[i].Component = r.componentOf(i, name)
	}
	clocks := r.clocksOf(l, hosts)
	return func(host, number int) filter.Clock {
		if number < 0 || number >= len(clocks) {
			return filter.Clock{Step: step(-1), Component: hosts[host].Component}
		}
		return filter.Clock{Step: step(number), Component: clocks[number].Component, Set: clocks[number].Set}
	}
}
