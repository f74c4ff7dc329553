package online

import (
	"math"

	"meridian/clock"
)

// mean is the default synchroniser: lines between hulls, averaged over the rates and over how much the clocks wander. See
// [line] and [ladder] within.
//
// It takes some seconds to learn that a clock that was quiet bends. Where the rate waves by 0.25 ppm in 60 s, its error is two to seven
// times that of clocks that do not bend; the bound is as narrow and holds. It cannot see how the least delays
// of both ways differ: half of the difference is error, within the bound.
type mean struct {
	edge   *edge
	ladder *ladder
	began  bool
	origin clock.HostTime // of x
	base   int64          // of u
}

func newPosterior(e *edge) Synchroniser { return &mean{edge: e, ladder: newLadder()} }

func (m *mean) Exchange(x Exchange) (stepped bool) {
	stepped, of := m.edge.exchange(x)
	if stepped {
		m.ladder.reset()
	}
	if of.there {
		m.add(there, x.Sent, clock.Sub(x.Received, x.Sent))
	}
	if of.back {
		m.add(back, x.Returned, clock.Sub(x.Replied, x.Returned))
		m.ladder.estimate(float64(clock.Sub(x.Returned, m.origin)))
	}
	return stepped
}

func (m *mean) Forward(x Exchange) (stepped bool) {
	stepped, ok := m.edge.forward(x)
	m.half(there, x.Sent, x.outward().Sent, clock.Sub(x.Received, x.Sent), stepped, ok)
	return stepped
}

func (m *mean) Back(x Exchange) (stepped bool) {
	stepped, ok := m.edge.back(x)
	m.half(back, x.Returned, x.outward().Returned, clock.Sub(x.Replied, x.Returned), stepped, ok)
	return stepped
}

// half takes a message of a local instant, which the bound has taken at outward.
func (m *mean) half(direction int, local, outward clock.HostTime, offset int64, stepped, ok bool) {
	if stepped {
		m.ladder.reset()
	}
	if !ok {
		return
	}
	m.add(direction, local, offset)
	if last, _ := m.edge.strict.Last(); outward >= last {
		m.ladder.estimate(float64(clock.Sub(local, m.origin)))
	}
}

// add gives the ladder a message, relative to an origin that follows.
func (m *mean) add(direction int, local clock.HostTime, offset int64) {
	if !m.began {
		m.began, m.origin, m.base = true, local, offset
	} else if by := float64(clock.Sub(local, m.origin)); by > rebaseAfter {
		lift := clock.Add(offset, -m.base)
		m.ladder.move(by, float64(lift))
		m.origin, m.base = local, offset
	}
	m.ladder.add(direction, corner{float64(clock.Sub(local, m.origin)), float64(clock.Add(offset, -m.base))})
}

func (m *mean) At(local clock.HostTime) Reading {
	v, y, known := m.ladder.at(float64(clock.Sub(local, m.origin)))
	known = known && math.Abs(v) < maxApart && !math.IsNaN(y)
	var offset int64
	if known {
		offset = clock.Add(m.base, int64(math.Round(v)))
	}
	return m.edge.read(local, offset, y, known)
}
