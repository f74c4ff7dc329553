package bound_test

import (
	"fmt"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// Bound db's clock at any instant of web's, from two exchanges ten seconds apart.
func ExampleNew() {
	// The clock of db is 2 ms ahead; every message takes 50 µs.
	p := &pair.Problem{
		A: trace.Clock{Name: "web", Granularity: 1, First: 0, Last: 10_000_100_000},
		B: trace.Clock{Name: "db", Granularity: 1, First: 2_050_000, Last: 10_002_050_000},
		AB: pair.Messages{{
			{Sent: 0, Received: 2_050_000}, {Sent: 10_000_000_000, Received: 10_002_050_000},
		}},
		BA: pair.Messages{{
			{Sent: 2_050_000, Received: 100_000}, {Sent: 10_002_050_000, Received: 10_000_100_000},
		}},
	}
	corridor := bound.New(p, bound.Default)
	fmt.Println(bound.Default)
	for _, at := range []clock.HostTime{5_000_000_000, 60_000_000_000} {
		low, high, lowOK, highOK, ok := corridor.At(at)
		if ok && lowOK && highOK {
			fmt.Println("db is ahead by", (low-at)/1000, "to", (high-at)/1000, "µs")
		}
	}
	// Output:
	// the offset of any two clocks departs from its tangent at any instant by no more than 100 ns + 30 ns·s²/2 over s seconds, and their skew is at most 500 ppm
	// db is ahead by 1949 to 2050 µs
	// db is ahead by 1403 to 2596 µs
}
