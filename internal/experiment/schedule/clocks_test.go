//go:build unix

package schedule

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// TestAnInstantOfAHostIsOffByHalfItsShortestRoundTrip plays exchanges of any delays with a host whose clock is any.
func TestAnInstantOfAHostIsOffByHalfItsShortestRoundTrip(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		offset := rapid.Int64Range(-1<<60, 1<<60).Draw(t, "offset")
		delay := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Range(0, 1e9))
		var clock hostClock
		now, shortest := rapid.Int64Range(0, 1<<60).Draw(t, "now"), int64(1<<62)
		for range rapid.IntRange(1, asksAtOnce).Draw(t, "exchanges") {
			there, back := delay.Draw(t, "there"), delay.Draw(t, "back")
			clock.answered(now, now+there+offset, now+there+back)
			shortest = min(shortest, max(there+back, 1)) // one of less counts as one of 1 ns
			now += there + back + delay.Draw(t, "pause")
		}
		if off := clock.of(now) - (now + offset); 2*max(off, -off) > shortest+1 {
			t.Fatalf("%d ns off, the shortest exchange took %d ns", off, shortest)
		}
	})
}
