package sim

// Topology says which hosts have a link.
type Topology uint8

const (
	Pair   Topology = iota // two hosts
	Chain                  // each and the next
	Ring                   // a chain that closes
	Star                   // host0 and every other
	Full                   // every two
	Random                 // a ring through all hosts in random order, and random links up to the mean degree
)

var topologyNames = [...]string{"pair", "chain", "ring", "star", "full", "random"}

func (t Topology) String() string { return nameOf(topologyNames[:], int(t)) }

// Topologies returns all topologies.
func Topologies() []Topology { return []Topology{Pair, Chain, Ring, Star, Full, Random} }

// edges returns the pairs of hosts that have a link, each once and the lower host first, but for the random ones in the
// order of the hosts.
func (s *Scenario) edges() [][2]int {
	n := s.Hosts
	topology := s.Topology
	switch {
	case s.Traffic == Collective:
		topology = Full
	case n == 2:
		topology = Pair
	case topology == Random && s.Degree == n-1:
		topology = Full
	}
	var edges [][2]int
	add := func(a, b int) { edges = append(edges, [2]int{min(a, b), max(a, b)}) }
	switch topology {
	case Pair, Chain, Ring:
		for i := range n - 1 {
			add(i, i+1)
		}
		if topology == Ring {
			add(n-1, 0)
		}
	case Star:
		for i := 1; i < n; i++ {
			add(0, i)
		}
	case Full:
		for i := range n {
			for j := i + 1; j < n; j++ {
				add(i, j)
			}
		}
	case Random:
		random := s.random(topologyStream, 0)
		hosts := random.Perm(n)
		place := make([]int, n) // on the ring
		for i, h := range hosts {
			add(h, hosts[(i+1)%n])
			place[h] = i
		}
		var others [][2]int
		for a := range n {
			for b := a + 1; b < n; b++ {
				if apart := (place[a] - place[b] + n) % n; apart != 1 && apart != n-1 {
					others = append(others, [2]int{a, b})
				}
			}
		}
		for k := range n*s.Degree/2 - n {
			i := k + random.IntN(len(others)-k)
			others[k], others[i] = others[i], others[k]
			edges = append(edges, others[k])
		}
	}
	return edges
}
