package network

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkFullGraph is the table of Poirier 2010 for propagation: 64 hosts that all exchanged messages.
func BenchmarkFullGraph(b *testing.B) {
	for _, n := range []int{16, 64} {
		edges := bent(rand.New(rand.NewPCG(1, 2)), n, full(n), 64)
		for _, s := range Strategies() {
			b.Run(fmt.Sprintf("%s/%d", s, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Build(s, n, edges, -1); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRandomGraph has 256 hosts with eight neighbours each and bounds of many corners.
func BenchmarkRandomGraph(b *testing.B) {
	const n = 256
	rng := rand.New(rand.NewPCG(3, 4))
	var pairs [][2]int
	for i := 1; i < n; i++ {
		pairs = append(pairs, [2]int{i, rng.IntN(i)})
	}
	for len(pairs) < 4*n {
		if x, y := rng.IntN(n), rng.IntN(n); x != y {
			pairs = append(pairs, [2]int{x, y})
		}
	}
	edges := bent(rng, n, pairs, 500)
	tree, err := Build("", n, edges, -1)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tighten", func(b *testing.B) {
		for b.Loop() {
			if _, bad, err := Tighten(edges, tree, []int{500}); err != nil || len(bad) > 0 {
				b.Fatal(bad, err)
			}
		}
	})
	for _, s := range []string{"clement", "least-squares"} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				if _, err := Build(s, n, edges, -1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
