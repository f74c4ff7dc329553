package quality

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestOutsideCountsEveryEndOfAMessageBeyondABound(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		curve := func(name string) clock.Curve {
			var c clock.Curve
			y := rapid.Int64Range(-300, 300).Draw(t, name)
			for x := int64(0); x <= 1000; x += rapid.Int64Range(100, 500).Draw(t, name+" step") {
				c = append(c, clock.Knot{X: clock.HostTime(x), Y: clock.TimelineTime(x + y)})
				y += rapid.Int64Range(-90, 90).Draw(t, name+" rise")
			}
			return c
		}
		m := clock.Map{Mid: curve("mid")}
		if rapid.Bool().Draw(t, "has low") {
			m.Low = curve("low")
		}
		if rapid.Bool().Draw(t, "has high") {
			m.High = curve("high")
		}
		p := &trace.Problem{Channels: []trace.Channel{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}}}
		var want Outside
		see := func(stamp clock.HostTime) {
			at := m.At(stamp)
			low, high, lowOK, highOK := m.Bounds(stamp)
			below, above := lowOK && at < low-1, highOK && at > high+1 // a nanosecond is one of rounding
			if below || above {
				want.Events++
			}
			if below {
				want.Largest = max(want.Largest, int64(low-at))
			}
			if above {
				want.Largest = max(want.Largest, int64(at-high))
			}
		}
		for i := range p.Channels {
			c := &p.Channels[i]
			for range rapid.IntRange(0, 9).Draw(t, "messages") {
				x := trace.Message{Sent: clock.HostTime(rapid.Int64Range(0, 1000).Draw(t, "sent")), Received: clock.HostTime(rapid.Int64Range(0, 1000).Draw(t, "received"))}
				c.Messages = append(c.Messages, x)
				if c.From == 1 {
					see(x.Sent)
				}
				if c.To == 1 {
					see(x.Received)
				}
			}
		}
		if got := OutsideOf(p, &m, 1, 0, 1000); got != want {
			t.Fatalf("%+v, not %+v", got, want)
		}
	})
}
