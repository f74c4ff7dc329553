package live

import (
	"testing"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

// TestMessagesThatStayReversedAreCounted: the bounds of a receipt may end before the place at which its sending was shown.
func TestMessagesThatStayReversedAreCounted(t *testing.T) {
	t.Parallel()
	s := new(Session)
	for _, x := range []struct {
		moved, high clock.TimelineTime // of an event at 100, that its sending at 150 moves
		violation   bool
		at          clock.TimelineTime
		inverted    int64
	}{
		{150, 200, false, 150, 0},
		{150, 120, false, 120, 1},
		{150, 120, true, 120, 0}, // counted as a violation
	} {
		s.inverted = 0
		r, n := trace.TimelineEvent{Time: x.moved, Low: 90, High: x.high, Bounded: true}, order.Note{Moved: time.Duration(x.moved - 100), Repaired: true, Violation: x.violation}
		if s.keepWithin(&r, &n); r.Time != x.at || s.inverted != x.inverted || n.Late != (x.at < x.moved) {
			t.Errorf("%+v: at %d, %d inverted, %+v", x, r.Time, s.inverted, n)
		}
	}
}
