package quality_test

import (
	"fmt"

	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

const web, db = 0, 1

// problem is two requests and their answers. The clock of db is 2 ms ahead.
var problem = &trace.Problem{
	Clocks: []trace.Clock{{Name: "web", Granularity: 1}, {Name: "db", Granularity: 1}},
	Channels: []trace.Channel{
		{From: web, To: db, Messages: []trace.Message{{Sent: 0, Received: 2_060_000}, {Sent: 1_000_000, Received: 3_050_000}}},
		{From: db, To: web, Messages: []trace.Message{{Sent: 2_300_000, Received: 355_000}, {Sent: 3_300_000, Received: 1_350_000}}},
	},
}

// maps has db 90 µs too early, within its bounds.
var maps = []clock.Map{clock.Identity(), {
	Mid:  clock.Curve{{X: 2_090_000, Y: 0}},
	Low:  clock.Curve{{X: 2_100_000, Y: 0}},
	High: clock.Curve{{X: 1_950_000, Y: 0}},
}}

// Count what an alignment gets wrong: messages received before they were sent, and those quicker than 20 µs.
func ExampleChannel() {
	for _, c := range problem.Channels {
		n := quality.Channel(&c, problem.Clocks, maps, 20_000)
		fmt.Println("from", problem.Clocks[c.From].Name, "inverted:", n.Inversions, "too fast:", n.TooFast, "quickest:", n.Quickest/1000, "µs")
	}
	// Output:
	// from web inverted: 2 too fast: 2 quickest: -40 µs
	// from db inverted: 0 too fast: 0 quickest: 140 µs
}

// Ask how exact a clock's map is at the clock's own events.
func ExampleAccuracyOf() {
	a := quality.AccuracyOf(problem, &maps[db], db)
	fmt.Println(a.Events, "events of db, each wrong by at most", a.Worst/1000, "µs")
	// Output:
	// 4 events of db, each wrong by at most 140 µs
}

// Measure the network without any alignment: no offset changes how long the quickest exchange was on its way.
func ExampleRoundTrip() {
	roundTrip, ok := quality.RoundTrip(problem.Channels[0].Messages, problem.Channels[1].Messages)
	fmt.Println(roundTrip/1000, "µs", ok)
	// Output:
	// 100 µs true
}
