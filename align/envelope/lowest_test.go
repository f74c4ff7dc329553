package envelope

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestTheLowestAreThoseOfTheWholeListSorted(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		k := rapid.IntRange(1, n+3).Draw(t, "k")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		distinct := rapid.IntRange(1, 1000).Draw(t, "distinct")
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(random.IntN(distinct)) - 100
		}
		if rapid.Bool().Draw(t, "ascending") {
			slices.Sort(v)
		}
		want := slices.Sorted(slices.Values(v))
		sortLowest(v, k)
		k = min(k, n)
		if !slices.Equal(v[:k], want[:k]) {
			t.Fatalf("the %d lowest are %v, want %v", k, v[:k], want[:k])
		}
		slices.Sort(v)
		if !slices.Equal(v, want) {
			t.Fatalf("the list has become %v, was %v", v, want)
		}
	})
}

func TestLawsAskForNoResidualBeyondTheirShare(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(16, 2000).Draw(t, "n")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		d := edge{sample: [2][]float64{make([]float64, n), make([]float64, n)}}
		for i := range n {
			d.sample[1][i] = 1e4 * random.ExpFloat64()
		}
		for range rapid.IntRange(1, 9).Draw(t, "windows") {
			d.points = append(d.points, point{info: float64(1 + random.IntN(60))})
			d.whole += d.points[len(d.points)-1].info
			d.least = append(d.least, 100*random.ExpFloat64())
		}
		slices.Sort(d.least)
		windows := float64(len(d.points))
		m := &model{curves: curves{column: []int{-1, -1}, knots: 3, step: 1e5}}
		fit := func(share float64) ([]point, map[int]law) {
			of := d
			of.points = slices.Clone(d.points)
			of.residuals = m.residuals(&of, n, share, nil)
			of.fitLaws(windows)
			return of.points, of.laws
		}
		points, laws := fit(d.lawShare(windows))
		wantPoints, wantLaws := fit(1)
		if !slices.Equal(points, wantPoints) || len(laws) != len(wantLaws) {
			t.Fatalf("points %v, want %v", points, wantPoints)
		}
		for bucket, l := range wantLaws {
			if laws[bucket] != l {
				t.Fatalf("law of bucket %d: %v, want %v", bucket, laws[bucket], l)
			}
		}
	})
}
