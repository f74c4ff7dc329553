package envelope

import (
	"math"
	"runtime"
	"sync"
)

// iterative solves for many curves by conjugate gradients. The delays are eliminated: each is the weighted mean of its
// edge's points, so that eliminating it is taking that mean out. What is left is preconditioned by the curves' own bands,
// as if all other clocks stood still, and by the band of the movement that all clocks share, which messages hardly resist
// and which would otherwise take hundreds of steps. A step costs one pass over the points and over the knots.
//
// Points and columns are worked on in parallel, in groups whose number does not depend on that of processors: sums are
// taken in the same order everywhere.
type iterative struct {
	bands                 []band
	shared                band
	common                []float64
	gradient              []float64
	slope, curve          []float64 // first and second derivative by each delay
	residual, z, along, q []float64
	springs               []spring
	starts                []int // of each edge among the springs, and the end
	groups                [groups]group
	exactness, negligible float64
}

// spring is what a point does to the curves: it pulls at two stamps with bend times what they are apart.
type spring struct {
	sender, receiver int32
	sFrac, rFrac     float64
	bend, rate       float64
}

// groups is how many parts the edges are worked on in.
const groups = 8

type group struct {
	from, to int       // edges
	q        []float64 // its share of a product
	pull     []float64 // of its springs
}

func newIterative(m *model) *iterative {
	n := len(m.x)
	s := &iterative{bands: make([]band, m.columns), gradient: make([]float64, n), exactness: exactness, negligible: negligible}
	for c := range s.bands {
		s.bands[c] = make(band, m.knots)
	}
	s.shared, s.common = make(band, m.knots), make([]float64, m.knots)
	s.slope, s.curve = make([]float64, len(m.delay)), make([]float64, len(m.delay))
	s.residual, s.z, s.along, s.q = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for g := range s.groups {
		s.groups[g].q = make([]float64, n)
	}
	return s
}

// logDet is not known to conjugate gradients.
func (s *iterative) logDet() float64 { return math.NaN() }

const (
	maxSteps = 300
	// exactness of a Newton step: by how much the square of the error, in nats, must fall; the next step corrects the
	// rest. What is negligible is so beside the width of the posterior.
	exactness  = 1e-3
	negligible = 1e-2
)

func (s *iterative) solve(m *model, dx, dd []float64) float64 {
	s.derive(m)
	for e := range s.slope {
		dd[e] = -s.slope[e] / s.curve[e]
	}
	// The right side, after eliminating the delays.
	s.scatter(m, func(e int, springs []spring, pull []float64) {
		for i := range springs {
			pull[i] = -springs[i].bend * dd[e]
		}
	})
	for i := range s.residual {
		s.residual[i] = -s.gradient[i] - s.q[i]
		dx[i] = 0
	}
	s.precondition(m)
	copy(s.along, s.z)
	rz := dot(s.residual, s.z)
	for goal, step := max(rz*s.exactness, s.negligible), 0; step < maxSteps && rz > goal; step++ {
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
	down := dot(s.gradient, dx)
	for e := range dd {
		sum := 0.0
		for i := s.starts[e]; i < s.starts[e+1]; i++ {
			sum += s.springs[i].bend * s.springs[i].shift(dx)
		}
		dd[e] += sum / s.curve[e]
		down += dd[e] * s.slope[e]
	}
	return down
}

// shift returns by how much a step of the curves raises a point's excess.
func (p *spring) shift(v []float64) float64 {
	g := 0.0
	if i := p.receiver; i >= 0 {
		g -= v[i] + p.rFrac*(v[i+1]-v[i])
	}
	if i := p.sender; i >= 0 {
		g += v[i] + p.sFrac*(v[i+1]-v[i])
	}
	return g
}

// each runs a function for every number below n, a few at a time.
func each(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 {
		for i := range n {
			f(i)
		}
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wait.Wait()
}

// scatter sets q to the sum of what all springs pull with, at the knots beside their stamps; pull says how much, edge by
// edge.
func (s *iterative) scatter(m *model, pull func(e int, springs []spring, pull []float64)) {
	each(groups, func(n int) {
		g := &s.groups[n]
		clear(g.q)
		for e := g.from; e < g.to; e++ {
			springs := s.springs[s.starts[e]:s.starts[e+1]]
			if len(g.pull) < len(springs) {
				g.pull = make([]float64, len(springs))
			}
			pull(e, springs, g.pull)
			for i := range springs {
				p, f := &springs[i], g.pull[i]
				if k := p.receiver; k >= 0 {
					g.q[k] -= f * (1 - p.rFrac)
					g.q[k+1] -= f * p.rFrac
				}
				if k := p.sender; k >= 0 {
					g.q[k] += f * (1 - p.sFrac)
					g.q[k+1] += f * p.sFrac
				}
			}
		}
	})
	each(m.columns, func(c int) {
		for k := c * m.knots; k < (c+1)*m.knots; k++ {
			sum := 0.0
			for n := range s.groups {
				sum += s.groups[n].q[k]
			}
			s.q[k] = sum
		}
	})
}

// multiply sets q to the Hessian, less the delays' part, times along.
func (s *iterative) multiply(m *model) {
	s.scatter(m, func(e int, springs []spring, pull []float64) {
		mean := 0.0
		for i := range springs {
			pull[i] = springs[i].bend * springs[i].shift(s.along)
			mean += pull[i]
		}
		mean /= s.curve[e]
		for i := range springs {
			pull[i] -= springs[i].bend * mean
		}
	})
	each(m.columns, func(c int) {
		x, q := s.along[c*m.knots:(c+1)*m.knots], s.q[c*m.knots:(c+1)*m.knots]
		for k := range q {
			q[k] += 1e-12 * x[k]
		}
		q[len(q)/2] += pin * x[len(q)/2]
		prior := m.prior(c)
		for k := 2; k < len(x); k++ {
			d := prior.at(k) * (x[k-2] - 2*x[k-1] + x[k])
			q[k-2] += d
			q[k-1] -= 2 * d
			q[k] += d
		}
	})
}

// derive takes gradient, the delays' derivatives, and the bands.
func (s *iterative) derive(m *model) {
	s.gather(m)
	clear(s.slope)
	for e := range s.curve {
		s.curve[e] = 1e-12
		for _, p := range s.springs[s.starts[e]:s.starts[e+1]] {
			s.slope[e] -= p.rate
			s.curve[e] += p.bend
		}
	}
	s.scatter(m, func(_ int, springs []spring, pull []float64) {
		for i := range springs {
			pull[i] = springs[i].rate
		}
	})
	copy(s.gradient, s.q)
	for c := range s.bands {
		part := s.gradient[c*m.knots : (c+1)*m.knots]
		s.bands[c].smoothness(m.prior(c), m.x[c*m.knots:(c+1)*m.knots], part)
	}
	own := func(at int32, f, bend float64) {
		b := s.bands[int(at)/m.knots]
		k := int(at) % m.knots
		b[k][2] += bend * (1 - f) * (1 - f)
		b[k+1][1] += bend * f * (1 - f)
		b[k+1][2] += bend * f * f
	}
	for i := range s.springs {
		p := &s.springs[i]
		if p.receiver >= 0 {
			own(p.receiver, p.rFrac, p.bend)
		}
		if p.sender >= 0 {
			own(p.sender, p.sFrac, p.bend)
		}
	}
	s.share(m)
	each(m.columns, func(c int) { s.bands[c].factor() })
}

// gather takes from the points what the steps need, edge by edge, and divides the edges into groups of about as many.
func (s *iterative) gather(m *model) {
	s.springs = s.springs[:0]
	s.starts = append(s.starts[:0], 0)
	for i := range m.points {
		p := &m.points[i]
		for len(s.starts) <= int(p.edge) {
			s.starts = append(s.starts, len(s.springs))
		}
		s.springs = append(s.springs, spring{p.sender, p.receiver, p.sFrac, p.rFrac, m.bends[i], m.rates[i]})
	}
	for len(s.starts) <= len(m.delay) {
		s.starts = append(s.starts, len(s.springs))
	}
	e := 0
	for n := range s.groups {
		g := &s.groups[n]
		g.from = e
		for e < len(m.delay) && (n == groups-1 || s.starts[e+1] <= len(s.springs)*(n+1)/groups) {
			e++
		}
		g.to = e
	}
}

// resistance is the share of the clocks' own bands that stands for what messages resist to a movement of all clocks: as
// much as delays are shorter than the spacing of knots.
const resistance = 1e-5

// share takes the band of the movement shared by all clocks: their priors, and a little of everything else.
func (s *iterative) share(m *model) {
	total := stiffness{all: math.Inf(1), limits: make([]float64, m.knots)}
	for c := range m.columns {
		prior := m.prior(c)
		for k := range total.limits {
			total.limits[k] += prior.at(k)
		}
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

// precondition sets z to the residual as each clock's own band and the shared one see it.
func (s *iterative) precondition(m *model) {
	clear(s.common)
	for c := range s.bands {
		for k, v := range s.residual[c*m.knots : (c+1)*m.knots] {
			s.common[k] += v
		}
	}
	s.shared.solve(s.common)
	each(m.columns, func(c int) {
		part := s.z[c*m.knots : (c+1)*m.knots]
		copy(part, s.residual[c*m.knots:(c+1)*m.knots])
		s.bands[c].solve(part)
		for k, v := range s.common {
			part[k] += v
		}
	})
}
