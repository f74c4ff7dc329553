package envelope

import (
	"math"
	"slices"
)

// The statistical error of two clocks is that of the curve's slow part, which this file draws from its posterior, and that
// of its fast part, which the curvature of the cost has (direct.bends).
//
// The slow part is a level, a slope and a few modes. A Gaussian posterior fails there with few messages: a least delay has
// an edge, of which nothing is known but the few delays nearest to it, and the wander of the clocks is all but unknown. So all
// that the slow part depends on is unknown at the same time: the least delays both ways, how delays lie above them, and
// the wander. See [Smoothed.Deviation] for what is made of the draws.

// modes is how many shapes of a bend the slow part has, beside its level and slope.
const modes = 6

// shapes are the slope, from -1 to 1 over the extent, and the modes at an instant; or coefficients of them, ns.
type shapes [1 + modes]float64

// shapesAt returns them at a share of the extent. The modes are those of a beam with free ends: a random walk of frequency
// less the line through it is a sum of them, whose coefficients are independent.
func shapesAt(s float64) (out shapes) {
	out[0] = 2*s - 1
	for j := range modes {
		b := modeNumber(j)
		ratio := (math.Cosh(b) - math.Cos(b)) / (math.Sinh(b) - math.Sin(b))
		out[1+j] = math.Cosh(b*s) + math.Cos(b*s) - ratio*(math.Sinh(b*s)+math.Sin(b*s))
	}
	return out
}

// modeNumber returns the wave number of a mode, over the extent: the solution of cosh(b) cos(b) = 1.
func modeNumber(j int) float64 {
	if j == 0 {
		return 4.730040745
	}
	return (float64(j) + 1.5) * math.Pi
}

// slowErrors is a sample of the posterior of what the curve lacks, in draws: the curve raised by level and by the shapes
// with these coefficients is where the clock may be.
type slowErrors struct {
	level  []float64
	shapes []shapes
}

// spreadAt returns half the distance, ns, from the curve raised by level that 95 of 100 draws keep at a share of the
// extent. For draws that are normal about it that is a standard deviation. distance has room for a value of each draw.
func (e *slowErrors) spreadAt(at, level float64, distance []float64) float64 {
	s := shapesAt(at)
	for i := range distance {
		d := e.level[i] - level
		for j, v := range s {
			d += v * e.shapes[i][j]
		}
		distance[i] = math.Abs(d)
	}
	slices.Sort(distance)
	return quantile(distance, 0.95) / 2
}

// The unknowns of the posterior, by place: the wander's logarithm, the slope, the modes' coefficients, and those of each way.
const (
	atSigma  = 0
	atSlope  = 1
	atModes  = 2
	atWays   = atModes + modes
	unknowns = atWays + 2*wayUnknowns
)

// The prior of the wander: a decade away from what quartz does costs half a nat.
const (
	priorSigma = -8.8 // decades
	priorWidth = 1.0
)

// posterior is the probability of the slow part's unknowns.
type posterior struct {
	ways [2]*way
	own  [modes]float64 // the curve's own coefficients, ns
	unit [modes]float64 // deviation of a coefficient for a wander of 1, ns
	// A coefficient is unknown in units of its deviation where the messages hardly tell it, of the one at the start where
	// they do: by this much of the wander's logarithm. Either would be a funnel for the walk in the place of the other.
	centred [modes]float64
	start   float64 // logarithm of the wander at the start
}

// slowErrors draws from the posterior of what the curve between two clocks lacks. The edges both ways have least delays.
func (m *model) slowErrors(from, to int) *slowErrors {
	p := &posterior{start: math.Log(m.sigma[0])}
	var likeliest [2][]float64
	prepare := func(i, from, to int, sign float64) {
		p.ways[i] = m.wayOf(from, to, sign)
		likeliest[i] = p.ways[i].likeliest()
	}
	inTwo(func() { prepare(0, from, to, 1) }, func() { prepare(1, to, from, -1) })
	x, spread := make([]float64, unknowns), make([]float64, unknowns)
	noise := 0.0
	for i, w := range p.ways {
		copy(x[atWays+i*wayUnknowns:], likeliest[i])
		s := spread[atWays+i*wayUnknowns:]
		certain := 1 / math.Sqrt(w.total)
		s[0], s[1], s[2], s[3] = min(0.3, 6*certain), min(0.3, certain), min(0.3, 2*certain), min(0.5, 5*certain)
		noise += w.near / 2
	}
	for k := range m.knots {
		if (bending{m}).bent() { // what the clock did there no walk did
			break
		}
		s := shapesAt(float64(k) / float64(m.knots-1))
		for j := range p.own {
			p.own[j] += s[1+j] * m.x[k] / float64(m.knots)
		}
	}
	seconds := (m.last - m.first) * 1e-9
	for j := range p.unit {
		p.unit[j] = 1e9 * math.Pow(seconds, 1.5) / square(modeNumber(j))
		told := p.unit[j] * m.sigma[0] / noise
		p.centred[j] = told * told / (1 + told*told)
		x[atModes+j] = min(max(p.own[j]/(p.unit[j]*m.sigma[0]), -3), 3)
		spread[atModes+j] = min(0.5, 1/told)
	}
	x[atSigma], spread[atSigma], spread[atSlope] = p.start, 0.5, noise
	out := &slowErrors{}
	walk(p.unlikely, x, spread, func(at *place) {
		out.level = append(out.level, at.level)
		out.shapes = append(out.shapes, at.shapes)
	})
	return out
}

// place is what unknowns amount to.
type place struct {
	level  float64
	shapes shapes
}

// unlikely returns minus the logarithm of the posterior, less a constant, and sets what the unknowns amount to.
func (p *posterior) unlikely(x []float64, to *place) float64 {
	logSigma := x[atSigma]
	if logSigma < math.Ln10*minSigma || logSigma > math.Ln10*greatestSigma {
		return math.Inf(1)
	}
	sum := square((logSigma/math.Ln10-priorSigma)/priorWidth) / 2
	sigma := math.Exp(logSigma)
	to.shapes[0] = x[atSlope]
	for j := range p.unit {
		coefficient := x[atModes+j] * math.Exp(logSigma+p.centred[j]*(p.start-logSigma))
		sum += square(coefficient/sigma)/2 + p.centred[j]*logSigma
		to.shapes[1+j] = coefficient*p.unit[j] - p.own[j]
	}
	var floors [2]float64
	there, back := x[atWays:atWays+wayUnknowns], x[atWays+wayUnknowns:]
	for i, of := range [][]float64{there, back} {
		c, floor := p.ways[i].unlikely(of, &to.shapes)
		sum += c
		floors[i] = floor
	}
	if floors[0]+floors[1] < 0 { // no way takes less than no time
		return math.Inf(1)
	}
	to.level = (floors[0] - floors[1]) / 2
	return sum + alike(there, back)
}
