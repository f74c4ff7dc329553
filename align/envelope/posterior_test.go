package envelope

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestShapesAreOrthogonalAndOfUnitPower(t *testing.T) {
	const n = 20_000
	var products [1 + modes][1 + modes]float64
	for k := range n {
		s := shapesAt((float64(k) + 0.5) / n)
		for i := range s {
			for j := range s {
				products[i][j] += s[i] * s[j] / n
			}
		}
	}
	for i := range products {
		for j, got := range products[i] {
			want := 0.0
			if i == j {
				want = 1
				if i == 0 { // the slope goes from -1 to 1
					want = 1.0 / 3
				}
			}
			if math.Abs(got-want) > 2e-3 {
				t.Errorf("shapes %d and %d: %g, want %g", i, j, got, want)
			}
		}
	}
}

func TestRandomWalkOfFrequencyHasTheCoefficientsOfItsModes(t *testing.T) {
	const walks, steps, seconds, sigma = 400, 1000, 50.0, 1e-9
	random := rand.New(rand.NewPCG(3, 4))
	var power [modes]float64
	for range walks {
		var c [modes]float64
		rate, x := 0.0, 0.0
		for k := range steps {
			rate += sigma * math.Sqrt(seconds/steps) * random.NormFloat64()
			x += rate * 1e9 * seconds / steps
			s := shapesAt((float64(k) + 0.5) / steps)
			for j := range c {
				c[j] += s[1+j] * x / steps
			}
		}
		for j, v := range c {
			power[j] += v * v / walks
		}
	}
	for j, got := range power {
		want := math.Pow(sigma*1e9*math.Pow(seconds, 1.5)/square(modeNumber(j)), 2)
		if math.Abs(got/want-1) > 0.3 {
			t.Errorf("mode %d: variance %.3g, want %.3g", j, got, want)
		}
	}
}

func TestLawOfAWayIsADensity(t *testing.T) {
	for _, law := range [][3]float64{{20_000, 1, 20}, {5000, 3, 50}, {10_000, 1.5, 2}} {
		// The probability of one message at a gap above the floor, summed over all gaps.
		w := &way{sign: 1, total: 1, near: 1000, excesses: []excess{{weight: 1}}, moved: make([]float64, 1)}
		prior := square(math.Log(law[1]/usualShape)/shapeWidth)/2 + square(math.Log(law[2]/usualTail)/tailWidth)/2
		sum := 0.0
		const step = 0.01
		for u := -5.0; u < 30; u += step { // of the gap's logarithm
			gap := math.Exp(u)
			x := []float64{math.Log1p(gap / w.near), math.Log(law[0]), math.Log(law[1]), math.Log(law[2])}
			cost, floor := w.unlikely(x, new(shapes))
			if math.Abs(floor+gap) > 1e-6*gap {
				t.Fatalf("gap %g: floor %g", gap, floor)
			}
			sum += math.Exp(prior-cost-x[0]) * gap * step
		}
		if math.Abs(sum-1) > 0.01 {
			t.Errorf("%v: the probabilities sum to %.4f", law, sum)
		}
	}
}

func TestFastLogIsTheLogarithm(t *testing.T) {
	for x := 1e-12; x < 1e18; x *= 1.0137 {
		if d := math.Abs(fastLog(x) - math.Log(x)); d > 1e-7 {
			t.Fatalf("log %g is off by %g", x, d)
		}
	}
}

func TestWalkDrawsFromTheDistribution(t *testing.T) {
	// Two unknowns of deviations 1 and 100, correlated by 0.9, about 5 and -300.
	unlikely := func(x []float64, to *place) float64 {
		to.level, to.shapes[0] = x[0], x[1]
		a, b := x[0]-5, (x[1]+300)/100
		return (a*a - 2*0.9*a*b + b*b) / (2 * (1 - 0.81))
	}
	var n, sum, squares, product float64
	walk(unlikely, []float64{0, 0}, []float64{0.1, 1}, func(p *place) {
		a, b := p.level-5, (p.shapes[0]+300)/100
		n, sum, squares, product = n+1, sum+a, squares+b*b, product+a*b
	})
	if math.Abs(sum/n) > 0.3 || math.Abs(squares/n-1) > 0.35 || math.Abs(product/n-0.9) > 0.35 {
		t.Errorf("mean %.2f, variance %.2f, covariance %.2f of %g draws; want 0, 1, 0.9", sum/n, squares/n, product/n, n)
	}
}

func TestDelaysThatAreAlikeCountOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var alone, runs []excess
	for i := range 4000 {
		q := random.ExpFloat64()
		alone = append(alone, excess{at: float64(i), residual: q})
		for k := range 10 {
			runs = append(runs, excess{at: float64(10*i + k), residual: q + 1e-6*float64(k)})
		}
	}
	if got := correlationTime(alone); got > 1.3 {
		t.Errorf("independent delays count %.2f times", got)
	}
	if got := correlationTime(runs); got < 7 || got > 13 {
		t.Errorf("ten delays that are alike count once in %.1f", got)
	}
}

func TestBendsAreTheVarianceBesideTheSlowPart(t *testing.T) {
	// The inverse of the band, dense, on the space on which level, slope and modes are zero.
	const n, all = 24, 2 + modes
	random := rand.New(rand.NewPCG(7, 8))
	s := &direct{hessian: make(band, n)}
	s.hessian.smoothness(stiffness{all: 3}, make([]float64, n), make([]float64, n))
	dense := make([]float64, n*n)
	for i := range n {
		s.hessian[i][2] += 0.1 + random.Float64()
		for d := range 3 {
			if k := i - 2 + d; k >= 0 {
				dense[i*n+k] = s.hessian[i][d]
			}
		}
	}
	// A great weight on the slow part holds it at zero.
	const weight = 1e9
	for i := range n {
		for k := range i + 1 {
			a, b := shapesAt(float64(i)/(n-1)), shapesAt(float64(k)/(n-1))
			sum := 1.0
			for j := range a {
				sum += a[j] * b[j]
			}
			dense[i*n+k] += weight * sum
		}
	}
	held := append([]float64(nil), dense...)
	cholesky(held, n)
	s.hessian.factor()
	for i, got := range s.bends() {
		column := make([]float64, n)
		column[i] = 1
		choleskySolve(held, n, column)
		if math.Abs(got-column[i]) > 1e-3*math.Max(column[i], 1e-3) {
			t.Errorf("knot %d: %g, want %g", i, got, column[i])
		}
	}
}
