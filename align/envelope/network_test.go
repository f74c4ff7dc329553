package envelope_test

import (
	"context"
	"math"
	"testing"

	"meridian/align/envelope"
	"meridian/clock"
	"meridian/trace"
)

func TestNetworksWhoseFieldsDoNotFitAreRefused(t *testing.T) {
	valid := func() *envelope.Network {
		line := clock.PairIdentity().Mid
		n := &envelope.Network{
			Clocks: make([]trace.Clock, 2), Start: []clock.PairCurve{line, line}, Sigma: []float64{1e-9, 1e-9},
			Channels: []trace.Channel{{From: 0, To: 1}, {From: 1, To: 0}}, Least: make([]int64, 2),
		}
		for i := range 40 {
			m := trace.Message{Sent: clock.HostTime(i) * 1e6, Received: clock.HostTime(i)*1e6 + 1000}
			n.Channels[i%2].Messages = append(n.Channels[i%2].Messages, m)
		}
		return n
	}
	if _, err := envelope.Joint(context.Background(), valid()); err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.Joint(context.Background(), nil); err == nil {
		t.Error("no network was taken for one")
	}
	for name, spoil := range map[string]func(n *envelope.Network){
		"no clocks":         func(n *envelope.Network) { *n = envelope.Network{} },
		"too few curves":    func(n *envelope.Network) { n.Start = n.Start[:1] },
		"no curve":          func(n *envelope.Network) { n.Start[1] = nil },
		"too few wanders":   func(n *envelope.Network) { n.Sigma = n.Sigma[:1] },
		"no wander":         func(n *envelope.Network) { n.Sigma[1] = 0 },
		"wander no number":  func(n *envelope.Network) { n.Sigma[1] = math.NaN() },
		"infinite wander":   func(n *envelope.Network) { n.Sigma[1] = math.Inf(1) },
		"too few least":     func(n *envelope.Network) { n.Least = n.Least[:1] },
		"unknown reference": func(n *envelope.Network) { n.Reference = 2 },
		"unknown sender":    func(n *envelope.Network) { n.Channels[0].From = -1 },
		"unknown receiver":  func(n *envelope.Network) { n.Channels[0].To = 2 },
		"to itself":         func(n *envelope.Network) { n.Channels[0].To = 0 },
		"extent too late":   func(n *envelope.Network) { n.Clocks[1].Last = clock.Limit },
	} {
		n := valid()
		spoil(n)
		if _, err := envelope.Joint(context.Background(), n); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStampsBeyondTheLimitAreLeftOut(t *testing.T) {
	for _, damaged := range []clock.HostTime{math.MinInt64, -clock.Limit, clock.Limit, math.MaxInt64} {
		var with, without envelope.Stream
		for i := range 200 {
			at := clock.HostTime(i) * 1e6
			for _, s := range []*envelope.Stream{&with, &without} {
				s.AB.Add(trace.Message{Sent: at, Received: at + 1000})
				s.BA.Add(trace.Message{Sent: at, Received: at + 1000})
			}
			with.AB.Add(trace.Message{Sent: damaged, Received: at})
			with.BA.Add(trace.Message{Sent: at, Received: damaged})
		}
		got, ok := with.Smooth()
		want, _ := without.Smooth()
		if !ok || got.Curve.At(1e8, clock.Nearest) != want.Curve.At(1e8, clock.Nearest) {
			t.Errorf("stamps of %d count", damaged)
		}
	}
}
