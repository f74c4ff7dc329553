package pipeline

import (
	"context"
	"math"
	"sync"

	"meridian/align"
	"meridian/clock"
	"meridian/trace"
)

// captureActivity tells when a clock stamped packets of captures.
type captureActivity struct {
	*Matched
	clock int
	// back returns by how much the timestamps run back at most, ns. It goes over the captures once.
	back func() int64
}

// alignClocks aligns the clocks of a problem of an input. Those of captures can tell when they stamped packets:
// alignment asks where a clock seems to have been set forward.
func alignClocks(ctx context.Context, m *Matched, p *trace.Problem, o align.Options) (*align.Solution, error) {
	told := *p
	told.Clocks = append([]trace.Clock(nil), p.Clocks...)
	for c := range told.Clocks {
		if ofCaptures(m, c) {
			a := &captureActivity{Matched: m, clock: c}
			a.back = sync.OnceValue(a.largestStepBack)
			told.Clocks[c].Activity = a
		}
	}
	return align.Solve(ctx, &told, o)
}

// ofCaptures reports whether captures have all events of a clock.
func ofCaptures(m *Matched, c int) bool {
	packets := int64(0)
	for i := range m.captures {
		clocks, n := &m.Captures[i], 0
		if clocks.Sent != c && clocks.Received != c {
			continue
		}
		for chunk := range m.captures[i].Packets.Chunks() {
			n += len(chunk)
		}
		packets += int64(n)
	}
	return packets > 0 && m.Clocks[c].Events <= packets
}

// Between reports whether the clock stamped a packet between two readings.
func (a *captureActivity) Between(from, to clock.HostTime) bool {
	found := false
	a.each(func(stamp clock.HostTime) bool {
		found = stamp > from && stamp < to
		return !found
	}, func() {})
	return found
}

// RanBack reports whether the stamps of a capture run back by more than so many ns.
func (a *captureActivity) RanBack(by int64) bool { return a.back() > by }

// largestStepBack returns by how much the stamps of a capture run back at most, ns.
func (a *captureActivity) largestStepBack() (most int64) {
	latest := clock.HostTime(math.MinInt64)
	a.each(func(stamp clock.HostTime) bool {
		if latest > math.MinInt64 {
			most = max(most, clock.Sub(latest, stamp))
		}
		latest = max(latest, stamp)
		return true
	}, func() { latest = math.MinInt64 })
	return most
}

// each passes on the clock's stamps of each capture, in recorded order, until stamp returns false. It calls begin
// before each capture.
func (a *captureActivity) each(stamp func(clock.HostTime) bool, begin func()) {
	for i := range a.captures {
		if clocks := &a.Captures[i]; clocks.Sent != a.clock && clocks.Received != a.clock {
			continue
		}
		begin()
		n := 0
		for chunk := range a.captures[i].Packets.Chunks() {
			for j := range chunk {
				x := &chunk[j]
				if a.Captures[i].Of(n) == a.clock && x.Kind != trace.Untimed && !stamp(x.Time) {
					return
				}
				n++
			}
		}
	}
}
