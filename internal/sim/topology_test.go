package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestTopologiesJoinAllHostsByTheLinksTheyNeed(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		s := Scenario{Hosts: rapid.IntRange(2, 40).Draw(t, "hosts"), Seed: rapid.Uint64().Draw(t, "seed")}
		s.Topology = rapid.SampledFrom(Topologies()[1:]).Draw(t, "topology")
		n := s.Hosts
		if s.Topology == Random && n > 2 {
			s.Degree = rapid.IntRange(2, n-1).Draw(t, "degree")
		}
		s, err := s.complete()
		if err != nil {
			t.Fatal(err)
		}
		want := map[Topology]int{Chain: n - 1, Ring: n, Star: n - 1, Full: n * (n - 1) / 2, Random: n * s.Degree / 2}[s.Topology]
		if n == 2 {
			want = 1
		}
		edges := s.edges()
		if len(edges) != want {
			t.Fatalf("%d links, not %d", len(edges), want)
		}
		group := make([]int, n) // of hosts that are joined
		for i := range group {
			group[i] = i
		}
		seen := make(map[[2]int]bool)
		for _, e := range edges {
			if e[0] < 0 || e[0] >= e[1] || e[1] >= n || seen[e] {
				t.Fatalf("link %v of %d hosts, or a second time", e, n)
			}
			seen[e] = true
			old := group[e[1]]
			for i := range group {
				if group[i] == old {
					group[i] = group[e[0]]
				}
			}
		}
		for i := range group {
			if group[i] != group[0] {
				t.Fatalf("host %d is not joined to host 0", i)
			}
		}
	})
}

func TestChoicesHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range []fmt.Stringer{Pair, Chain, Ring, Star, Full, Random, Exponential, HeavyTail, Gamma, Weibull, Pareto,
		Periodic, Bursty, RequestResponse, OneSided, OneWay, Broadcast, Collective} {
		if seen[c.String()] || c.String() == "unknown" {
			t.Errorf("%#v is named %s", c, c)
		}
		seen[c.String()] = true
	}
	if len(seen) != len(Topologies())+len(Distributions())+len(Patterns()) {
		t.Error("a choice is missing from its list")
	}
	if Distribution(99).String() != "unknown" {
		t.Error("a name for no shape")
	}
}
