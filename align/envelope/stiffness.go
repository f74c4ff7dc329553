package envelope

import (
	"math"
	"slices"

	"meridian/clock"
)

// Stretch is a time in which two clocks, or one against most others, bend more than a random walk of frequency does: daemons
// slew them.
type Stretch struct {
	From, To clock.HostTime
	Wander   float64 // ppb/s; infinite where nothing is known
}

// bend is a stretch on the timeline.
type bend struct{ from, to, wander float64 } // ns after the model's origin; per ns

// stiffWander is what bends are tried with where the curves ran away, per ns. Between knots that are 60 ms apart it leaves 400 ns, about as
// much as quick messages differ by.
const stiffWander = 1e-13

// atMost returns bends none of which wanders more than the greatest.
func atMost(bends []bend, greatest float64) []bend {
	for i := range bends {
		bends[i].wander = min(bends[i].wander, greatest)
	}
	return bends
}

// ppbPerSecond is the unit of [Stretch.Wander], per ns.
const ppbPerSecond = 1e-18

// bending is a model where clocks bend more than their wander says.
type bending struct{ *model }

// bendsOf carries a clock's stretches to the timeline.
func bendsOf(stretches []Stretch, a affine, origin clock.HostTime) []bend {
	var out []bend
	for _, s := range stretches {
		out = append(out, bend{a.on(s.From, origin), a.on(s.To, origin), s.Wander * ppbPerSecond})
	}
	return out
}

// finestKnots is the spacing of knots where clocks are slewed, ns: over less time few messages tell how.
const finestKnots = 0.25e9

// stiffness is the weight of a column's squared second differences: one for all, and no more than each one's limit.
type stiffness struct {
	all    float64
	limits []float64 // by the knot after the difference; nil for none
}

func (s *stiffness) at(k int) float64 {
	if s.limits == nil {
		return s.all
	}
	return min(s.all, s.limits[k])
}

// log returns the sum of the logarithms for n knots.
func (s *stiffness) log(n int) float64 {
	if s.limits == nil {
		return float64(n-2) * math.Log(s.all)
	}
	sum := 0.0
	for k := 2; k < n; k++ {
		sum += math.Log(s.at(k))
	}
	return sum
}

// leastStiffness is where float64 would lose the difference beside the ridge.
const leastStiffness = 1e-18

// limit sets the stiffness that the bends leave to each second difference: a rate that changes by wander times the spacing is
// one deviation.
func (m bending) limit() {
	m.limits = make([][]float64, m.columns)
	for c := range m.stretches {
		if len(m.stretches[c]) > 0 {
			m.limits[c] = make([]float64, m.knots)
			m.limitColumn(c)
		}
	}
}

// limitColumn sets the stiffness of a column with bends.
func (m bending) limitColumn(c int) {
	limits := m.limits[c]
	for k := range limits {
		limits[k] = math.Inf(1)
	}
	for _, b := range m.stretches[c] {
		// All second differences of which a part is within.
		from := max(int(math.Floor((b.from-m.first)/m.step)), 0)
		to := min(int(math.Ceil((b.to-m.first)/m.step))+2, m.knots)
		deviation := b.wander * m.step * m.step
		for k := from; k < to; k++ {
			limits[k] = min(limits[k], max(1/(deviation*deviation), leastStiffness))
		}
	}
}

// bentKnots returns how many knots the bends ask for.
func (m bending) bentKnots() int {
	if !m.bent() {
		return 0
	}
	return int((m.last-m.first)/finestKnots) + 2
}

// bent reports whether any clock has stretches in which it bends.
func (m bending) bent() bool {
	return slices.ContainsFunc(m.stretches, func(b []bend) bool { return len(b) > 0 })
}

// within reports whether an instant is within a bend.
func within(bends []bend, t float64) bool {
	return slices.ContainsFunc(bends, func(b bend) bool { return b.from <= t && t <= b.to })
}

// shakenKnots is how many knots beside a bend the curve may still miss it by.
const shakenKnots = 4

// leaveOut leaves the messages received in bends out of all that tells of the least delay. So many knots there are at most.
func (m bending) leaveOut(knots int) {
	margin := shakenKnots * (m.last - m.first) / float64(knots)
	for i := range m.edges {
		d := &m.edges[i]
		for _, clock := range []int{d.from, d.to} {
			if c := m.column[clock]; c >= 0 && c < len(m.stretches) {
				for _, b := range m.stretches[c] {
					d.bends = append(d.bends, bend{from: b.from - margin, to: b.to + margin})
				}
			}
		}
		if len(d.bends) > 0 {
			d.all = d.sample
			d.leaveOut()
		}
	}
}

// leaveOut takes the sample without bends, if most of it is outside: in a bend a residual is what the curve misses.
func (d *edge) leaveOut() {
	d.sample, d.shaken = d.all, nil
	var quiet [2][]float64
	for k, received := range d.all[1] {
		if !within(d.bends, received) {
			quiet[0], quiet[1] = append(quiet[0], d.all[0][k]), append(quiet[1], received)
		}
	}
	if n := len(quiet[1]); n >= minMessages && 2*n >= len(d.all[1]) {
		d.sample, d.shaken = quiet, d.bends
	}
}

// greatestRate is by how much, ns per ns, a curve may depart from its clock's straight line: no clock is slewed faster (bound.MaxRate).
const greatestRate = 0.2

// ranAway reports whether some curve is none of a clock. Where little or nothing bounds how it bends, a curve between few messages can
// run to where they hardly resist.
func (m bending) ranAway() bool {
	if !m.bent() {
		return false
	}
	for c := range m.columns {
		x := m.x[c*m.knots : (c+1)*m.knots]
		for k := 1; k < len(x); k++ {
			if !(math.Abs(x[k]-x[k-1]) <= greatestRate*m.step) { // nor one that is not a number
				return true
			}
		}
	}
	return false
}

// early returns by how much the quickest messages of all edges come earlier under the present curves than those of half of the windows
// do, ns.
func (m bending) early() (sum float64) {
	m.reduce(false)
	for i := range m.edges {
		if least := m.edges[i].least; len(least) > 0 {
			sum += least[len(least)/2] - least[0]
		}
	}
	return sum
}

// studentFreedom is the degrees of freedom of what a bend's second differences follow: a few corners, straight between.
const studentFreedom = 2

// bendSharply minimises under that law: by reweighting, some times.
func (m bending) bendSharply(rounds int) {
	if !m.bent() {
		return
	}
	for range rounds {
		m.corners()
		schedule(m).minimise(false, 10, 1)
	}
}

// corners gives the second differences within bends the law of Student, around the curve as it is: those that the messages
// do not bend become as stiff as all others, the others keep what they need.
func (m bending) corners() {
	for c := range m.limits {
		if m.limits[c] == nil {
			continue
		}
		m.limitColumn(c)
		x, all := m.x[c*m.knots:(c+1)*m.knots], m.stiffness(c)
		for k := 2; k < m.knots; k++ {
			if limit := m.limits[c][k]; limit < all {
				d := x[k-2] - 2*x[k-1] + x[k]
				m.limits[c][k] = max(limit, (studentFreedom+1)*all/(studentFreedom+d*d*all))
			}
		}
	}
}
