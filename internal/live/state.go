package live

import (
	"time"

	"meridian/clock"
	"meridian/order"
)

// HostState is how a host stands in a timeline that goes on.
type HostState struct {
	Name      string
	Component int
	Latest    clock.TimelineTime // of the latest event that was read
	Lag       time.Duration      // how far that is behind the present of its component
	Bounded   bool
	Bound     time.Duration // with Bounded: the greater distance of Latest to its bounds
	Lost      int64         // events and packets that its traces lack: see Loss.Sum
}

// Hosts returns the hosts of which anything was read. Several traces of one host are one.
func (s *Session) Hosts() (list []HostState) {
	index := make(map[int]int)
	for _, in := range s.inputs {
		if in.host < 0 || !in.began {
			continue
		}
		i, known := index[in.host]
		if !known {
			i = len(list)
			index[in.host] = i
			list = append(list, HostState{Name: in.name})
		}
		h := &list[i]
		h.Lost += in.loss().Sum()
		p := &in.at
		if known && p.At <= h.Latest {
			continue
		}
		h.Component, h.Latest, h.Lag = p.Component, p.At, 0
		if l := s.lanes[p.Component]; l != nil {
			h.Lag = time.Duration(max(clock.Sub(l.now(s.elapsed()), p.At), 0))
		}
		if h.Bounded = p.Bounded && s.shared[p.Component]; h.Bounded {
			h.Bound = time.Duration(max(clock.Sub(p.High, p.At), clock.Sub(p.At, p.Low)))
		}
	}
	return list
}

// Stats returns what has become of the events so far.
func (s *Session) Stats() order.SorterStats { return s.stats() }

// SetSoFar returns the clocks that are known to have been set or steered, as [Outcome.Set].
func (s *Session) SetSoFar() []OneOf { return s.set.told() }
