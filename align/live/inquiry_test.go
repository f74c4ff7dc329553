package live

import (
	"slices"
	"testing"

	"meridian/clock"
)

// known is pairs of which the messages tell by how much the second clock was set, less the first, within 0.3 ms.
func known(clocks int, by ...[3]int64) *inquiry {
	q := &inquiry{began: make(map[int]clock.HostTime)}
	for n := range clocks {
		q.began[n] = 0
	}
	for _, x := range by {
		q.pairs = append(q.pairs, &offsetPair{a: int(x[0]), b: int(x[1]), low: x[2]*1e6 - 3e5, high: x[2]*1e6 + 3e5, known: true})
	}
	return q
}

// The clocks that were set are the fewest that explain what the pairs tell, in ms.
func TestClockIsNamedOnlyIfEveryOtherExplanationTakesMore(t *testing.T) {
	for name, x := range map[string]struct {
		q      *inquiry
		named  map[int]int64
		others []int
	}{
		"one pair":                              {known(3, [3]int64{0, 1, 5}), nil, []int{0, 1}},
		"a clock that two others contradict":    {known(3, [3]int64{0, 1, 5}, [3]int64{0, 2, 5}, [3]int64{1, 2, 0}), map[int]int64{0: -5}, nil},
		"the second clock of its pairs":         {known(3, [3]int64{0, 2, 5}, [3]int64{1, 2, 5}), map[int]int64{2: 5}, nil},
		"a partner that a third vouches for":    {known(3, [3]int64{0, 1, -5}, [3]int64{0, 2, 0}), map[int]int64{1: -5}, nil},
		"two partners by amounts of their own":  {known(4, [3]int64{0, 1, 5}, [3]int64{0, 2, 9}, [3]int64{0, 3, 0}, [3]int64{1, 3, -5}, [3]int64{2, 3, -9}), map[int]int64{1: 5, 2: 9}, nil},
		"two that were set alike":               {known(4, [3]int64{0, 1, 5}, [3]int64{0, 2, 5}, [3]int64{1, 2, 0}, [3]int64{0, 3, 0}, [3]int64{1, 3, -5}, [3]int64{2, 3, -5}), nil, []int{0, 1, 2, 3}},
		"one between two that nothing connects": {known(3, [3]int64{0, 1, 5}, [3]int64{0, 2, -7}), nil, []int{0, 1, 2}},
		"more than two":                         {known(6, [3]int64{0, 1, 5}, [3]int64{2, 3, 7}, [3]int64{4, 5, 9}), nil, nil},
	} {
		named, others := x.q.culprits()
		if !slices.Equal(others, x.others) || len(named) != len(x.named) {
			t.Errorf("%s: named %v, others %v", name, named, others)
			continue
		}
		for n, by := range x.named {
			if i, ok := named[n]; !ok || i.low > by*1e6 || i.high < by*1e6 {
				t.Errorf("%s: clock %d was set by %v, %v", name, n, i, ok)
			}
		}
	}
}

func TestAmountsThatCannotBeToldApartNameNoClock(t *testing.T) {
	q := known(3, [3]int64{0, 1, 5}, [3]int64{0, 2, 5})
	for _, x := range q.pairs {
		x.low, x.high = 1e6, 9e6
	}
	if named, others := q.culprits(); len(named) > 0 || len(others) > 0 {
		t.Errorf("named %v, others %v", named, others)
	}
}
