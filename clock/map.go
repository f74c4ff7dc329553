package clock

// Map carries the clock of one host to the timeline. Low and High enclose the true timeline time of every instant under
// the assumption that the map's maker names; a nil one says that nothing bounds that side.
type Map struct {
	Mid       Curve // the estimate
	Low, High Curve
}

// Identity returns the map of the reference: its clock is the timeline, exactly.
func Identity() Map {
	line := Curve{{0, 0}}
	return Map{Mid: line, Low: line, High: line}
}

// At returns the estimate at host time t.
func (m *Map) At(t int64) int64 { return m.Mid.At(t, Nearest) }

// Bounds returns the interval around the timeline time of host time t; lowOK and highOK are false on a side that
// nothing bounds.
func (m *Map) Bounds(t int64) (low, high int64, lowOK, highOK bool) {
	if m.Low != nil {
		low, lowOK = m.Low.At(t, Down), true
	}
	if m.High != nil {
		high, highOK = m.High.At(t, Up), true
	}
	return low, high, lowOK, highOK
}

// Error returns the larger distance from the estimate to a bound at host time t, and false if a side is unbounded.
func (m *Map) Error(t int64) (int64, bool) {
	low, high, lowOK, highOK := m.Bounds(t)
	if !lowOK || !highOK {
		return 0, false
	}
	mid := m.At(t)
	return max(Sub(mid, low), Sub(high, mid), 0), true
}

// Inverse returns the map from the timeline back to the host's clock. A bound that stands still for good bounds nothing
// there.
func (m *Map) Inverse() Map {
	return Map{Mid: m.Mid.Inverse(), Low: m.High.InverseBound(Down), High: m.Low.InverseBound(Up)}
}

// Then returns the map that applies m first and next to its result: from host to host to the timeline.
func (m *Map) Then(next *Map) Map {
	out := Map{Mid: m.Mid.Then(next.Mid, Nearest)}
	if m.Low != nil && next.Low != nil {
		out.Low = m.Low.Then(next.Low, Down)
	}
	if m.High != nil && next.High != nil {
		out.High = m.High.Then(next.High, Up)
	}
	return out
}
