package live

import (
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/order"
)

func TestTheFirstMessageThatBoundsExcludeIsNamedByItsEvents(t *testing.T) {
	o := &Outcome{hosts: []string{"web", "db"}}
	o.Violations = 3
	o.Excluded = &order.ExcludedMessage{From: 1, To: 0, Sent: clock.TimelineTime(2e9 + 5), Received: clock.TimelineTime(1e9), By: time.Millisecond}
	want := "3 messages were received before they were sent by the bounds of both ends, the first by at least 1.000 ms: " +
		"sent by db at 1970-01-01T00:00:02.000000005Z, received by web at 1970-01-01T00:00:01.000000000Z of the timeline: a bound or a timestamp is wrong"
	if got := o.Reversed(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o = &Outcome{}
	o.Inverted = 1
	if got := o.Reversed(); strings.Contains(got, "first") {
		t.Errorf("%q", got)
	}
}
