package sampled_test

import (
	"fmt"
	"log"

	"meridian/align/sampled"
	"meridian/clock"
	"meridian/trace"
)

// Align db by what it read of web's clock at the begin and at the end, as a tracer that synchronises around a run does.
func ExampleMap() {
	const web, db = 0, 1
	samples := []trace.Sample{ // db is 2 ms ahead at first, 3 ms after 100 s
		{Clock: db, Against: web, Host: 2_000_000, Reference: 0, Error: 20_000},
		{Clock: db, Against: web, Host: 100_003_000_000, Reference: 100_000_000_000, Error: 20_000},
	}
	m, err := sampled.Map(samples, sampled.Both)
	if err != nil {
		log.Fatal(err)
	}
	const at clock.HostTime = 50_002_500_000
	low, high, _, _ := m.Bounds(at)
	fmt.Println("db is ahead by", (at-m.At(at))/1000, "µs, between", (at-high)/1000, "and", (at-low)/1000)
	// Output:
	// db is ahead by 2500 µs, between 2480 and 2520
}
