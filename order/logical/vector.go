package logical

import "fmt"

// Vector orders events by vector clocks: Θ(k) for each send and each receive, for k clocks. It asks the same of events as
// [Lamport] does and fails as it does.
func Vector(events []Event) (*Order, error) {
	s, err := newSchedule(events)
	if err != nil {
		return nil, err
	}
	held, err := newBudget(s, 4)
	if err != nil {
		return nil, err
	}
	o := newOrder(s)
	current := make([][]int32, len(s.clocks))
	sent := make(map[int]copied[[]int32]) // by send, until its last receive
	var free [][]int32
	err = s.run(func(e, send int) error {
		c := s.clock[e]
		if current[c] == nil {
			current[c] = make([]int32, len(s.clocks))
		}
		v := current[c]
		v[c] = s.position[e]
		if send >= 0 {
			m := sent[send]
			for other, known := range m.clock {
				if known > v[other] {
					v[other] = known
					o.learn(c, v[c], int32(other), known)
				}
			}
			if m.left--; m.left > 0 {
				sent[send] = m
			} else {
				delete(sent, send)
				free = append(free, m.clock)
			}
		}
		if n := s.receives[e]; n > 0 {
			var w []int32
			if last := len(free) - 1; last >= 0 {
				w, free = free[last], free[:last]
			} else if err := held.add(1); err != nil {
				return err
			}
			sent[e] = copied[[]int32]{append(w[:0], v...), n}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// maxHeld is how many bytes of vectors or trees there may be at a time.
const maxHeld = 16 << 30

// budget counts the vectors or trees that there are.
type budget struct{ each, held, clocks int64 }

// newBudget returns the budget of a schedule whose vectors take so many bytes for each clock. Every clock has one.
func newBudget(s *schedule, entry int64) (*budget, error) {
	n := int64(len(s.clocks))
	b := &budget{each: n * entry, clocks: n}
	return b, b.add(n)
}

// add counts vectors that are about to be made.
func (b *budget) add(n int64) error {
	if b.held += n; b.held*b.each > maxHeld {
		return fmt.Errorf("logical: %d vectors of %d clocks take more than %d GiB; order fewer clocks at a time", b.held, b.clocks, maxHeld>>30)
	}
	return nil
}

// copied is the clock that a message carries, and how many have yet to receive it.
type copied[C any] struct {
	clock C
	left  int32
}
