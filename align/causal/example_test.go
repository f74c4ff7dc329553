package causal_test

import (
	"fmt"

	"meridian/align/causal"
	"meridian/clock"
	"meridian/trace"
)

// Change the estimate of db's clock no more than a request needs that seems to arrive before it was sent.
func ExampleRestoreOrder() {
	const web, db = 0, 1
	identity := clock.Curve{{X: 0, Y: 0}}
	p := &causal.Problem{
		Clocks: []trace.Clock{
			{Name: "web", Granularity: 1, First: 0, Last: 2_000_000_000},
			{Name: "db", Granularity: 1, First: 0, Last: 2_000_000_000},
		},
		Channels: []trace.Channel{{From: web, To: db, Messages: []trace.Message{
			{Sent: 500_000_000, Received: 500_400_000},
			{Sent: 1_000_000_000, Received: 999_970_000}, // 30 µs early
			{Sent: 1_500_000_000, Received: 1_500_400_000},
		}}},
		Maps: []clock.Map{
			clock.Identity(),
			{Mid: identity, Low: clock.Curve{{X: 0, Y: -100_000}}, High: clock.Curve{{X: 0, Y: 100_000}}},
		},
		Fixed: []bool{true, false}, // web is the reference
	}
	curves, ok := causal.RestoreOrder(p)
	fmt.Println("in order:", ok)
	const received clock.HostTime = 999_970_000
	moved := curves[db].At(received, clock.Nearest) - identity.At(received, clock.Nearest)
	fmt.Println("db is moved by", moved/1000, "µs")
	// Output:
	// in order: true
	// db is moved by 30 µs
}
