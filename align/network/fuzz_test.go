package network

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
)

// bytesFirst is a source of random numbers that begins with the bytes of an input.
type bytesFirst struct {
	in   *fuzztest.Input
	rest rand.Source
}

func (s *bytesFirst) Uint64() (v uint64) {
	if !s.in.More() {
		return s.rest.Uint64()
	}
	for range 8 {
		v = v<<8 | uint64(s.in.Byte())
	}
	return v
}

// FuzzBuild takes any edges, and edges whose bounds hold a known truth. Of any edges, every strategy and Tighten must give
// estimates and bounds that are curves, or the error that the edges deserve. Where the edges hold the truth, so must all
// bounds, and nothing may be contradictory.
//
//fuzzall:cost 10
func FuzzBuild(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17})
	f.Add([]byte{0, 3, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 7, 1, 2, 0, 0, 9, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 1})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		if in.N(2) == 1 {
			rng := rand.New(&bytesFirst{in: in, rest: rand.NewPCG(1, 2)})
			buildTrue(t, rng, wildWorld(rng, rng.IntN(4)+2, rng.IntN(4)))
			return
		}
		clocks := 1 + in.N(5)
		var edges []Edge
		for in.More() && len(edges) < 12 {
			edges = append(edges, anyEdge(in, clocks))
		}
		buildAny(t, clocks, edges, in.N(clocks+1)-1)
	})
}

// anyEdge makes an edge, most often of clocks that exist and of curves that pass Check. Instants lie within nine years, as
// composed curves go on far beyond their knots.
func anyEdge(in *fuzztest.Input, clocks int) Edge {
	const most = 1 << 58
	stamp := func() clock.HostTime { return min(max(in.Stamp(), -most), most) }
	e := Edge{A: in.N(clocks), B: in.N(clocks), Weight: float64(in.Below(0))}
	if in.N(32) == 31 {
		e.A = clocks
	}
	knots := in.N(3) + 1
	at := make([]clock.PairKnot, knots)
	at[0] = clock.PairKnot{X: stamp(), Y: stamp()}
	for i := 1; i < knots; i++ {
		run := 1 + in.Below(in.N(40))
		at[i] = clock.PairKnot{X: at[i-1].X + clock.HostTime(run), Y: at[i-1].Y + clock.HostTime(clock.MulDiv(run, int64(128+in.N(256)), 256, clock.Nearest))}
	}
	line := func(by int64) clock.PairCurve {
		c := make(clock.PairCurve, knots)
		for i, k := range at {
			c[i] = clock.PairKnot{X: k.X, Y: k.Y + clock.HostTime(by)}
		}
		return c
	}
	e.Map.Mid = line(0)
	if in.N(4) > 0 {
		e.Map.Low = line(-in.Below(in.N(20)))
	}
	if in.N(4) > 0 {
		e.Map.High = line(in.Below(in.N(20)))
	}
	if in.N(32) == 31 {
		e.Map.Mid = nil
	}
	return e
}

func buildAny(t *testing.T, clocks int, edges []Edge, chosen int) {
	t.Helper()
	wrong := false
	for _, e := range edges {
		wrong = wrong || e.A >= clocks || e.Map.Mid == nil
	}
	for _, s := range Strategies() {
		tree, err := Build(s, clocks, edges, chosen)
		if wrong != (err != nil) {
			t.Fatalf("%s: wrong is %v, but %v: %+v", s, wrong, err, edges)
		}
		if err != nil {
			continue
		}
		if chosen >= 0 && tree.Reference(chosen) != chosen {
			t.Fatalf("%s: the reference is %d, not %d", s, tree.Reference(chosen), chosen)
		}
		for _, e := range edges {
			if tree.Component[e.A] != tree.Component[e.B] {
				t.Fatalf("%s: clocks %d and %d are joined, but of two components", s, e.A, e.B)
			}
		}
		checkMaps(t, s, tree.Maps)
		maps, _, err := Tighten(edges, tree, []int{16})
		if err != nil {
			t.Fatal(s, err)
		}
		checkMaps(t, s+" tightened", maps)
	}
}

func checkMaps(t *testing.T, name string, maps []clock.Map) {
	t.Helper()
	for i, m := range maps {
		for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
			if c == nil {
				continue
			}
			if err := c.Check(); err != nil {
				t.Fatalf("%s: clock %d: %v: %v", name, i, err, c)
			}
		}
		if m.Mid == nil {
			t.Fatalf("%s: clock %d has no estimate", name, i)
		}
	}
}

func buildTrue(t *testing.T, rng *rand.Rand, w *world) {
	t.Helper()
	hold := func(name string, c int, h clock.HostTime, m *clock.Map, reference int) {
		truth := w.truth(c, reference, h)
		low, high, lowOK, highOK := m.Bounds(h)
		if lowOK && truth.Cmp(new(big.Rat).SetInt64(int64(low))) < 0 || highOK && truth.Cmp(new(big.Rat).SetInt64(int64(high))) > 0 {
			t.Fatalf("%s: clock %d at %d: truth %s is not within %d and %d", name, c, h, truth.FloatString(3), low, high)
		}
	}
	for _, s := range Strategies() {
		tree, err := Build(s, len(w.clocks), w.edges, rng.IntN(len(w.clocks)+1)-1)
		if err != nil {
			t.Fatal(s, err)
		}
		maps, contradictions, err := Tighten(w.edges, tree, []int{16})
		if err != nil || len(contradictions)+len(tree.Contradictions) > 0 {
			t.Fatal(s, err, contradictions, tree.Contradictions)
		}
		checkMaps(t, s, tree.Maps)
		checkMaps(t, s+" tightened", maps)
		for range 12 {
			c := rng.IntN(len(w.clocks))
			h := w.somewhere(rng, c)
			hold(s, c, h, &tree.Maps[c], tree.References[0])
			hold(s+" tightened", c, h, &maps[c], tree.References[0])
		}
	}
}
