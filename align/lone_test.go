package align_test

import (
	"context"
	"strconv"
	"testing"

	"meridian/align"
	"meridian/trace"
)

// loneClocks returns a problem of two clocks with messages both ways and any number without messages.
func loneClocks(n int) *trace.Problem {
	p := &trace.Problem{Channels: []trace.Channel{
		{From: 0, To: 1, Messages: []trace.Message{{Sent: 0, Received: 10}, {Sent: 1e9, Received: 1e9 + 10}}},
		{From: 1, To: 0, Messages: []trace.Message{{Sent: 20, Received: 30}, {Sent: 1e9 + 20, Received: 1e9 + 30}}},
	}}
	for i := range n {
		p.Clocks = append(p.Clocks, trace.Clock{Name: "c" + strconv.Itoa(i), Granularity: 1})
	}
	return p
}

// With a cost that is quadratic in the clocks, this test does not end.
func TestClocksWithoutMessagesTakeLinearTime(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for _, strategy := range align.Networks() {
		o := align.Options{Network: strategy}
		s, err := align.Solve(context.Background(), loneClocks(n), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.References) != n-1 || s.Component[n-1] != n-2 || s.Reference(n-1) != n-1 {
			t.Errorf("%s: %d components", strategy, len(s.References))
		}
	}
}
