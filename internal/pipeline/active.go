package pipeline

import (
	"context"
	"math"

	"meridian/align"
	"meridian/clock"
	"meridian/trace"
)

// captureActivity tells when a clock stamped packets of captures.
type captureActivity struct {
	*Matched
	clock int
}

// alignClocks aligns the clocks of a problem of an input. Those of captures can tell when they stamped packets:
// alignment asks where a clock seems to have been set forward.
func alignClocks(ctx context.Context, m *Matched, p *trace.Problem, o align.Options) (*align.Solution, error) {
	told := *p
	told.Clocks = append([]trace.Clock(nil), p.Clocks...)
	for c := range told.Clocks {
		if ofCaptures(m, c) {
			told.Clocks[c].Activity = &captureActivity{m, c}
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
func (a *captureActivity) RanBack(by int64) bool {
	latest, found := clock.HostTime(math.MinInt64), false
	a.each(func(stamp clock.HostTime) bool {
		found = latest > math.MinInt64 && clock.Sub(latest, stamp) > by
		latest = max(latest, stamp)
		return !found
	}, func() { latest = math.MinInt64 })
	return found
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
