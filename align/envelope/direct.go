package envelope

import (
	"math"
	"slices"
)

// band is the lower half of a symmetric matrix of which only two diagonals beside the main one are not zero, by rows:
// row i holds its entries i-2, i-1 and i. factor turns it into its Cholesky factor in place.
type band [][3]float64

// ridge is added to every entry of the diagonal, so that no pivot is below it.
const ridge = 1e-12

// factor returns the logarithm of the determinant. A pivot below the ridge, as rounding can make it, is raised.
func (b band) factor() float64 {
	sum := 0.0
	for i := range b {
		r := &b[i]
		if i >= 2 {
			r[0] /= b[i-2][2]
		}
		if i >= 1 {
			r[1] = (r[1] - r[0]*b[i-1][1]) / b[i-1][2]
		}
		pivot := max(r[2]-r[0]*r[0]-r[1]*r[1], ridge)
		sum += math.Log(pivot)
		r[2] = math.Sqrt(pivot)
	}
	return sum
}

// solve replaces v by the solution, after factor.
func (b band) solve(v []float64) {
	n := len(b)
	for i := range n {
		r := &b[i]
		s := v[i]
		if i >= 1 {
			s -= r[1] * v[i-1]
		}
		if i >= 2 {
			s -= r[0] * v[i-2]
		}
		v[i] = s / r[2]
	}
	for i := n - 1; i >= 0; i-- {
		s := v[i]
		if i+1 < n {
			s -= b[i+1][1] * v[i+1]
		}
		if i+2 < n {
			s -= b[i+2][0] * v[i+2]
		}
		v[i] = s / b[i][2]
	}
}

// variances returns the diagonal of the inverse, after factor, by the recurrence of Takahashi, Fagan and Chin (1973).
func (b band) variances() []float64 {
	n := len(b)
	out := make([]float64, n)
	var next, after [3]float64 // of rows i+1 and i+2 of the inverse: its entries at the diagonal, one and two to the right
	for i := n - 1; i >= 0; i-- {
		var down, further float64 // of the factor, below its diagonal
		if i+1 < n {
			down = b[i+1][1]
		}
		if i+2 < n {
			further = b[i+2][0]
		}
		p := b[i][2]
		one := -(down*next[0] + further*next[1]) / p
		two := -(down*next[1] + further*after[0]) / p
		diagonal := (1/p - down*one - further*two) / p
		next, after = [3]float64{diagonal, one, two}, next
		out[i] = diagonal
	}
	return out
}

// smoothness fills a band with the second derivative of a column's prior and adds the gradient at x.
func (b band) smoothness(prior stiffness, x, gradient []float64) {
	for i := range b {
		b[i] = [3]float64{0, 0, ridge}
	}
	for k := 2; k < len(b); k++ {
		weight := prior.at(k)
		d := weight * (x[k-2] - 2*x[k-1] + x[k])
		gradient[k-2] += d
		gradient[k-1] -= 2 * d
		gradient[k] += d
		b[k-2][2] += weight
		b[k-1][2] += 4 * weight
		b[k][2] += weight
		b[k-1][1] -= 2 * weight
		b[k][1] -= 2 * weight
		b[k][0] += weight
	}
	middle := len(b) / 2
	gradient[middle] += pin * x[middle]
	b[middle][2] += pin
}

// direct solves for one curve and its delays exactly: a band for the curve, and the Schur complement for the few delays.
type direct struct {
	hessian  band
	gradient []float64
	coupling [][]float64 // of each delay with the curve
	shifted  [][]float64 // what a ns of each delay moves the curve by
	slope    []float64   // first and second derivative by each delay
	curve    []float64
	complete []float64 // Schur complement, dense, lower half
	log      float64
}

func newDirect(m *model) *direct {
	s := &direct{hessian: make(band, m.knots), gradient: make([]float64, m.knots)}
	s.coupling, s.shifted = make([][]float64, len(m.delay)), make([][]float64, len(m.delay))
	for i := range s.coupling {
		s.coupling[i], s.shifted[i] = make([]float64, m.knots), make([]float64, m.knots)
	}
	s.slope, s.curve = make([]float64, len(m.delay)), make([]float64, len(m.delay))
	s.complete = make([]float64, len(m.delay)*len(m.delay))
	return s
}

func (s *direct) logDet() float64 { return s.log }

func (s *direct) solve(m *model, dx, dd []float64) float64 {
	edges := len(m.delay)
	clear(s.gradient)
	s.hessian.smoothness(m.prior(0), m.x, s.gradient)
	slope, curve, shifted := s.slope, s.curve, s.shifted
	clear(slope)
	clear(curve)
	for e := range s.coupling {
		clear(s.coupling[e])
	}
	for i := range m.points {
		p := &m.points[i]
		rate, bend := m.rates[i], m.bends[i]
		k, c0, c1 := p.receiver, p.rFrac-1, -p.rFrac
		if k < 0 {
			k, c0, c1 = p.sender, 1-p.sFrac, p.sFrac
		}
		s.gradient[k] += rate * c0
		s.gradient[k+1] += rate * c1
		s.hessian[k][2] += bend * c0 * c0
		s.hessian[k+1][1] += bend * c0 * c1
		s.hessian[k+1][2] += bend * c1 * c1
		slope[p.edge] -= rate
		curve[p.edge] += bend
		v := s.coupling[p.edge]
		v[k] -= bend * c0
		v[k+1] -= bend * c1
	}
	s.log = s.hessian.factor()
	// The step of the curve is -H^-1 (g + B dd); what B dd adds is found from the delays' own system.
	for i, g := range s.gradient {
		dx[i] = -g
	}
	s.hessian.solve(dx)
	for e, b := range s.coupling {
		copy(shifted[e], b)
		s.hessian.solve(shifted[e])
		dd[e] = -slope[e] - dot(b, dx)
		for f := 0; f <= e; f++ {
			v := -dot(s.coupling[f], shifted[e])
			if e == f {
				v = (v + curve[e] + 1e-12) * (1 + 1e-9)
			}
			s.complete[e*edges+f] = v
		}
	}
	s.log += cholesky(s.complete, edges)
	choleskySolve(s.complete, edges, dd)
	down := 0.0
	for e, step := range dd {
		for i, v := range shifted[e] {
			dx[i] -= step * v
		}
		down += step * slope[e]
	}
	return down + dot(s.gradient, dx)
}

// bends returns the variance of the curve at every knot, after the last Newton step, under the condition that its slow part
// (posterior.go) is known.
func (s *direct) bends() []float64 {
	n := len(s.hessian)
	out := s.hessian.variances()
	const all = 2 + modes
	var known, moved [all][]float64
	for i := range known {
		known[i] = make([]float64, n)
	}
	for k := range n {
		known[0][k] = 1
		for j, v := range shapesAt(float64(k) / float64(n-1)) {
			known[1+j][k] = v
		}
	}
	gram := make([]float64, all*all)
	for i := range known {
		moved[i] = slices.Clone(known[i])
		s.hessian.solve(moved[i])
		for j := range i + 1 {
			gram[i*all+j] = dot(known[j], moved[i])
		}
		gram[i*all+i] *= 1 + 1e-9
	}
	cholesky(gram, all)
	v := make([]float64, all)
	for k := range out {
		for i := range v {
			v[i] = moved[i][k]
		}
		choleskySolve(gram, all, v)
		for i := range v {
			out[k] -= v[i] * moved[i][k]
		}
		out[k] = max(out[k], 0)
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// cholesky factors a dense symmetric matrix of n rows in place, by its lower half, and returns the logarithm of its
// determinant.
func cholesky(a []float64, n int) float64 {
	log := 0.0
	for i := range n {
		ri := a[i*n : i*n+n]
		for j := 0; j <= i; j++ {
			rj := a[j*n : j*n+n]
			sum := ri[j] - dot(ri[:j], rj[:j])
			if j < i {
				ri[j] = sum / rj[j]
				continue
			}
			sum = max(sum, 1e-300)
			log += math.Log(sum)
			ri[i] = math.Sqrt(sum)
		}
	}
	return log
}

// choleskySolve replaces v by the solution, after cholesky.
func choleskySolve(a []float64, n int, v []float64) {
	for i := range n {
		v[i] = (v[i] - dot(a[i*n:i*n+i], v[:i])) / a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		v[i] /= a[i*n+i]
		for j := range i {
			v[j] -= a[i*n+j] * v[i]
		}
	}
}
