package main

import "math"

// shown says whether the messages of some two hosts contradict the assumption that is stated by default: at some instant no line fits
// all of them. It knows nothing of the world but the stamps, as the command.
//
// Where the messages do not show that the assumption is broken, a world that keeps it may have the same stamps and another truth: no
// program can tell the two apart, and bounds that hold in the one may be wrong in the other. Such a world is hidden, not failing.
func (w *World) shown() bool {
	for a := range w.Hosts {
		for b := range a {
			if s := w.series(b, a); s.contradicted(limits{epsilon: 100, wander: 30, skew: 500}) {
				return true
			}
		}
	}
	return false
}

// series is what the stamps of two hosts say of the offset x = b - a: at the instant of a clock a, x is at most or at least this.
type series struct {
	ceilings, floors []point
}

type point struct{ at, x float64 } // ns from the first

func (w *World) series(a, b int) series {
	var s series
	var at0, x0 int64
	ha, hb := &w.Hosts[a], &w.Hosts[b]
	for i := range w.Messages {
		m := &w.Messages[i]
		there := m.From == a && m.To == b
		if m.Lost != "" || !there && (m.From != b || m.To != a) {
			continue
		}
		from, to := ha, hb
		if !there {
			from, to = hb, ha
		}
		sent, received := from.stamp(m.Sent, m, false), to.stamp(m.Sent+m.Delay, m, true)
		at, x := sent, received-sent
		if !there {
			at, x = received, sent-received
		}
		if at0 == 0 {
			at0, x0 = at, x
		}
		p := point{float64(at - at0), float64(x - x0)}
		grain := float64(ha.Grain.span() + hb.Grain.span())
		if there {
			p.x += grain
			s.ceilings = append(s.ceilings, p)
		} else {
			p.x -= grain
			s.floors = append(s.floors, p)
		}
	}
	return s
}

// contradicted says whether at one of some instants no line keeps below all ceilings and above all floors, by what is forgiven them.
func (s *series) contradicted(l limits) bool {
	if len(s.ceilings) == 0 || len(s.floors) == 0 {
		return false
	}
	all := append(append([]point{}, s.ceilings...), s.floors...)
	step := max(1, len(all)/200)
	for i := 0; i < len(all); i += step {
		at := all[i].at
		// By how much the highest floor exceeds the lowest ceiling is a convex function of the slope.
		gap := func(y float64) float64 {
			low, high := math.Inf(-1), math.Inf(1)
			for _, p := range s.floors {
				d := p.at - at
				low = max(low, p.x-y*d-l.epsilon-l.wander*d*d/2e18)
			}
			for _, p := range s.ceilings {
				d := p.at - at
				high = min(high, p.x-y*d+l.epsilon+l.wander*d*d/2e18)
			}
			return low - high
		}
		from, to := -l.skew*1e-6, l.skew*1e-6
		least := math.Inf(1)
		for range 70 {
			a, b := from+(to-from)*0.4, from+(to-from)*0.6
			ga, gb := gap(a), gap(b)
			if least = min(least, ga, gb); least <= 0 {
				break
			}
			if ga < gb {
				to = b
			} else {
				from = a
			}
		}
		if least > 0.5 {
			return true
		}
	}
	return false
}
