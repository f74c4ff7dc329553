package picl_test

import (
	"os"

	"meridian/clock"
	"meridian/format/picl"
	"meridian/trace"
)

func ExampleNewWriter() {
	w, err := picl.NewWriter(os.Stdout, &trace.Schema{
		Hosts: []string{"node0"}, Streams: []trace.Stream{{Name: "rank 0", Host: "node0", Kind: trace.Process}}, Classes: []trace.Class{{Name: "solve"}},
	}, picl.Options{SinceFirst: true})
	if err != nil {
		panic(err)
	}
	phase := trace.Begin
	for _, t := range []clock.TimelineTime{5_000_000_000, 5_250_000_000} {
		if err := w.Write(&trace.TimelineEvent{Event: trace.Event{Phase: phase}, Time: t, Low: t, High: t}); err != nil {
			panic(err)
		}
		phase = trace.End
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	// Output:
	// -3 -901 0.000000000 0 0 0
	// -3 -911 0.000000000 0 0 3 "%d %s %s" 7 trace _
	// -4 -911 0.000000000 0 0 0
	// -3 -911 0.000000000 0 0 6 "%d %s %s %s %s %s" 44 times are seconds since 1970-01-01T00:00:05Z
	// -4 -911 0.000000000 0 0 0
	// -3 -911 0.000000000 0 0 5 "%d %s %s %s %s" 15 node 0 is node0
	// -4 -911 0.000000000 0 0 0
	// -3 -911 0.000000000 0 0 5 "%d %s %s %s %s" 16 task 0 is rank_0
	// -4 -911 0.000000000 0 0 0
	// -3 -911 0.000000000 0 0 5 "%d %s %s %s %s" 16 event 1 is solve
	// -4 -911 0.000000000 0 0 0
	// -3 1 0.000000000 0 0 0
	// -4 1 0.250000000 0 0 0
	// -4 -901 0.250000000 0 0 0
}
