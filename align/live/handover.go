package live

import (
	"slices"

	"meridian/clock"
)

// handed is a round in which another clock took over as the reference of its component.
//
// The timeline follows the old reference up to an instant h that lies behind everything that was shown, and the new one from h
// on, at the rate that it is estimated to have. How the new one relates to the timeline at h is known within bounds only; the
// base of the component keeps these, so that all bounds hold of the one timeline that goes on.
type handed struct {
	*solution
	latest clock.TimelineTime // h is at most this
}

// heir returns the clock that is to take over, nil if the reference is neither gone nor silent, or none can. One clock alone that is ahead of several was set: the
// reference is silent if two went on without it, or the only other one.
func (t round) heir(s *solution) (*epoch, *clock.Map) {
	c := s.component
	place := s.place
	refSeen := c.base.At(c.reference.seen)
	var others []clock.TimelineTime
	for _, e := range s.epochs {
		if m, ok := place(e); ok && !e.ended && e != c.reference {
			others = append(others, m.At(e.seen))
		}
	}
	slices.Sort(others)
	now := refSeen
	if n := len(others); n > 0 {
		now = max(now, others[max(n-2, 0)])
	}
	silence := t.o.Silence.Nanoseconds()
	if !c.reference.ended && clock.Sub(now, refSeen) <= silence {
		return nil, nil
	}
	var best *epoch
	var bestMap clock.Map
	least := int64(-1)
	for _, e := range s.epochs {
		m, ok := place(e)
		if !ok || e.ended || e == c.reference || m.Low == nil || m.High == nil || clock.Sub(now, m.At(e.seen)) > silence/2 {
			continue
		}
		if width := clock.Sub(m.High.At(e.seen, clock.Up), m.Low.At(e.seen, clock.Down)); least < 0 || width < least {
			best, bestMap, least = e, m, width
		}
	}
	return best, &bestMap
}

// place returns the map of a clock to the timeline of the component, and whether it is in it.
func (s *solution) place(e *epoch) (clock.Map, bool) {
	c := s.component
	i := slices.Index(s.epochs, e)
	m := clock.ComposeMaps(&s.Maps[i], timelineOf(&c.base))
	return m, s.Component[i] == s.Component[slices.Index(s.epochs, c.reference)]
}

// handOver lets another clock take over, if one is to, and the round was solved for it. It returns nil if not.
func (t round) handOver(s *solution) *handed {
	best, bestMap := t.heir(s)
	if best == nil || s.heir == nil || s.component.heir != best {
		return nil
	}
	c := s.component
	at := t.afterAllShown(s, best, bestMap, s.place)
	old := c.reference
	c.base = line(bestMap, at, func(m *clock.Map, x clock.HostTime) (mid, low, high clock.TimelineTime) {
		return m.At(x), m.Low.At(x, clock.Down), m.High.At(x, clock.Up)
	})
	c.reference, c.heir = best, nil
	latest := c.base.High[0].Y
	t.change(Change{Kind: HandedOver, Clock: best.clock, Other: old.clock, Component: c.number, From: at, To: at,
		By: clock.Sub(latest, c.base.Low[0].Y)})
	again := &solution{group: s.group, Solution: s.heir, component: c, reference: best}
	return &handed{again, latest}
}

// afterAllShown returns a reading of a clock that lies behind everything that any clock of the group has shown.
func (t round) afterAllShown(s *solution, e *epoch, m *clock.Map, place func(e *epoch) (clock.Map, bool)) clock.HostTime {
	shown := m.High.At(e.seen, clock.Up)
	for _, x := range s.epochs {
		if of, ok := place(x); ok && of.High != nil && !x.ended {
			shown = max(shown, of.High.At(x.seen, clock.Up))
		}
	}
	// A clock that was set far ahead, and not found out yet, does not count.
	return firstAt(e.seen, clock.Add(e.seen, t.o.Ahead.Nanoseconds()/2), func(x clock.HostTime) bool { return m.Low.At(x, clock.Down) >= shown })
}

// firstAt returns the first x between from and to from which on a condition holds, to if it never does.
func firstAt(from, to clock.HostTime, holds func(x clock.HostTime) bool) clock.HostTime {
	for from < to {
		if middle := from + (to-from)/2; holds(middle) {
			to = middle
		} else {
			from = middle + 1
		}
	}
	return to
}

// from returns from which reading on an epoch is shown by the new base.
func (h *handed) from(m *clock.Map, e *epoch) clock.HostTime {
	if m.Low == nil {
		return e.seen
	}
	return firstAt(e.seen, clock.Add(e.seen, slopeSpan), func(x clock.HostTime) bool { return m.Low.At(x, clock.Down) >= h.latest })
}
