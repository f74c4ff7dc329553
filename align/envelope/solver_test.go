package envelope

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// drawModel draws a model of so many clocks with points at random; curves are near zero, so that Newton's step is finite.
func drawModel(t *rapid.T, clocks int) *model {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
	m := &model{curves: curves{first: 0, last: 100e9}, exactness: 1e-9}
	for c := range clocks {
		if clocks == 2 {
			c-- // two clocks: the first is the timeline
		}
		m.column = append(m.column, c)
	}
	m.columns = clocks
	if clocks == 2 {
		m.columns = 1
	}
	for range m.columns {
		m.sigma = append(m.sigma, 1e-9*math.Exp(2*random.NormFloat64()))
	}
	m.setKnots(rapid.IntRange(3, 12).Draw(t, "knots"))
	for from := range clocks {
		for to := range clocks {
			if from != to {
				m.edges = append(m.edges, edge{from: from, to: to})
			}
		}
	}
	m.delay = make([]float64, len(m.edges))
	for e := range m.edges {
		for range 20 {
			p := point{edge: int32(e), zero: 0, width: 300, steep: 0.01, flat: 0.001, info: 1, tail: 1e5, tailScale: 1e4}
			sent := 100e9 * random.Float64()
			m.addStamps(&p, &m.edges[e], sent, min(sent+2000+3000*random.ExpFloat64(), 100e9))
			m.points = append(m.points, p)
		}
	}
	for i := range m.x {
		m.x[i] = 100 * random.NormFloat64()
	}
	for e := range m.delay {
		m.delay[e] = 2000 + 300*random.NormFloat64()
	}
	m.tangents()
	return m
}

// newtonStep is the step by a dense matrix.
func (m *model) newtonStep() []float64 {
	n := len(m.x) + len(m.delay)
	m.cost(m.x, m.delay, 1)
	gradient, hessian := make([]float64, n), make([]float64, n*n)
	row := make([]float64, n)
	for k := range m.points {
		p := &m.points[k]
		clear(row)
		if i := p.receiver; i >= 0 {
			row[i] -= 1 - p.rFrac
			row[i+1] -= p.rFrac
		}
		if i := p.sender; i >= 0 {
			row[i] += 1 - p.sFrac
			row[i+1] += p.sFrac
		}
		row[len(m.x)+int(p.edge)] = -1
		for i, v := range row {
			gradient[i] += m.rates[k] * v
			for j, w := range row {
				hessian[i*n+j] += m.bends[k] * v * w
			}
		}
	}
	for c := range m.columns {
		s := m.stiffness(c)
		for k := 2; k < m.knots; k++ {
			clear(row)
			i := c*m.knots + k
			row[i-2], row[i-1], row[i] = 1, -2, 1
			d := m.x[i-2] - 2*m.x[i-1] + m.x[i]
			for a, v := range row {
				gradient[a] += s * d * v
				for b, w := range row {
					hessian[a*n+b] += s * v * w
				}
			}
		}
		middle := c*m.knots + m.knots/2
		gradient[middle] += pin * m.x[middle]
		hessian[middle*n+middle] += pin
	}
	for i := range n {
		hessian[i*n+i] += 1e-12
	}
	cholesky(hessian, n)
	for i := range gradient {
		gradient[i] = -gradient[i]
	}
	choleskySolve(hessian, n, gradient)
	return gradient
}

func TestBothSolversTakeNewtonsStep(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		clocks := rapid.IntRange(2, 4).Draw(t, "clocks")
		m := drawModel(t, clocks)
		want := m.newtonStep()
		dx, dd := make([]float64, len(m.x)), make([]float64, len(m.delay))
		gradients := newIterative(m)
		gradients.exactness, gradients.negligible = 1e-12, 1e-9
		solvers := []solver{gradients}
		if clocks == 2 {
			solvers = append(solvers, newDirect(m))
		}
		before := m.cost(m.x, m.delay, 1)
		fall := func(dx, dd []float64) float64 { // of the cost, over a thousandth of a step
			x, d := append([]float64(nil), m.x...), append([]float64(nil), m.delay...)
			for i := range x {
				x[i] += 1e-3 * dx[i]
			}
			for i := range d {
				d[i] += 1e-3 * dd[i]
			}
			return before - m.cost(x, d, 1)
		}
		best := fall(want[:len(m.x)], want[len(m.x):])
		for _, s := range solvers {
			m.cost(m.x, m.delay, 1)
			slope := s.solve(m, dx, dd)
			if slope >= 0 {
				t.Fatalf("%T: the step leads uphill: %g", s, slope)
			}
			if got := fall(dx, dd); math.Abs(got-best) > 1e-3*best+1e-9 {
				t.Fatalf("%T: a thousandth of the step lowers the cost by %g, of the exact one by %g", s, got, best)
			}
		}
	})
}

func TestVariancesAreTheDiagonalOfTheInverse(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 20).Draw(t, "n")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 6))
		b := make(band, n)
		dense := make([]float64, n*n)
		for i := range b {
			b[i] = [3]float64{random.NormFloat64(), random.NormFloat64(), 8 + random.Float64()}
			for k := range 3 {
				if j := i - 2 + k; j >= 0 {
					dense[i*n+j] = b[i][k]
				} else {
					b[i][k] = 0
				}
			}
		}
		logBand, logDense := b.factor(), cholesky(dense, n)
		if math.Abs(logBand-logDense) > 1e-9 {
			t.Fatalf("log determinant %g, dense %g", logBand, logDense)
		}
		variances := b.variances()
		for i := range n {
			unit := make([]float64, n)
			unit[i] = 1
			choleskySolve(dense, n, unit)
			if math.Abs(variances[i]-unit[i]) > 1e-9 {
				t.Fatalf("variance %d is %g, of the dense inverse %g", i, variances[i], unit[i])
			}
		}
	})
}

func TestLevelsAreTheLeastSquaresThatKeepTheLimits(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		// Limits from delays around true levels can all be kept.
		truth := make([]float64, n)
		for i := range truth {
			truth[i] = rapid.Float64Range(-1000, 1000).Draw(t, "level")
		}
		var q quadratic
		q.n = n
		for i := range n {
			for j := range n {
				if i == j || rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					continue
				}
				q.limits = append(q.limits, limit{from: i, to: j, most: truth[j] - truth[i] + rapid.Float64Range(0, 300).Draw(t, "delay")})
				q.terms = append(q.terms, term{from: i, to: j, want: truth[j] - truth[i] + rapid.Float64Range(-500, 500).Draw(t, "off"), weight: rapid.Float64Range(0.1, 10).Draw(t, "weight")})
			}
		}
		limits := append([]limit(nil), q.limits...)
		c, short := q.solve()
		if short > 1e-3 {
			t.Fatalf("short by %g where the true levels keep all limits", short)
		}
		objective := func(c []float64) float64 {
			f := 0.0
			for _, x := range q.terms {
				d := c[x.to] - c[x.from] - x.want
				f += x.weight * d * d
			}
			return f
		}
		kept := func(c []float64, slack float64) bool {
			for _, l := range limits {
				if c[l.to]-c[l.from] > l.most+slack {
					return false
				}
			}
			return true
		}
		if !kept(c, 0.01) {
			t.Fatalf("levels %v break a limit", c)
		}
		best := objective(c)
		random := rand.New(rand.NewPCG(7, uint64(n)))
		for range 300 {
			size := math.Pow(10, 3*random.Float64()-1)
			other := append([]float64(nil), c...)
			for i := range other {
				other[i] += size * random.NormFloat64()
			}
			if kept(other, 0) && objective(other) < best*(1-1e-4)-0.5 {
				t.Fatalf("levels %v cost %g, %v cost %g", c, best, other, objective(other))
			}
		}
	})
}

func TestLoopThatCannotBeIsReportedByWhatItLacks(t *testing.T) {
	q := quadratic{n: 3, limits: []limit{{0, 1, 10}, {1, 2, 10}, {2, 0, -50}}, terms: []term{{0, 1, 10, 1}}}
	if _, short := q.solve(); math.Abs(short-10) > 0.01 {
		t.Errorf("a loop of -30 ns over three limits lacks %g each, want 10", short)
	}
}
