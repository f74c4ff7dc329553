package align_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"meridian/align"
	"meridian/internal/sim"
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
	n := 30_000
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

// Two clocks have one path, which is known exactly. Others may not make it a sampled one.
func TestTwoClocksAreBoundedAsIfThereWereNoOthers(t *testing.T) {
	hosts := linearHosts(5)
	traffic := sim.Traffic{Hosts: hosts[:2], Start: epoch, Span: 5 * time.Minute, Seed: 7, Links: []sim.Link{
		{From: 0, To: 1, Period: 7 * time.Second, Delay: quick, Back: &quick},
	}}
	alone, p := solve(t, traffic, align.Options{Reference: "host0"})
	traffic.Hosts = hosts
	traffic.Links = append(traffic.Links, sim.Link{From: 2, To: 3, Period: time.Minute, Delay: slow, Back: &slow},
		sim.Link{From: 3, To: 4, Period: time.Minute, Delay: slow, Back: &slow})
	others, _ := solve(t, traffic, align.Options{Reference: "host0"})
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			at := m.Sent
			if c.From != 1 {
				at = m.Received
			}
			low, high, _, _ := alone.Maps[1].Bounds(at)
			if gotLow, gotHigh, ok, both := others.Maps[1].Bounds(at); gotLow != low || gotHigh != high || !ok || !both {
				t.Fatalf("at %d: %d..%d in company, %d..%d alone", at, gotLow, gotHigh, low, high)
			}
		}
	}
}
