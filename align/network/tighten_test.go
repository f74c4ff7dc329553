package network

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
)

// draw returns the source of a world's accidents.
func draw(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) }

func TestBoundsOfEveryStrategyHoldTheTruthWhereThoseOfThePairsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := draw(t)
		make := rapid.SampledFrom([]func(*rand.Rand, int, int) *world{wildWorld, quietWorld}).Draw(t, "world")
		w := make(rng, rng.IntN(6)+2, rng.IntN(8))
		for _, s := range Strategies() {
			tree, err := Build(s, len(w.clocks), w.edges, rng.IntN(len(w.clocks)+1)-1)
			if err != nil {
				t.Fatal(err)
			}
			if len(tree.Contradictions) > 0 {
				t.Fatalf("%s: %v", s, tree.Contradictions)
			}
			for range 30 {
				c := rng.IntN(len(w.clocks))
				h := w.somewhere(rng, c)
				w.hold(t, s, c, tree.References[0], h, &tree.Maps[c])
			}
			for c, m := range tree.Maps {
				if err := m.Mid.Check(); err != nil {
					t.Fatalf("%s: clock %d: %v", s, c, err)
				}
			}
		}
	})
}

func (w *world) hold(t *rapid.T, name string, c, reference int, h clock.HostTime, m *clock.Map) {
	t.Helper()
	truth := w.truth(c, reference, h)
	low, high, lowOK, highOK := m.Bounds(h)
	if lowOK && truth.Cmp(new(big.Rat).SetInt64(int64(low))) < 0 || highOK && truth.Cmp(new(big.Rat).SetInt64(int64(high))) > 0 {
		f, _ := truth.Float64()
		t.Fatalf("%s: clock %d at %d: truth %f (%d from low, %d to high)", name, c, h, f, int64(clock.TimelineTime(f)-low), high-clock.TimelineTime(f))
	}
}

// paths calls visit with the extreme reading of every clock over every simple path, the bounds inverted by bisection.
func (w *world) paths(at int, value clock.HostTime, up bool, seen []bool, visit func(c int, v clock.HostTime)) {
	visit(at, value)
	seen[at] = true
	for _, e := range w.edges {
		along, against := e.Map.High, e.Map.Low
		if !up {
			along, against = against, along
		}
		switch {
		case e.A == at && !seen[e.B] && along != nil:
			r := clock.Up
			if !up {
				r = clock.Down
			}
			w.paths(e.B, along.At(value, r), up, seen, visit)
		case e.B == at && !seen[e.A] && against != nil:
			w.paths(e.A, bisect(against, value, up), up, seen, visit)
		}
	}
	seen[at] = false
}

// best returns the extreme of what paths visits for each clock, and which clocks it visits.
func (w *world) best(root int, at clock.HostTime, up bool) (reading []clock.HostTime, reached []bool) {
	reading, reached = make([]clock.HostTime, len(w.clocks)), make([]bool, len(w.clocks))
	w.paths(root, at, up, make([]bool, len(w.clocks)), func(c int, v clock.HostTime) {
		if !reached[c] || (v < reading[c]) == up {
			reading[c], reached[c] = v, true
		}
	})
	return reading, reached
}

// bisect returns the greatest x, rounded up, at which c is not above v, or the least, rounded down, at which it is not
// below.
func bisect(c clock.PairCurve, v clock.HostTime, up bool) clock.HostTime {
	want := new(big.Rat).SetInt64(int64(v))
	value := func(x clock.HostTime) int { return exact(c, new(big.Rat).SetInt64(int64(x))).Cmp(want) }
	low, high := c[0].X-1<<45, c[len(c)-1].X+1<<45 // c is below v at low and above at high
	for high-low > 1 {
		mid := low + clock.HostTime(int64(high-low)/2)
		if s := value(mid); s < 0 || up && s == 0 {
			low = mid
		} else {
			high = mid
		}
	}
	switch {
	case up && value(low) == 0:
		return low
	case up:
		return high
	case value(high) == 0:
		return high
	}
	return low
}

func TestTightestReadingIsTheBestOfAllPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w := risingWorld(rng, rng.IntN(4)+2, rng.IntN(3), 1)
		g, err := newGraph(len(w.clocks), w.edges)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []clock.Rounding{clock.Up, clock.Down} {
			root := rng.IntN(len(w.clocks))
			x := newRelaxer(g, r)
			x.start(root)
			at := w.somewhere(rng, root)
			for range 2 {
				if l := x.relax(at); l != nil {
					t.Fatalf("a loop %v by %d among bounds that hold the truth", l.clocks, l.by)
				}
				best, reached := w.best(root, at, r == clock.Up)
				if !slices.Equal(reached, x.reached) {
					t.Fatalf("reached %v, want %v", x.reached, reached)
				}
				for c, v := range best {
					if reached[c] && x.value[c] != v {
						t.Fatalf("from %d rounded %d: clock %d at %d, the best path says %d", root, r, c, x.value[c], v)
					}
				}
				at += clock.HostTime(rng.Int64N(1 << rng.IntN(40)))
			}
		}
	})
}

// quietTree makes a quiet world of so many clocks, and the graph and the tree over which its bounds are combined.
func quietTree(t *rapid.T, rng *rand.Rand, clocks int) (*world, *graph, *Tree) {
	w := quietWorld(rng, clocks, rng.IntN(8))
	g, err := newGraph(len(w.clocks), w.edges)
	if err != nil {
		t.Fatal(err)
	}
	return w, g, clement(g, -1)
}

func TestBoundsAreThoseOfTheBestPathsAtEveryInstantLookedAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w, g, tree := quietTree(t, rng, rng.IntN(5)+2)
		s := Sampling{Instants: rng.IntN(40) + 1}
		maps, _ := g.tighten(tree, s)
		root := tree.References[0]
		for _, at := range g.instants(tree, 0, s) {
			for _, up := range []bool{true, false} {
				best, _ := w.best(root, clock.HostTime(at), up)
				for c, v := range best {
					low, high, _, _ := maps[c].Bounds(v)
					at := clock.TimelineTime(at)
					if up && (low > at || low < at-2) || !up && (high < at || high > at+2) {
						t.Fatalf("clock %d reads %d at %d at the extreme (up: %v), bounds there [%d %d]", c, v, at, up, int64(low-at), int64(high-at))
					}
				}
			}
		}
	})
}

func TestBoundsAllowWhatAllPathsAllowBetweenTheInstantsToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w, g, tree := quietTree(t, rng, rng.IntN(4)+2)
		maps, _ := g.tighten(tree, Sampling{Instants: rng.IntN(3) + 1})
		root := tree.References[0]
		for range 5 {
			at := w.somewhere(rng, root)
			for _, up := range []bool{true, false} {
				best, _ := w.best(root, at, up)
				rounded := clock.TimelineTime(len(w.clocks)) // at most, on the way
				for c, v := range best {
					low, high, _, _ := maps[c].Bounds(v)
					at := clock.TimelineTime(at)
					if up && low > at+rounded || !up && high < at-rounded {
						t.Fatalf("clock %d may read %d at %d (the most: %v), bounds there [%d %d]", c, v, at, up, int64(low-at), int64(high-at))
					}
				}
			}
		}
	})
}

func TestContradictoryLoopIsNamedWithItsExtent(t *testing.T) {
	// 0 -> 1 -> 2 -> 0 says that each is 100 ns ahead of the one before, give or take one.
	edges := []Edge{
		{A: 0, B: 1, Map: shifted(100), Weight: 1}, {A: 1, B: 2, Map: shifted(100), Weight: 1}, {A: 2, B: 0, Map: shifted(100), Weight: 1},
		{A: 3, B: 4, Map: shifted(7), Weight: 1}, {A: 2, B: 5, Map: shifted(7), Weight: 1},
	}
	for _, s := range []string{"clement", "hofmann-hilgers", "duda", "least-squares"} {
		tree, err := Build(s, 6, edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := Tighten(edges, tree, Sampling{})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].By != 297 {
			t.Fatalf("%s: found %v, want one loop that lacks 297 ns", s, found)
		}
		if c := slices.Clone(found[0].Clocks); c[0] != 0 || len(c) != 3 || c[1]+c[2] != 3 {
			t.Errorf("%s: the loop goes over %v", s, c)
		}
		if s != "clement" && len(tree.Contradictions) != 1 {
			t.Errorf("%s does not tell of the contradiction", s)
		}
		if err, ok := tree.Maps[3].Error(0); !ok || err > 1 {
			t.Errorf("%s: the component without a contradiction has the bound %d", s, err)
		}
		if _, ok := tree.Maps[5].Error(0); !ok {
			t.Errorf("%s: the tree's bounds are gone", s)
		}
	}
}

func TestEveryNegativeLoopIsFoundAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := draw(t)
		n := rng.IntN(6) + 2
		const none = int64(1) << 50
		ahead := make([][]int64, n) // the most that j can be ahead of i
		for i := range ahead {
			ahead[i] = slices.Repeat([]int64{none}, n)
			ahead[i][i] = 0
		}
		var edges []Edge
		add := func(a, b int) {
			low := rng.Int64N(40) - 30
			high := low + rng.Int64N(40)
			line := func(by int64) clock.PairCurve { return clock.PairCurve{{X: 0, Y: clock.HostTime(by)}} }
			edges = append(edges, Edge{A: a, B: b, Map: clock.PairMap{Mid: line(low), Low: line(low), High: line(high)}, Weight: 1})
			ahead[a][b], ahead[b][a] = min(ahead[a][b], high), min(ahead[b][a], -low)
		}
		for i := range n - 1 {
			add(i, i+1)
		}
		for range rng.IntN(6) {
			if a, b := rng.IntN(n), rng.IntN(n); a != b {
				add(a, b)
			}
		}
		impossible := false
		for k := range n { // Floyd and Warshall
			for i := range n {
				for j := range n {
					ahead[i][j] = min(ahead[i][j], ahead[i][k]+ahead[k][j])
				}
			}
		}
		for i := range n {
			impossible = impossible || ahead[i][i] < 0
		}
		tree, err := Build("duda", n, edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		if found := len(tree.Contradictions) > 0; found != impossible {
			t.Fatalf("contradictions %v, want %v", tree.Contradictions, impossible)
		}
		for _, c := range tree.Contradictions {
			if c.By <= 0 {
				t.Fatalf("%v", c)
			}
		}
		if impossible {
			return
		}
		for c := range n {
			low, high, _, _ := tree.Maps[c].Bounds(0)
			if int64(low) != -ahead[0][c] || int64(high) != ahead[c][0] {
				t.Fatalf("clock %d in [%d %d], want [%d %d]", c, low, high, -ahead[0][c], ahead[c][0])
			}
		}
	})
}

func TestMarginHoldsClocksThatWanderBetweenTheInstants(t *testing.T) {
	// The truth is a parabola; the bounds touch it wherever one looks, and lie straight between.
	const wander, length, pieces = 1e-8, clock.HostTime(600e9), 10
	bend := func(h clock.HostTime) int64 { return int64(wander * 1e-9 / 2 * float64(h) * float64(h-length)) } // wander in 1/s
	line := clock.PairCurve{}
	for h := clock.HostTime(0); h <= length; h += clock.HostTime(int64(length) / 1000) {
		line = append(line, clock.PairKnot{X: h, Y: h - clock.HostTime(bend(h))})
	}
	bounds := clock.PairMap{Mid: line}
	for _, k := range line {
		bounds.Low = append(bounds.Low, clock.PairKnot{X: k.X, Y: k.Y - 5})
		bounds.High = append(bounds.High, clock.PairKnot{X: k.X, Y: k.Y + 5})
	}
	edges := []Edge{{A: 0, B: 1, Map: bounds, Weight: 5}}
	tree, err := Build("", 2, edges, 1)
	if err != nil {
		t.Fatal(err)
	}
	margin := func(h int64) int64 { return int64(wander*1e-9/8*float64(h)*float64(h)) + 2 }
	maps, _, err := Tighten(edges, tree, Sampling{Instants: pieces, Margin: margin})
	if err != nil {
		t.Fatal(err)
	}
	tight, _, err := Tighten(edges, tree, Sampling{Instants: pieces})
	if err != nil {
		t.Fatal(err)
	}
	for h := clock.HostTime(0); h <= length; h += 1e9 {
		for name, m := range map[string]*clock.Map{"margin": &maps[0], "none": &tight[0]} {
			low, high, _, _ := m.Bounds(h)
			if at := clock.TimelineTime(h) - clock.TimelineTime(bend(h)); low > at || high < at {
				t.Fatalf("%s: truth %d outside by %d or %d", name, at, int64(low-at), int64(at-high))
			}
			if worst := margin(int64(length)/pieces)*2 + 20; int64(high-low) > worst {
				t.Fatalf("%s: bounds %d ns apart at %d, want %d at most", name, int64(high-low), h, worst)
			}
		}
	}
	if err := maps[0].Low.Check(); err != nil {
		t.Error(err)
	}
}
