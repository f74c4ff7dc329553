package network

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// draw returns the source of a world's accidents.
func draw(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) }

func TestBoundsOfEveryStrategyHoldTheTruthWhereThoseOfThePairsDo(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
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
				low, high, lowOK, highOK := tree.Maps[c].Bounds(h)
				if mid := tree.Maps[c].At(h); s != "least-squares" && tree.Tightened && (lowOK && mid < low-1 || highOK && mid > high+1) {
					t.Fatalf("%s: clock %d at %d: the estimate is outside of its bounds [%d %d]", s, c, h, int64(low-mid), int64(high-mid))
				}
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
	testseed.Check(t, func(t *rapid.T) {
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
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w, g, tree := quietTree(t, rng, rng.IntN(5)+2)
		pieces := rng.IntN(40) + 1
		maps, _ := tightening{g}.tighten(tree, []int{pieces})
		root := tree.References[0]
		for _, at := range (tightening{g}).instants(tree, 0, pieces) {
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
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w, g, tree := quietTree(t, rng, rng.IntN(4)+2)
		maps, _ := tightening{g}.tighten(tree, []int{rng.IntN(3) + 1})
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
		_, found, err := Tighten(edges, tree, nil)
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
	testseed.Check(t, func(t *rapid.T) {
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

// TestBoundsHoldClocksThatBendAndJumpBetweenTheInstants: the edges' bounds follow clocks that are set, and slewed by a twelfth of their
// rate, between instants that were asked for. Close to such a turn a few pieces are cut short, so that elsewhere bounds are as
// narrow as those of the edges, and nowhere much wider.
func TestBoundsHoldClocksThatBendAndJumpBetweenTheInstants(t *testing.T) {
	const seconds, half, pieces = 600, 30_000, 40
	rng := rand.New(rand.NewPCG(5, 6))
	// What clock c+1 is ahead of clock c: set at once by 55 µs, slewed for 0.3 s and bent; each some time apart.
	ahead := []clock.PairCurve{
		{{X: 0, Y: 7}, {X: 101_000_000_000, Y: 101_000_000_007}, {X: 101_000_000_001, Y: 101_000_055_008}, {X: seconds * 1e9, Y: seconds*1e9 + 55_007}},
		{{X: 0, Y: 0}, {X: 333_100_000_000, Y: 333_100_000_000}, {X: 333_400_000_000, Y: 333_424_900_000}, {X: seconds * 1e9, Y: seconds*1e9 + 24_900_000}},
		{{X: 0, Y: 0}, {X: 451_000_000_000, Y: 451_000_000_000}, {X: seconds * 1e9, Y: seconds*1e9 + 149*400_000}},
	}
	var edges []Edge
	for c, a := range ahead {
		var m clock.PairMap
		for _, k := range a {
			m.Low = append(m.Low, clock.PairKnot{X: k.X, Y: k.Y - half})
			m.High = append(m.High, clock.PairKnot{X: k.X, Y: k.Y + half})
		}
		m.Mid = a
		edges = append(edges, Edge{A: c, B: c + 1, Map: m, Weight: 1})
	}
	tree, err := Build("", len(ahead)+1, edges, 0)
	if err != nil {
		t.Fatal(err)
	}
	maps, bad, err := Tighten(edges, tree, []int{pieces})
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	wide := 0
	for n := range 20_000 {
		at := clock.HostTime(rng.Int64N(seconds * 1e9))
		if n%2 == 0 { // near the turns
			turn := []clock.HostTime{101_000_000_000, 333_100_000_000, 333_400_000_000, 451_000_000_000}[n/2%4]
			at = turn + clock.HostTime(rng.Int64N(1<<(1+rng.IntN(30)))-1)
		}
		reading := at
		for c := 1; c < len(maps); c++ {
			reading = ahead[c-1].At(reading, clock.Nearest)
			low, high, _, _ := maps[c].Bounds(reading)
			if truth, few := clock.TimelineTime(at), clock.TimelineTime(2*c); low > truth+few || high < truth-few {
				t.Fatalf("clock %d at %d: truth outside of [%d %d]", c, at, int64(low-truth), int64(high-truth))
			}
			if n%2 == 1 && int64(high-low) > int64(2*half*c)*21/20 {
				wide++
			}
		}
	}
	// A jump and the ends of a slew take a piece of some milliseconds each.
	if wide > 30 {
		t.Errorf("%d of 30000 bounds are wider than those of the edges", wide)
	}
	for c := 1; c < len(maps); c++ {
		if n := len(maps[c].Low); n > 8*pieces {
			t.Errorf("clock %d has %d knots", c, n)
		}
	}
}

// TestEstimatesBoundedOnOneSideAreMovedToThatBound: the narrowest path has an estimate of 500 ns, and another path a bound that does
// not allow it.
func TestEstimatesBoundedOnOneSideAreMovedToThatBound(t *testing.T) {
	line := func(by clock.HostTime) clock.PairCurve { return clock.PairCurve{{X: 0, Y: by}, {X: 1e9, Y: 1e9 + by}} }
	for _, side := range []string{"high", "low"} {
		over, direct := clock.PairMap{Mid: line(300)}, clock.PairMap{Mid: line(500)}
		want := clock.TimelineTime(5e8 - 580)
		if side == "high" { // of the timeline: clock 1 shows at least that much more
			over.Low, direct.Low = line(290), line(400)
		} else {
			over.Mid, over.High, direct.High = line(100), line(110), line(600)
			want = 5e8 - 220
		}
		edges := []Edge{{A: 0, B: 1, Map: direct, Weight: 1}, {A: 0, B: 2, Map: over, Weight: 1}, {A: 2, B: 1, Map: over, Weight: 1}}
		tree, err := Build("duda", 3, edges, 0)
		if err != nil {
			t.Fatal(err)
		}
		m := &tree.Maps[1]
		if _, _, lowOK, highOK := m.Bounds(5e8); lowOK == highOK {
			t.Fatalf("%s: bounded below %v, above %v", side, lowOK, highOK)
		}
		if mid := m.At(5e8); mid < want-2 || mid > want+2 {
			t.Errorf("%s: the estimate is %d, want %d", side, mid, want)
		}
	}
}
