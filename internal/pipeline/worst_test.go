package pipeline

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestTheWorstBoundSaysHowFarItsMessagesAre(t *testing.T) {
	channels := []trace.Channel{
		{From: 0, To: 1, Messages: []trace.Message{{Sent: 10, Received: 1010}, {Sent: 50, Received: 1050}}},
		{From: 1, To: 0, Messages: []trace.Message{{Sent: 1020, Received: 20}}},
		{From: 1, To: 2, Messages: []trace.Message{{Sent: 1040, Received: 7}}},
		{From: 0, To: 0, Messages: []trace.Message{{Sent: 33, Received: 34}}}, // of a host with itself
	}
	const none = -1
	for _, c := range []struct {
		host, at     int
		since, until int64
	}{{0, 35, 15, 15}, {0, 5, none, 5}, {0, 60, 10, none}, {0, 50, 0, 0}, {1, 1030, 10, 10}, {2, 7, 0, 0}, {3, 7, none, none}} {
		since, until := messagesAround(channels, c.host, clock.HostTime(c.at))
		for _, x := range []struct {
			what string
			got  *int64
			want int64
		}{{"since", since, c.since}, {"until", until, c.until}} {
			if (x.got == nil) != (x.want == none) || x.got != nil && *x.got != x.want {
				t.Errorf("clock %d at %d: %s %v, want %d", c.host, c.at, x.what, x.got, x.want)
			}
		}
	}
}
