package index

import (
	"context"
	"slices"
)

// Spread is how lengths of slices, or delays of messages, are distributed, exact to 1/32.
type Spread struct {
	Count int64
	Sum   int64 // ns, of slices
	from  []int64
	to    []int64
	upTo  []int64 // how many lie in a bucket and those before
}

// Between returns limits between which the measurements of two ranks lie, from 1 to Count.
func (s *Spread) Between(low, high int64) (least, greatest int64) {
	at := func(rank int64) int {
		i, _ := slices.BinarySearch(s.upTo, rank)
		return min(i, len(s.upTo)-1)
	}
	return s.from[at(low)], s.to[at(high)]
}

func newSpread(h *histogram, sum int64) *Spread {
	s := &Spread{Count: h.count, Sum: sum}
	upTo := int64(0)
	for number, n := range h.buckets.all() {
		from, to := borders(number)
		upTo += n
		s.from, s.to, s.upTo = append(s.from, max(from, h.least)), append(s.to, min(to, h.greatest)), append(s.upTo, upTo)
	}
	return s
}

// HostName is a name of slices on a host.
type HostName struct {
	Host int
	Name string
}

// Spreads are those of a whole timeline.
type Spreads struct {
	Slices   map[HostName]*Spread // whole ones: those that begin or end outside are left out
	Messages map[[2]int]*Spread   // delays by the estimate, between two hosts
}

// Spreads returns how lengths and delays are distributed. The cost is that of Numbers of everything.
func (x *Index) Spreads(ctx context.Context) (*Spreads, error) {
	c := x.countLanes()
	parts, err := c.count(ctx, 0, x.about.Span+1, true, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	names, delays := make(map[HostName]*nameSums), make(map[[2]int]*nameSums)
	for n, p := range parts {
		if p == nil {
			continue
		}
		if k := c.links[n]; k != nil && p.links != nil {
			key := [2]int{x.about.Rows[k.From].Host, x.about.Rows[k.To].Host}
			if delays[key] == nil {
				delays[key] = &nameSums{}
			}
			delays[key].merge(&nameSums{lengths: p.links.lengths})
		}
		if p.kind != sliced {
			continue
		}
		for class, s := range p.names {
			key := HostName{x.about.Rows[x.lanes[n].owner].Host, x.about.Classes[class].Name}
			if names[key] == nil {
				names[key] = &nameSums{}
			}
			names[key].merge(s)
		}
	}
	out := &Spreads{Slices: make(map[HostName]*Spread), Messages: make(map[[2]int]*Spread)}
	for key, s := range names {
		out.Slices[key] = newSpread(&s.lengths, s.sum)
	}
	for key, s := range delays {
		out.Messages[key] = newSpread(&s.lengths, 0)
	}
	return out, nil
}
