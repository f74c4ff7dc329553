package network

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// normal solves the normal equations of least squares over a graph by Gaussian elimination with pivots.
func normal(n, root int, edges []branch, r []float64) []float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n+1)
	}
	for i, e := range edges {
		m[e.a][e.a] += e.g
		m[e.b][e.b] += e.g
		m[e.a][e.b] -= e.g
		m[e.b][e.a] -= e.g
		m[e.a][n] += e.g * r[i]
		m[e.b][n] -= e.g * r[i]
	}
	clear(m[root])
	m[root][root] = 1
	for i := range n {
		p := i
		for j := i; j < n; j++ {
			if math.Abs(m[j][i]) > math.Abs(m[p][i]) {
				p = j
			}
		}
		m[i], m[p] = m[p], m[i]
		for j := range n {
			if f := m[j][i] / m[i][i]; j != i && f != 0 {
				for k := i; k <= n; k++ {
					m[j][k] -= f * m[i][k]
				}
			}
		}
	}
	y := make([]float64, n)
	for i := range y {
		y[i] = m[i][n] / m[i][i]
	}
	return y
}

func TestLeastSquaresOverTheGraphEqualsADenseSolution(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		n := rng.IntN(9) + 1
		edges, _ := offsets(rng, n, rng.IntN(14))
		for i := range edges { // bounds that keep out of the way
			edges[i].Map.Low, edges[i].Map.High = nil, nil
		}
		tree, err := Build("least-squares", n, edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		var branches []branch
		var ahead []float64
		for _, e := range edges {
			branches = append(branches, branch{a: e.A, b: e.B, g: 1 / (e.Weight * e.Weight)})
			ahead = append(ahead, float64(e.Map.At(0)))
		}
		for c, want := range normal(n, tree.References[0], branches, ahead) {
			for _, at := range []clock.HostTime{0, 1e9, -1e15} {
				if got := float64(int64(tree.Maps[c].At(at)) - int64(at)); math.Abs(got-want) > 1 {
					t.Fatalf("clock %d is corrected by %g at %d, want %g", c, got, at, want)
				}
			}
		}
	})
}

func TestWeightsFarApartCostNoMoreThanAMillionthOfTheWeakOne(t *testing.T) {
	// A tight cluster that disagrees within itself hangs on the reference by one weak link: by what the link says.
	line := func(by clock.HostTime) clock.PairMap { return clock.PairMap{Mid: clock.PairCurve{{X: 0, Y: by}}} }
	for _, weak := range []float64{1, 1e3, 1e6, 1e9} {
		edges := []Edge{
			{A: 0, B: 1, Map: line(1000), Weight: weak}, {A: 1, B: 2, Map: line(10), Weight: 1},
			{A: 2, B: 3, Map: line(10), Weight: 1}, {A: 3, B: 1, Map: line(10), Weight: 1},
		}
		tree, err := Build("least-squares", 4, edges, 0)
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range []int64{0, -1000, -1000, -1000} {
			if off := math.Abs(float64(tree.Maps[c].At(0) - clock.TimelineTime(want))); off > weak/1e6 {
				t.Errorf("clock %d is off by %g under a weight of %g", c, off, weak)
			}
		}
	}
}

// bent joins clocks, each a ppm faster than the one before, by estimates that err on each edge by a constant and a wave.
func bent(rng *rand.Rand, n int, pairs [][2]int, knots int) []Edge {
	const length = int64(600e9)
	var edges []Edge
	for _, p := range pairs {
		a, b := p[0], p[1]
		shift, phase := rng.NormFloat64()*1000, rng.Float64()*6
		var m clock.PairMap
		for k := range knots {
			h := clock.HostTime(length * int64(k) / int64(knots-1))
			truth := clock.HostTime(clock.MulDiv(int64(h), int64(1e6+b), int64(1e6+a), clock.Nearest))
			off := clock.HostTime(shift + 300*math.Sin(phase+float64(k)/5))
			m.Mid = append(m.Mid, clock.PairKnot{X: h, Y: truth + off})
			m.Low = append(m.Low, clock.PairKnot{X: h, Y: truth - 10_000 - clock.HostTime(rng.Int64N(5000))})
			m.High = append(m.High, clock.PairKnot{X: h, Y: truth + 10_000 + clock.HostTime(rng.Int64N(5000))})
		}
		edges = append(edges, Edge{A: a, B: b, Map: m, Weight: 1000})
	}
	return edges
}

func full(n int) (pairs [][2]int) {
	for a := range n {
		for b := range a {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

func TestClosedLoopsAverageTheErrorsOfTheEdges(t *testing.T) {
	const n = 16
	edges := bent(rand.New(rand.NewPCG(5, 6)), n, full(n), 40)
	rms := func(strategy string) float64 {
		tree, err := Build(strategy, n, edges, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for c := range n {
			for h := clock.HostTime(0); h <= 600e9; h += 7e9 {
				truth := clock.MulDiv(int64(h), 1e6, int64(1e6+c), clock.Nearest)
				d := float64(tree.Maps[c].At(h) - clock.TimelineTime(truth))
				sum += d * d
			}
		}
		return math.Sqrt(sum)
	}
	// With n clocks joined to all others an edge's error is averaged over n/2 paths.
	if tree, graph := rms("clement"), rms("least-squares"); graph > tree/2 {
		t.Errorf("error %g over the graph, %g along the tree", graph, tree)
	}
}

func TestLeastSquaresStaysWithinTheBounds(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w := quietWorld(rng, rng.IntN(6)+3, rng.IntN(9)+3)
		tree, err := Build("least-squares", len(w.clocks), w.edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		for c, m := range tree.Maps {
			for _, k := range m.Mid {
				if low, high, _, _ := m.Bounds(k.X); k.Y < low || k.Y > high {
					t.Fatalf("clock %d at %d outside [%d %d]", c, k.Y, low, high)
				}
			}
		}
	})
}

func TestRatesStayAboveOneHalfAndAsTheyWere(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		var c clock.Curve
		at := clock.HostTime(rng.Int64N(1000))
		for range rng.IntN(8) + 1 {
			c = append(c, clock.Knot{X: at, Y: clock.TimelineTime(at) + clock.TimelineTime(rng.Int64N(60)) - 30})
			at += clock.HostTime(2 + rng.Int64N(40))
		}
		was := append(clock.Curve(nil), c...)
		good := true
		for i := 1; i < len(c); i++ {
			good = good && 2*int64(c[i].Y-c[i-1].Y) >= int64(c[i].X-c[i-1].X)+2
		}
		r := rising(c)
		for i := range r {
			if good && r[i] != was[i] {
				t.Fatalf("%v became %v", was, r)
			}
			if i > 0 && 2*int64(r[i].Y-r[i-1].Y) < int64(r[i].X-r[i-1].X)-2 {
				t.Fatalf("%v became %v", was, r)
			}
		}
	})
}
