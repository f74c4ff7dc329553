package network

import (
	"math/rand/v2"
	"testing"

	"meridian/clock"
)

// chainOf makes the edges of a chain of clocks over some seconds: bounds some 60 µs apart that bend by some ns each second, as those
// of clocks that wander do.
func chainOf(rng *rand.Rand, clocks int, seconds clock.HostTime) []Edge {
	var edges []Edge
	for i := range clocks - 1 {
		var m clock.PairMap
		offset, skew := clock.HostTime(rng.Int64N(2e9)-1e9), rng.Int64N(100_000)-50_000
		a, b := 0.0, 0.0 // the wander of both bounds
		for s := -seconds; s <= 2*seconds; s++ {
			x := s*1_000_000_000 + clock.HostTime(rng.Int64N(1000))
			y := x + offset + clock.HostTime(skew)*s
			a, b = 0.9*a+10*rng.NormFloat64(), 0.9*b+10*rng.NormFloat64()
			m.Low = append(m.Low, clock.PairKnot{X: x, Y: y - 30_000 + clock.HostTime(a)})
			m.High = append(m.High, clock.PairKnot{X: x, Y: y + 30_000 + clock.HostTime(b)})
		}
		m.Mid = middle(m.Low, m.High)
		edges = append(edges, Edge{A: i, B: i + 1, Map: m, Weight: 30_000})
	}
	return edges
}

// TestBoundsAlongALongChainAreThoseOfItsEdges carries instants over the edges one by one. The bounds of the tree are to hold what comes
// out, with few knots, and with less than a thousandth of width more.
func TestBoundsAlongALongChainAreThoseOfItsEdges(t *testing.T) {
	const clocks, seconds = 100, 30
	rng := rand.New(rand.NewPCG(9, 1))
	edges := chainOf(rng, clocks, seconds)
	tree, err := Build("", clocks, edges, 0)
	if err != nil {
		t.Fatal(err)
	}
	back := make([]clock.PairMap, len(edges))
	for i := range edges {
		back[i] = edges[i].Map.Inverse()
	}
	for c := 1; c < clocks; c++ {
		m := &tree.Maps[c]
		if most := 40 * 3 * seconds; len(m.Low)+len(m.High)+len(m.Mid) > 3*most {
			t.Fatalf("clock %d has %d, %d and %d knots, want at most %d", c, len(m.Low), len(m.High), len(m.Mid), most)
		}
		for range 20 {
			// What clock 0 shows at most and at least when clock c shows x.
			x := edges[c-1].Map.High.At(clock.HostTime(rng.Int64N(seconds*1e9)), clock.Nearest)
			low, high, mid := x, x, x
			for i := c - 1; i >= 0; i-- {
				low, high, mid = back[i].Low.At(low, clock.Down), back[i].High.At(high, clock.Up), back[i].At(mid)
			}
			gotLow, gotHigh, _, _ := m.Bounds(x)
			wider := clock.Sub(clock.HostTime(gotHigh), high) + clock.Sub(low, clock.HostTime(gotLow))
			if clock.HostTime(gotLow) > low || clock.HostTime(gotHigh) < high || wider > clock.Sub(high, low)/1000 {
				t.Fatalf("clock %d at %d: [%d, %d], want [%d, %d] and at most a thousandth wider", c, x, gotLow, gotHigh, low, high)
			}
			if off := clock.Sub(clock.HostTime(m.At(x)), mid); off > 2*int64(c) || off < -2*int64(c) {
				t.Fatalf("clock %d at %d: the estimate is %d ns from that over the edges", c, x, off)
			}
		}
	}
}
