package live

import (
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// TestMessagesDoNotWaitForOneThatWasSentFarAhead has a message whose sending lies an hour ahead, as of a clock that was set before that was found. Those that
// the same host receives behind it come while the directories grow, and that one at the end.
func TestMessagesDoNotWaitForOneThatWasSentFarAhead(t *testing.T) {
	t.Parallel()
	const seconds = 8
	traces, sent := exchange(t, t.TempDir(), seconds)
	all, in := growing(t, traces)
	now := time.Unix(5, 0)
	var w trace.Warnings
	s, err := New(Options{Inputs: in, Rows: true, Messages: true, Now: func() time.Time { return now }}, &w)
	if err != nil {
		t.Fatal(err)
	}
	x := &endSink{s: s, ends: make(map[uint64][]shownEnd)}
	s.To(x)
	growTo(t, s, &now, all, seconds, 0, 0.5)
	const middle = origin + seconds*500_000_000
	s.packets.ends.add(foundMessage{from: s.inputs[0], to: s.inputs[1], steps: [2]int64{1, 1},
		Message: trace.Message{Sent: middle + hour, Received: clock.HostTime(clockB(middle - 1_000_000_000))}})
	growTo(t, s, &now, all, seconds, 0.5, 1)
	behind := 0
	for flow, ends := range x.ends {
		if from, _ := pairEnds(t, flow, ends); from.Event.Time > middle && s.Schema().Hosts[from.Host] == "a" {
			behind++
		}
	}
	while := len(x.ends)
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if behind < 50 { // a second's
		t.Errorf("%d of %d messages are from behind it", behind, while)
	}
	if len(x.ends) != len(sent)+1 {
		t.Errorf("%d of %d messages came at the end", len(x.ends), len(sent)+1)
	}
}
