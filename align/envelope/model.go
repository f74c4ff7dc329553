package envelope

import (
	"math"
)

// edge is one direction between two clocks, reduced. Times are ns on the timeline after the model's origin, as the clocks'
// affine maps have it.
type edge struct {
	from, to       int
	sent, received []float64 // corners of the windows' hulls
	weight         []float64 // messages: all of a window's at its first corner
	sample         [2][]float64
	messages       float64
	whole          float64 // messages with those of other routes: windows are as long for all
	granularity    float64
	residuals      []float64 // of the sample under the present curves, ascending
	least          []float64 // of the windows under the present curves, ascending
	series         []low     // the same by time
	since          float64   // where its route began, if that changed
	points         []point
	bends          []bend       // times of either clock in which the curve may miss messages
	all            [2][]float64 // the sample with the messages received in bends; nil without bends
	shaken         []bend       // the bends, if the sample is without the messages in them
	laws           map[int]law  // by the number of messages in a window, in quarter octaves
}

// point is the least delay of one window of an edge, with the law that it follows.
type point struct {
	edge             int32
	sender, receiver int32   // index of the knot before the stamp among the unknowns, -1 for a clock that is the timeline
	sFrac, rFrac     float64 // way to the next knot
	base             float64 // received - sent
	zero             float64 // of the law
	width            float64 // its scale, ns
	steep, flat      float64 // slopes of -log p below and above, per ns
	flatNow          float64 // flat, less where a logarithmic tail is met by a tangent
	tail, tailScale  float64 // where that tail begins, ns above zero, and its scale
	excess           float64 // where the point stood when the tangent was taken
	info             float64
	constant         float64 // of the law's -log p: what makes laws of different windows comparable
}

// model is the problem of maximum a posteriori: a curve for each column, piecewise linear on common knots, and a delay for
// each edge.
type model struct {
	curves
	edges     []edge
	delay     []float64 // of each edge, added to the law's zero
	points    []point
	sigma     []float64 // of each column: wander, fractional frequency per square root of a second
	noise     float64   // of a window's minimum times the square root of the time between them: ns·s, see characteristic
	solver    solver
	stretches [][]bend    // of each column
	limits    [][]float64 // of its stiffness, by knot; nil for none
	scratch   []float64
	rates     []float64 // scratch: first and second derivative of each point
	bends     []float64
	cost0     float64 // at the present x
	damping   float64 // share of a bend's safe value that it has at least; 0 takes Newton's
	exactness float64 // share of the cost below which a Newton step is not worth taking
}

// setKnots gives the curves so many knots and carries them over.
func (m *model) setKnots(knots int) {
	knots = max(knots, 3)
	old, oldKnots, oldStep := m.x, m.knots, m.step
	m.knots = knots
	m.step = (m.last - m.first) / float64(knots-1) * (1 + 1e-9)
	m.x = make([]float64, knots*m.columns)
	for c := range m.columns {
		if old == nil {
			break
		}
		from, to := old[c*oldKnots:(c+1)*oldKnots], m.x[c*knots:(c+1)*knots]
		for k := range to {
			at := float64(k) * m.step / oldStep
			i := min(int(at), oldKnots-2)
			to[k] = from[i] + (at-float64(i))*(from[i+1]-from[i])
		}
	}
	m.solver = nil
	bending{m}.limit()
}

// excessOf returns how far a point lies above its law's zero under the given unknowns.
func (p *point) excessOf(x, delay []float64) float64 {
	g := p.base - p.zero - delay[p.edge]
	if i := p.receiver; i >= 0 {
		g -= x[i] + p.rFrac*(x[i+1]-x[i])
	}
	if i := p.sender; i >= 0 {
		g += x[i] + p.sFrac*(x[i+1]-x[i])
	}
	return g
}

// tailRoom scales the tail: beyond it the cost grows with the logarithm of the excess only, so that congestion does not
// drag the curve.
const tailRoom = 2.0

// tangents takes the logarithmic tails at the present excess: the majorise-minimise step that makes them convex.
func (m *model) tangents() {
	for i := range m.points {
		p := &m.points[i]
		p.excess = p.excessOf(m.x, m.delay)
		p.flatNow = p.flat
		if over := p.excess - p.tail; over > 0 {
			p.flatNow = p.flat / (1 + over/(tailRoom*p.tailScale))
		}
	}
}

// stiffness returns the weight of a column's squared second differences: the frequency walks by sigma per square root of a
// second, so between knots h seconds apart they have the variance sigma² h³ 2/3.
func (m *model) stiffness(column int) float64 {
	h, s := m.step*1e-9, m.sigma[column]*1e9
	return 1 / (s * s * h * h * h * 2 / 3)
}

// prior returns the stiffness of a column.
func (m *model) prior(column int) stiffness {
	s := stiffness{all: m.stiffness(column)}
	if m.limits != nil {
		s.limits = m.limits[column]
	}
	return s
}

// pin keeps each column near zero at its middle, where nothing else says which of two curves that differ by a constant is
// meant: the delays take up the difference.
const pin = 0.1

// cost returns minus the logarithm of the posterior, less constants, with the laws' scale widened by mul. On the way it
// takes the first and second derivatives of each point's part by its excess.
func (m *model) cost(x, delay []float64, mul float64) float64 {
	if len(m.rates) < len(m.points) {
		m.rates, m.bends = make([]float64, len(m.points)), make([]float64, len(m.points))
	}
	f := 0.0
	for i := range m.points {
		p := &m.points[i]
		e, s := p.excessOf(x, delay), p.width*mul
		both := p.steep + p.flatNow
		soft, below := softplus(-e / s)
		f += p.flatNow*e + both*s*soft
		m.rates[i] = p.flatNow - both*below
		bend := below * (1 - below)
		if m.damping > 0 {
			bend = max(bend, m.damping*slack(-e/s, below))
		}
		m.bends[i] = both / s * bend
	}
	for c := range m.columns {
		x := x[c*m.knots : (c+1)*m.knots]
		prior, sum := m.prior(c), 0.0
		for k := 2; k < len(x); k++ {
			d := x[k-2] - 2*x[k-1] + x[k]
			sum += prior.at(k) * d * d
		}
		f += 0.5*sum + 0.5*pin*x[len(x)/2]*x[len(x)/2]
	}
	return f
}

// firstDamping is where damping starts; what it is then follows from how far steps could be taken.
const firstDamping = 0.1

// slack returns the curvature of the parabola that touches softplus at z and lies above it everywhere (Jaakkola and Jordan
// 2000), given its derivative there. Far from zero, where softplus is straight, it keeps a step from going too far.
func slack(z, derivative float64) float64 {
	if math.Abs(z) < 1e-3 {
		return 0.25
	}
	return (derivative - 0.5) / z
}

// solver finds the Newton step.
type solver interface {
	// solve fills dx and dd with the step for the derivatives that the model's last cost left, and returns the derivative of the
	// cost along it.
	solve(m *model, dx, dd []float64) float64
	// logDet returns the logarithm of the last Hessian's determinant.
	logDet() float64
}

// newton minimises the cost with the laws' scale widened by mul.
func (m *model) newton(mul float64, most int) {
	if m.solver == nil {
		if m.columns == 1 {
			m.solver = newDirect(m)
		} else {
			m.solver = newIterative(m)
		}
	}
	n, edges := len(m.x), len(m.delay)
	if len(m.scratch) < 2*(n+edges) {
		m.scratch = make([]float64, 2*(n+edges))
	}
	dx, dd, rest := m.scratch[:n], m.scratch[n:n+edges], m.scratch[n+edges:]
	nextX, nextD := rest[:n], rest[n:n+edges]
	enough := m.exactness
	if mul > 1 { // on the way
		enough = max(enough, 1e-6)
	}
	m.damping = 0
	if m.columns > 1 {
		m.damping = firstDamping
	}
	m.cost0 = m.cost(m.x, m.delay, mul)
	for range most {
		slope := m.solver.solve(m, dx, dd)
		if -slope < enough*(1+math.Abs(m.cost0)) {
			return
		}
		moved := false
		for step := 1.0; step > 1e-9; step /= 2 {
			for i := range nextX {
				nextX[i] = m.x[i] + step*dx[i]
			}
			for i := range nextD {
				nextD[i] = m.delay[i] + step*dd[i]
			}
			if next := m.cost(nextX, nextD, mul); next <= m.cost0+1e-4*step*slope {
				switch {
				case step == 1:
					m.damping /= 10
				case step < 0.5:
					m.damping = min(10*m.damping, 1)
				}
				moved = m.cost0-next >= 0.1*enough*math.Abs(m.cost0)
				m.cost0 = next
				copy(m.x, nextX)
				copy(m.delay, nextD)
				break
			}
		}
		if !moved {
			return
		}
	}
}
