package network

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// shifted is the map of a clock that is ahead by so many ns.
func shifted(by clock.HostTime) clock.PairMap {
	line := clock.PairCurve{{X: 0, Y: by}}
	return clock.PairMap{Mid: line, Low: clock.PairCurve{{X: 0, Y: by - 1}}, High: clock.PairCurve{{X: 0, Y: by + 1}}}
}

func TestTreeIsTheLightestAndItsReferenceTheNearestToAll(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "clocks")
		offsets := make([]clock.HostTime, n)
		for i := range offsets {
			offsets[i] = clock.HostTime(rapid.Int64Range(-1e12, 1e12).Draw(t, "offset"))
		}
		distance := make([][]float64, n)
		for i := range distance {
			distance[i] = make([]float64, n)
			for j := range distance[i] {
				if i != j {
					distance[i][j] = math.Inf(1)
				}
			}
		}
		var edges []Edge
		for range rapid.IntRange(0, 14).Draw(t, "edges") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
			if a == b {
				continue
			}
			w := float64(rapid.IntRange(1, 20).Draw(t, "weight"))
			edges = append(edges, Edge{A: a, B: b, Map: shifted(offsets[b] - offsets[a]), Weight: w})
			distance[a][b], distance[b][a] = min(distance[a][b], w), min(distance[b][a], w)
		}
		for k := range n { // Floyd and Warshall, as the brute force
			for i := range n {
				for j := range n {
					distance[i][j] = min(distance[i][j], distance[i][k]+distance[k][j])
				}
			}
		}
		chosen := rapid.IntRange(-1, n-1).Draw(t, "chosen")
		tree, err := Build("", n, edges, chosen)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(i int) (total float64) {
			for _, d := range distance[i] {
				if !math.IsInf(d, 1) {
					total += d
				}
			}
			return total
		}
		for i := range n {
			reference := tree.Reference(i)
			for j := range n {
				if connected := !math.IsInf(distance[i][j], 1); connected != (tree.Component[i] == tree.Component[j]) {
					t.Fatalf("clocks %d and %d connected: %v, components %v", i, j, connected, tree.Component)
				}
				if tree.Component[i] == tree.Component[j] && reference != chosen && sum(reference) > sum(j) {
					t.Fatalf("reference %d is further from all than %d", reference, j)
				}
			}
			if tree.Distance[i] != distance[i][reference] {
				t.Fatalf("clock %d: path of weight %g, the lightest has %g", i, tree.Distance[i], distance[i][reference])
			}
			hops, at := 0, i
			for tree.Parent[at] != at {
				at = tree.Parent[at]
				hops++
			}
			m := &tree.Maps[i]
			if got, want := m.At(500), 500+clock.TimelineTime(offsets[reference]-offsets[i]); got != want {
				t.Fatalf("clock %d reads %d on the timeline, want %d", i, got, want)
			}
			if err, ok := m.Error(500); !ok || err != int64(hops) {
				t.Fatalf("clock %d over %d hops of 1 ns: bound %d", i, hops, err)
			}
		}
		if chosen >= 0 && tree.Reference(chosen) != chosen {
			t.Fatalf("chosen reference %d was not taken", chosen)
		}
	})
}

func TestReferenceIsThatOfTheComponent(t *testing.T) {
	tree := Tree{Component: []int{0, 1, 0, 1}, References: []int{2, 1}}
	for c, want := range []int{2, 1, 2, 1} {
		if got := tree.Reference(c); got != want {
			t.Errorf("reference of clock %d: %d, want %d", c, got, want)
		}
	}
}
