package gnuplot

import (
	"math/rand/v2"

	"meridian/clock"
	"meridian/trace"
)

// scene is three hosts that ask each other, with nested slices, ticks, bounds, and one message that arrives before it
// was sent. Names are given, so that they may be hostile.
func scene(n int, name func(string) string) (*trace.Schema, []trace.TimelineEvent) {
	l := &trace.Schema{Title: name("three hosts"), Method: name("envelope smoother"), Hosts: []string{name("web"), name("app"), name("db")}}
	for _, h := range l.Hosts {
		l.Streams = append(l.Streams, trace.Stream{Name: name("worker 7"), Host: h, Kind: trace.Thread, ID: 7, Parent: -1},
			trace.Stream{Name: name("CPU 0"), Host: h, Kind: trace.CPU, Parent: -1})
	}
	for _, c := range []string{"request", "parse", "query", "irq", "wakeup"} {
		l.Classes = append(l.Classes, trace.Class{Name: name(c)})
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []trace.TimelineEvent
	at := clock.TimelineTime(1_763_732_327_000_000_000)
	add := func(ns int64, host, stream, class int, p trace.Phase, flow uint64, role trace.Role) {
		all = append(all, trace.TimelineEvent{Host: host, Bounded: true, Low: at + clock.TimelineTime(ns) - 15_000, High: at + clock.TimelineTime(ns) + 20_000,
			Event: trace.Event{Stream: host*2 + stream, Class: class, Phase: p, Flow: flow, Role: role}, Time: at + clock.TimelineTime(ns)})
	}
	for i := range n {
		f := uint64(2*i + 2)
		a, b := i%3, (i+1)%3
		d := int64(60_000 + r.IntN(60_000))
		work := int64(200_000 + r.IntN(300_000))
		add(0, a, 0, 0, trace.Begin, 0, 0)
		add(30_000, a, 0, 1, trace.Begin, 0, 0)
		add(80_000, a, 0, 1, trace.End, 0, 0)
		add(100_000, a, 0, 0, trace.Instant, f, trace.Sends)
		arrival := 100_000 + d
		if i == n/2 {
			arrival = 80_000
		}
		add(arrival, b, 0, 2, trace.Begin, f, trace.Receives)
		for k := range 4 {
			add(arrival+int64(k)*40_000, b, 1, 4, trace.Instant, 0, 0)
		}
		add(arrival+work/3, b, 1, 3, trace.Begin, 0, 0)
		add(arrival+work/2, b, 1, 3, trace.End, 0, 0)
		add(arrival+work, b, 0, 2, trace.End, f+1, trace.Sends)
		add(arrival+work+d, a, 0, 0, trace.End, f+1, trace.Receives)
		at += clock.TimelineTime(arrival + work + d + 50_000)
	}
	return l, all
}
