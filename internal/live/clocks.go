package live

import (
	"context"
	"slices"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/trace"
)

// mapEntry is the entry in the schema of a clock's map in one component.
type mapEntry struct {
	clock, component int
}

// host enters a host into the schemas, and returns its number and that of its clock.
func (s *Session) host(name string) (host, number int) {
	host = slices.Index(s.schema.Hosts, name)
	if host < 0 {
		host = len(s.schema.Hosts)
		for _, schema := range s.schemas() {
			schema.Hosts = append(schema.Hosts, name)
		}
	}
	for _, in := range s.inputs {
		if in.host == host {
			return host, in.number
		}
	}
	return host, s.clocks.Clock(name, name, 1)
}

// mapOf returns the entry of the map by which an input's event was placed, -1 while there is only one input.
func (s *Session) mapOf(in *input, p *alignlive.Place) int {
	if s.alone {
		return -1
	}
	for i, m := range s.maps {
		if m.clock == in.number && m.component == p.Component {
			return i
		}
	}
	s.maps = append(s.maps, mapEntry{in.number, p.Component})
	m, _ := s.clocks.Maps().Map(in.number)
	m = s.hostMap(in.number, m)
	for _, schema := range s.schemas() {
		schema.Maps = append(schema.Maps, trace.HostMap{Host: in.host, Component: p.Component, Map: m})
	}
	return len(s.maps) - 1
}

// schemas returns the one or two schemas.
func (s *Session) schemas() []*trace.Schema {
	if s.rows == s.schema {
		return []*trace.Schema{s.schema}
	}
	return []*trace.Schema{s.schema, s.rows}
}

// comparable says whether instants that came by two entries can be compared.
func (s *Session) comparable(a, b int) bool {
	if a < 0 || b < 0 {
		return a == b
	}
	return s.maps[a].component == s.maps[b].component
}

// align uses the messages that have come, and takes over the maps of a round.
func (s *Session) align(ctx context.Context) error {
	now := s.time()
	s.keepTags()
	s.tags.advance(now, s.add)
	s.numbered.advance(now, s.add)
	if err := s.packets.advance(ctx, now); err != nil {
		return err
	}
	s.release(false)
	asked := s.asked && now-s.askedAt >= askInterval
	if asked && s.solving == nil {
		s.asked, s.askedAt = false, now
	} else {
		asked = false
	}
	if err := s.round(ctx, asked); err != nil {
		return err
	}
	if maps := s.clocks.Maps(); maps.Version != s.aligned {
		s.noteSet(maps, s.aligned)
		s.aligned = maps.Version
		s.noteShared(maps)
		for _, schema := range s.schemas() {
			schema.Maps = slices.Clone(schema.Maps) // pictures have the list as it was
		}
		for i, e := range s.maps {
			if e.clock < 0 {
				continue
			}
			if m, component := maps.Map(e.clock); component == e.component {
				m = s.hostMap(e.clock, m)
				for _, schema := range s.schemas() {
					schema.Maps[i].Map = m
				}
			}
		}
		for _, in := range s.inputs {
			if in.has { // it was placed by the maps before
				in.locate()
			}
		}
		return s.rebase(maps)
	}
	return nil
}

// noteShared notes which components have several hosts: alone in one, a host is bounded by itself, which says nothing.
func (s *Session) noteShared(maps *alignlive.Maps) {
	clear(s.shared)
	of := make(map[int]int)
	for _, in := range s.inputs {
		if in.number < 0 {
			continue
		}
		_, c := maps.Map(in.number)
		if first, known := of[c]; known && first != in.number {
			s.shared[c] = true
		}
		of[c] = in.number
	}
}

// askInterval is between rounds that are made because a message seemed to arrive before it was sent, ns.
const askInterval = 200_000_000

// rebase begins to order anew when clocks have joined: their events lie elsewhere from here on, and would all be late, or keep
// others from being in time.
func (s *Session) rebase(maps *alignlive.Maps) error {
	joined := false
	for _, c := range maps.Changes {
		joined = joined || c.Version > s.joined && c.Kind == alignlive.Joined
	}
	s.joined = maps.Version
	if !joined || s.warming {
		return nil
	}
	return s.restart()
}

// warm reads ahead while the clocks of several hosts are not aligned: what is shown meanwhile would have to be moved. It ends when all hosts share a component,
// after maxWarm of the timeline, or with maxHeld events.
func (s *Session) warm() (bool, error) {
	n, began := 0, s.time()
	s.wasBehind, s.behind = s.behind, false
	dry := make(map[*input]bool)
	for n < maxStep && !s.behind {
		var in *input
		for _, x := range s.inputs {
			switch {
			case dry[x]:
			case in == nil || len(x.held) == 0:
				in = x
			case len(in.held) > 0 && s.abreast(x, x.held[len(x.held)-1].Time) < s.abreast(in, in.held[len(in.held)-1].Time):
				in = x
			}
		}
		if in == nil {
			break
		}
		ok, err := in.hold()
		if err != nil {
			return false, err
		}
		if dry[in] = !ok; ok {
			n++
			s.behind = s.far(began)
		}
	}
	s.held += n
	most := int64(maxWarm)
	if s.behind { // nobody waits for what was recorded before
		most = maxWarmBehind
	}
	if s.held >= maxHeld || s.held > 0 && s.time() > most || s.connected() {
		s.warming = false
	}
	return n >= maxStep || s.behind, nil
}

// maxWarm is how long alignment may take to begin, ns, maxWarmBehind how much of what was recorded before it may take, and maxHeld how many events are
// kept meanwhile.
const (
	maxWarm       = 3_000_000_000
	maxWarmBehind = 10 * maxWarm
	maxHeld       = 1 << 19
)

// connected says whether all inputs have shown something, in one component and within bounds.
func (s *Session) connected() bool {
	component := -1
	for _, in := range s.inputs {
		if in.expanded || in.parent != nil {
			continue
		}
		if in.number < 0 || len(in.held) == 0 {
			return false
		}
		m, c := s.clocks.Maps().Map(in.number)
		if component >= 0 && c != component || m.Low == nil {
			return false
		}
		component = c
	}
	return true
}

// Maps returns how the clocks are aligned now.
func (s *Session) Maps() *alignlive.Maps { return s.clocks.Maps() }

// reachStep moves the high bound of an event to where its clock is at the end of a step of its stamps, ns: it happened up to that later. Where the map has no bounds
// there, the event has none.
func (s *Session) reachStep(e *trace.TimelineEvent, number int, at clock.HostTime, step int64) {
	end := s.place(number, clock.Add(at, step-1))
	if m := &s.maps[e.Map]; !end.Bounded || end.Component != m.component {
		e.Bounded, e.Low, e.High = false, e.Time, e.Time
		return
	}
	e.High = max(e.High, end.High)
}
