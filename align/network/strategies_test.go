package network

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestEveryStrategyIsTheSameForEveryOrderOfTheEdges(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		rng := draw(t)
		w := quietWorld(rng, rng.IntN(8)+2, rng.IntN(12))
		w.edges = append(w.edges, w.edges[0]) // of equals too
		w.edges[0].Map.Mid = w.edges[0].Map.High
		for i := range w.edges {
			w.edges[i].Weight = float64(rng.IntN(3))
		}
		shuffled := slices.Clone(w.edges)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, s := range Strategies() {
			a, err := Build(s, len(w.clocks), w.edges, -1)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Build(s, len(w.clocks), shuffled, -1)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: another order of the edges, another result", s)
			}
		}
	})
}

func TestEveryStrategyTakesTheChosenReferenceAndLeavesStrangersApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := quietWorld(rng, 7, 5)
	for _, s := range Strategies() {
		tree, err := Build(s, 9, append(slices.Clone(w.edges), Edge{A: 7, B: 8, Map: shifted(3), Weight: 1}), 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.References) != 2 || tree.References[0] != 4 || tree.Component[8] != 1 || tree.Parent[4] != 4 {
			t.Errorf("%s: references %v of components %v", s, tree.References, tree.Component)
		}
		if m := &tree.Maps[4]; m.At(12345) != 12345 {
			t.Errorf("%s: the reference's map is not its own time", s)
		}
		for c := range tree.Parent {
			hops, at := 0, c
			for ; tree.Parent[at] != at && hops < 10; hops++ {
				at = tree.Parent[at]
			}
			if at != tree.Reference(c) {
				t.Errorf("%s: clock %d leads to %d", s, c, at)
			}
		}
	}
}

func TestWrongInputIsAnError(t *testing.T) {
	line := clock.PairCurve{{X: 0, Y: 0}}
	back := clock.PairCurve{{X: 0, Y: 0}, {X: 1, Y: -1}}
	for name, e := range map[string]Edge{
		"no such clock":       {A: 0, B: 2, Map: shifted(1)},
		"negative clock":      {A: -1, B: 1, Map: shifted(1)},
		"negative weight":     {A: 0, B: 1, Map: shifted(1), Weight: -1},
		"weight not a number": {A: 0, B: 1, Map: shifted(1), Weight: math.NaN()},
		"no estimate":         {A: 0, B: 1},
		"bound running back":  {A: 0, B: 1, Map: clock.PairMap{Mid: line, Low: back}},
	} {
		if _, err := Build("", 2, []Edge{e}, -1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Build("no such", 2, nil, -1); err == nil {
		t.Error("an unknown strategy is taken")
	}
	if _, err := Build("", 2, nil, 2); err == nil {
		t.Error("a reference that does not exist is taken")
	}
	for _, s := range Strategies() {
		if _, err := Build(s, 2, []Edge{{A: 1, B: 1, Map: shifted(1)}, {A: 0, B: 1, Map: clock.PairMap{Mid: line}, Weight: math.Inf(1)}}, -1); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestJezequelTakesTheFewestHopsAndClementTheLightestPath(t *testing.T) {
	edges := []Edge{
		{A: 0, B: 1, Map: shifted(1), Weight: 1}, {A: 1, B: 2, Map: shifted(1), Weight: 1},
		{A: 0, B: 2, Map: shifted(2), Weight: 10}, {A: 2, B: 3, Map: shifted(1), Weight: 1},
	}
	for s, want := range map[string]struct {
		parent   []int
		distance float64
	}{"jezequel": {[]int{0, 0, 0, 2}, 1}, "clement": {[]int{0, 0, 1, 2}, 2}} {
		tree, err := Build(s, 4, edges, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tree.Parent, want.parent) || tree.Distance[2] != want.distance {
			t.Errorf("%s: parents %v, clock 2 at %g", s, tree.Parent, tree.Distance[2])
		}
	}
	tree, _ := Build("jezequel", 4, edges, -1)
	if tree.References[0] != 2 {
		t.Errorf("the centre is %d, want 2", tree.References[0])
	}
}

func TestChainGoesFromNeighbourToNeighbour(t *testing.T) {
	var edges []Edge
	for a := range 6 {
		for b := range a {
			edges = append(edges, Edge{A: a, B: b, Map: shifted(clock.HostTime(b - a)), Weight: 1})
		}
	}
	for chosen, want := range map[int][]int{-1: {0, 0, 1, 2, 3, 4}, 3: {1, 2, 3, 3, 3, 4}} {
		tree, err := Build("duda-chain", 6, edges, chosen)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tree.Parent, want) {
			t.Errorf("from %d: parents %v, want %v", chosen, tree.Parent, want)
		}
		if err, _ := tree.Maps[5].Error(0); err != int64(tree.Distance[5]) {
			t.Errorf("the margin of the last clock is %d after %g hops", err, tree.Distance[5])
		}
	}
}

// offsets joins clocks that differ by constant offsets, and returns the tightest bounds of every pair by Floyd and
// Warshall.
func offsets(rng *rand.Rand, n, extra int) (edges []Edge, ahead [][]int64) {
	truth := make([]int64, n)
	ahead = make([][]int64, n)
	for i := range n {
		truth[i] = rng.Int64N(1e9)
		ahead[i] = slices.Repeat([]int64{1 << 50}, n)
		ahead[i][i] = 0
	}
	line := func(by int64) clock.PairCurve { return clock.PairCurve{{X: 0, Y: clock.HostTime(by)}} }
	for i := range n - 1 + extra {
		a, b := i+1, rng.IntN(min(i+1, n))
		if i >= n-1 {
			a = rng.IntN(n)
		}
		if a == b {
			continue
		}
		low, high := truth[b]-truth[a]-rng.Int64N(2000), truth[b]-truth[a]+rng.Int64N(2000)
		mid := low + rng.Int64N(high-low+1)
		edges = append(edges, Edge{A: a, B: b, Map: clock.PairMap{Mid: line(mid), Low: line(low), High: line(high)}, Weight: float64(high-low)/2 + 1})
		ahead[a][b], ahead[b][a] = min(ahead[a][b], high), min(ahead[b][a], -low)
	}
	for k := range n {
		for i := range n {
			for j := range n {
				ahead[i][j] = min(ahead[i][j], ahead[i][k]+ahead[k][j])
			}
		}
	}
	return edges, ahead
}

func TestReferenceOfHofmannAndHilgersHasTheSmallestSumOfTightenedMargins(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "clocks")
		edges, ahead := offsets(draw(t), n, rapid.IntRange(0, 14).Draw(t, "extra"))
		tree, err := Build("hofmann-hilgers", n, edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(i int) (total int64) {
			for j := range n {
				total += ahead[i][j] + ahead[j][i]
			}
			return total
		}
		r := tree.References[0]
		for i := range n {
			if sum(i) < sum(r) {
				t.Fatalf("reference %d with margins of %d ns, clock %d has %d", r, sum(r), i, sum(i))
			}
			low, high, _, _ := tree.Maps[i].Bounds(0)
			if int64(low) != -ahead[r][i] || int64(high) != ahead[i][r] {
				t.Fatalf("clock %d in [%d %d], want [%d %d]", i, low, high, -ahead[r][i], ahead[i][r])
			}
			if mid := tree.Maps[i].At(0); mid != half(low, high) {
				t.Fatalf("clock %d at %d, not the middle of [%d %d]", i, mid, low, high)
			}
		}
	})
}

func TestMiddleOfAdjustedBoundsKeepsTheOrderBetweenAllClocks(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "clocks")
		edges, _ := offsets(draw(t), n, rapid.IntRange(0, 14).Draw(t, "extra"))
		for _, s := range []string{"duda", "hofmann-hilgers"} {
			tree, err := Build(s, n, edges, -1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range edges {
				by := int64(tree.Maps[e.A].At(0) - tree.Maps[e.B].At(0)) // by how much B shows more
				low, high, _, _ := e.Map.Bounds(0)
				if clock.HostTime(by) < low-1 || clock.HostTime(by) > high+1 {
					t.Fatalf("%s: %d is %d ahead of %d, the messages allow [%d %d]", s, e.B, by, e.A, low, high)
				}
			}
		}
	})
}

func TestBoundThatStandsStillIsInvertedToItsFarEnd(t *testing.T) {
	m := clock.PairMap{
		Mid:  clock.PairCurve{{X: 0, Y: 150}, {X: 300, Y: 450}},
		Low:  clock.PairCurve{{X: 0, Y: 0}, {X: 100, Y: 100}, {X: 200, Y: 100}, {X: 300, Y: 200}},
		High: clock.PairCurve{{X: 0, Y: 300}, {X: 300, Y: 600}},
	}
	for _, s := range Strategies() {
		tree, err := Build(s, 2, []Edge{{A: 0, B: 1, Map: m, Weight: 1}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, high, _, ok := tree.Maps[1].Bounds(101); !ok || high < 201 {
			t.Errorf("%s: clock 1 at 101 is at %d at most, its bound allows 201", s, high)
		}
	}
}
