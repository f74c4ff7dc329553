package envelope

import "math"

// iterative solves for many curves by conjugate gradients. The delays are eliminated: each is the weighted mean of its
// edge's points, so that eliminating it is taking that mean out. What is left is preconditioned by the curves' own bands,
// as if all other clocks stood still, and by the band of the movement that all clocks share, which messages hardly resist
// and which would otherwise take hundreds of steps. A step costs one pass over the points and over the knots.
type iterative struct {
	bands                 []band
	shared                band
	common                []float64
	gradient              []float64
	slope, curve          []float64 // first and second derivative by each delay
	residual, z, along, q []float64
	mean                  []float64
	pull                  []float64 // of each point
}

func newIterative(m *model) *iterative {
	n := len(m.x)
	s := &iterative{bands: make([]band, m.columns), gradient: make([]float64, n)}
	for c := range s.bands {
		s.bands[c] = make(band, m.knots)
	}
	s.shared, s.common = make(band, m.knots), make([]float64, m.knots)
	s.slope, s.curve, s.mean = make([]float64, len(m.delay)), make([]float64, len(m.delay)), make([]float64, len(m.delay))
	s.residual, s.z, s.along, s.q = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	return s
}

// logDet is not known to conjugate gradients.
func (s *iterative) logDet() float64 { return math.NaN() }

const (
	mostSteps = 300
	// exactness of a Newton step: by how much the square of the error, in nats, must fall; the next step corrects the
	// rest. What is negligible is so beside the width of the posterior.
	exactness  = 1e-4
	negligible = 1e-2
)

func (s *iterative) solve(m *model, dx, dd []float64) float64 {
	if len(s.pull) < len(m.points) {
		s.pull = make([]float64, len(m.points))
	}
	s.derive(m)
	for e := range s.slope {
		dd[e] = -s.slope[e] / s.curve[e]
	}
	// The right side, after eliminating the delays.
	copy(s.residual, s.gradient)
	for i := range m.points {
		s.pull[i] = 0
		if p := &m.points[i]; !p.hard {
			s.pull[i] = -m.bends[i] * dd[p.edge]
		}
	}
	s.spread(m, s.residual, s.pull)
	for i := range s.residual {
		s.residual[i] = -s.residual[i]
		dx[i] = 0
	}
	s.precondition(m)
	copy(s.along, s.z)
	rz := dot(s.residual, s.z)
	for goal, step := max(rz*exactness, negligible), 0; step < mostSteps && rz > goal; step++ {
		s.multiply(m)
		curvature := dot(s.along, s.q)
		if curvature <= 0 {
			break
		}
		length := rz / curvature
		for i := range dx {
			dx[i] += length * s.along[i]
			s.residual[i] -= length * s.q[i]
		}
		s.precondition(m)
		next := dot(s.residual, s.z)
		for i := range s.along {
			s.along[i] = s.z[i] + next/rz*s.along[i]
		}
		rz = next
	}
	// Each delay follows.
	clear(s.mean)
	for i := range m.points {
		if p := &m.points[i]; !p.hard {
			s.mean[p.edge] += m.bends[i] * p.shiftOf(dx)
		}
	}
	down := dot(s.gradient, dx)
	for e := range dd {
		dd[e] += s.mean[e] / s.curve[e]
		down += dd[e] * s.slope[e]
	}
	return down
}

// shiftOf returns by how much a step of the curves raises a point's excess.
func (p *point) shiftOf(v []float64) float64 {
	g := 0.0
	if i := p.receiver; i >= 0 {
		g -= v[i] + p.rFrac*(v[i+1]-v[i])
	}
	if i := p.sender; i >= 0 {
		g += v[i] + p.sFrac*(v[i+1]-v[i])
	}
	return g
}

// spread adds to v what each point pulls with, at the knots beside it.
func (s *iterative) spread(m *model, v, pull []float64) {
	for i := range m.points {
		p, f := &m.points[i], pull[i]
		if k := p.receiver; k >= 0 {
			v[k] -= f * (1 - p.rFrac)
			v[k+1] -= f * p.rFrac
		}
		if k := p.sender; k >= 0 {
			v[k] += f * (1 - p.sFrac)
			v[k+1] += f * p.sFrac
		}
	}
}

// derive takes gradient, the delays' derivatives, and the bands.
func (s *iterative) derive(m *model) {
	clear(s.gradient)
	clear(s.slope)
	for e := range s.curve {
		s.curve[e] = 1e-12
	}
	for c := range s.bands {
		part := s.gradient[c*m.knots : (c+1)*m.knots]
		s.bands[c].smoothness(m.stiffness(c), m.x[c*m.knots:(c+1)*m.knots], part)
	}
	own := func(at int32, f, bend float64) {
		b := s.bands[int(at)/m.knots]
		k := int(at) % m.knots
		b[k][2] += bend * (1 - f) * (1 - f)
		b[k+1][1] += bend * f * (1 - f)
		b[k+1][2] += bend * f * f
	}
	for i := range m.points {
		p, bend := &m.points[i], m.bends[i]
		if p.receiver >= 0 {
			own(p.receiver, p.rFrac, bend)
		}
		if p.sender >= 0 {
			own(p.sender, p.sFrac, bend)
		}
		if !p.hard {
			s.slope[p.edge] -= m.rates[i]
			s.curve[p.edge] += bend
		}
	}
	s.spread(m, s.gradient, m.rates)
	s.share(m)
	for _, b := range s.bands {
		b.factor()
	}
}

// resistance is the share of the clocks' own bands that stands for what messages resist to a movement of all clocks: as
// much as delays are shorter than the spacing of knots.
const resistance = 1e-5

// share takes the band of the movement shared by all clocks: their priors, and a little of everything else.
func (s *iterative) share(m *model) {
	total := 0.0
	for c := range m.columns {
		total += m.stiffness(c)
	}
	clear(s.common)
	s.shared.smoothness(total, s.common, s.common)
	for _, b := range s.bands {
		for k := range b {
			s.shared[k][2] += resistance * b[k][2]
		}
	}
	s.shared.factor()
}

func (s *iterative) precondition(m *model) {
	copy(s.z, s.residual)
	clear(s.common)
	for c, b := range s.bands {
		part := s.z[c*m.knots : (c+1)*m.knots]
		for k, v := range part {
			s.common[k] += v
		}
		b.solve(part)
	}
	s.shared.solve(s.common)
	for c := range s.bands {
		for k, v := range s.common {
			s.z[c*m.knots+k] += v
		}
	}
}

// multiply sets q to the Hessian, less the delays' part, times along.
func (s *iterative) multiply(m *model) {
	for c := range s.bands {
		x, q := s.along[c*m.knots:(c+1)*m.knots], s.q[c*m.knots:(c+1)*m.knots]
		for k := range q {
			q[k] = 1e-12 * x[k]
		}
		q[len(q)/2] += pin * x[len(q)/2]
		stiffness := m.stiffness(c)
		for k := 2; k < len(x); k++ {
			d := stiffness * (x[k-2] - 2*x[k-1] + x[k])
			q[k-2] += d
			q[k-1] -= 2 * d
			q[k] += d
		}
	}
	clear(s.mean)
	for i := range m.points {
		p := &m.points[i]
		s.pull[i] = m.bends[i] * p.shiftOf(s.along)
		if !p.hard {
			s.mean[p.edge] += s.pull[i]
		}
	}
	for e := range s.mean {
		s.mean[e] /= s.curve[e]
	}
	for i := range m.points {
		if p := &m.points[i]; !p.hard {
			s.pull[i] -= m.bends[i] * s.mean[p.edge]
		}
	}
	s.spread(m, s.q, s.pull)
}
