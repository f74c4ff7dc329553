package logical

// Vector orders events by vector clocks: Θ(k) for each send and each receive, for k clocks. It asks the same of events as
// [Lamport] does and fails as it does.
func Vector(events []Event) (*Order, error) {
	s, err := newSchedule(events)
	if err != nil {
		return nil, err
	}
	o := newOrder(s)
	current := make([][]int32, s.clocks)
	sent := make(map[int]copied[[]int32]) // by send, until its last receive
	var free [][]int32
	err = s.run(func(e, send int) {
		c := s.events[e].Clock
		if current[c] == nil {
			current[c] = make([]int32, s.clocks)
		}
		v := current[c]
		v[c]++
		if send >= 0 {
			m := sent[send]
			for other, known := range m.clock {
				if known > v[other] {
					v[other] = known
					o.learn(int32(c), v[c], int32(other), known)
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
			}
			sent[e] = copied[[]int32]{append(w[:0], v...), n}
		}
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// copied is the clock that a message carries, and how many have yet to receive it.
type copied[C any] struct {
	clock C
	left  int32
}
