package clock

// MapOf carries one clock to another. Low and High enclose the true value of every instant under the assumption that the
// map's maker names; one without knots says that nothing bounds that side.
type MapOf[X, Y Time] struct {
	Mid       CurveOf[X, Y] // the estimate
	Low, High CurveOf[X, Y]
}

// Maps between the clocks there are.
type (
	Map        = MapOf[HostTime, TimelineTime] // from a host's clock to the timeline
	PairMap    = MapOf[HostTime, HostTime]     // from one host's clock to another's
	InverseMap = MapOf[TimelineTime, HostTime] // from the timeline to a host's clock
)

// Identity returns the map of the reference: its clock is the timeline, exactly.
func Identity() Map {
	line := Curve{{X: 0, Y: 0}}
	return Map{Mid: line, Low: line, High: line}
}

// PairIdentity returns the map from a clock to itself.
func PairIdentity() PairMap {
	line := PairCurve{{X: 0, Y: 0}}
	return PairMap{Mid: line, Low: line, High: line}
}

// At returns the estimate at t. It panics if Mid has no knots.
func (m *MapOf[X, Y]) At(t X) Y { return m.Mid.At(t, Nearest) }

// Bounds returns the interval around the true value at t; lowOK and highOK are false on a side that nothing bounds.
func (m *MapOf[X, Y]) Bounds(t X) (low, high Y, lowOK, highOK bool) {
	if len(m.Low) > 0 {
		low, lowOK = m.Low.At(t, Down), true
	}
	if len(m.High) > 0 {
		high, highOK = m.High.At(t, Up), true
	}
	return low, high, lowOK, highOK
}

// EventBounds returns the interval in which an event happened that has the stamp t of a granularity: at low or later, and at high
// or earlier, in whole ns of the other time base. A stamp stands for every instant of [t, t+granularity). The flags are those of
// Bounds. A granularity below 1 stands for 1.
func (m *MapOf[X, Y]) EventBounds(t X, granularity int64) (low, high Y, lowOK, highOK bool) {
	if len(m.Low) > 0 {
		low, lowOK = m.Low.At(t, Down), true
	}
	if len(m.High) > 0 {
		high, highOK = Add(m.High.At(Add(t, max(granularity, 1)), Up), -1), true
	}
	return low, high, lowOK, highOK
}

// Error returns the larger distance from the estimate to a bound at t in ns, and false if a side is unbounded. It panics if
// both sides are bounded and Mid has no knots.
func (m *MapOf[X, Y]) Error(t X) (int64, bool) {
	low, high, lowOK, highOK := m.Bounds(t)
	if !lowOK || !highOK {
		return 0, false
	}
	mid := m.At(t)
	return max(Sub(mid, low), Sub(high, mid), 0), true
}

// Inverse returns the map that leads back. A bound whose outermost piece stands still bounds nothing there.
func (m *MapOf[X, Y]) Inverse() MapOf[Y, X] {
	return MapOf[Y, X]{Mid: m.Mid.Inverse(), Low: m.High.InverseBound(Down), High: m.Low.InverseBound(Up)}
}

// ComposeMaps returns the map that applies m first and next to its result: from host to host to the timeline. A side that
// either leaves unbounded is unbounded. Neither may be nil.
func ComposeMaps[X, Y, Z Time](m *MapOf[X, Y], next *MapOf[Y, Z]) MapOf[X, Z] {
	out := MapOf[X, Z]{Mid: ComposeCurves(m.Mid, next.Mid, Nearest)}
	if m.Low != nil && next.Low != nil {
		out.Low = ComposeCurves(m.Low, next.Low, Down)
	}
	if m.High != nil && next.High != nil {
		out.High = ComposeCurves(m.High, next.High, Up)
	}
	return out
}

// ConvertMap returns a copy of m between other time bases. It is for a reference, whose clock is the timeline: what is a
// HostTime of its clock is the same number as a TimelineTime.
func ConvertMap[X2, Y2, X, Y Time](m *MapOf[X, Y]) MapOf[X2, Y2] {
	return MapOf[X2, Y2]{Mid: ConvertCurve[X2, Y2](m.Mid), Low: ConvertCurve[X2, Y2](m.Low), High: ConvertCurve[X2, Y2](m.High)}
}
