package pair_test

import (
	"fmt"
	"log"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// webAndDB is ten seconds in which web asks db ten times a second. Every message takes 50 µs or a little more. The clock of
// db is 2 ms ahead and runs 20 ppm fast.
func webAndDB() *pair.Problem {
	onDB := func(web clock.HostTime) clock.HostTime { return web + 2_000_000 + web/50_000 }
	var asked, answered []trace.Message
	for i := range clock.HostTime(100) {
		sent := i * 100_000_000
		arrived := sent + 50_000 + i*7919%30_000
		left := arrived + 200_000
		back := left + 50_000 + i*104_729%30_000
		asked = append(asked, trace.Message{Sent: sent, Received: onDB(arrived)})
		answered = append(answered, trace.Message{Sent: onDB(left), Received: back})
	}
	return &pair.Problem{
		A: trace.Clock{Name: "web", Granularity: 1, First: 0, Last: asked[99].Sent + 1_000_000}, AB: pair.Messages{asked},
		B: trace.Clock{Name: "db", Granularity: 1, First: 0, Last: onDB(asked[99].Sent + 1_000_000)}, BA: pair.Messages{answered},
	}
}

// Learn how db's clock runs against web's, with strict bounds.
func ExampleHull() {
	e := pair.Hull(webAndDB())
	fmt.Printf("fit %v, db runs %.0f ppm fast, for certain between %.0f and %.0f\n", e.Fit, e.Skew, e.SkewLow, e.SkewHigh)
	const web = 5_000_000_000 // true offset then: 2,000 µs + 20 ppm of 5 s
	low, high, _, _ := e.Map.Bounds(web)
	fmt.Println("db is ahead by", (e.Map.At(web)-web)/1000, "µs, for certain between", (low-web)/1000, "and", (high-web)/1000)
	// Output:
	// fit exact, db runs 20 ppm fast, for certain between 9 and 31
	// db is ahead by 2099 µs, for certain between 2049 and 2150
}

// See what a client of NTP would have made of the same messages.
func ExampleNTP() {
	e, err := pair.NTP(webAndDB())
	if err != nil {
		log.Fatal(err)
	}
	const web = 5_000_000_000
	fmt.Println("set", e.Exchanges, "times, db is ahead by", (e.Map.At(web)-web)/1000, "µs")
	// Output:
	// set 24 times, db is ahead by 2089 µs
}

// Take a line for each two seconds of clocks that are not linear for long.
func ExampleSegmented() {
	hull := func(p *pair.Problem) (pair.Estimate, error) { return pair.Hull(p), nil }
	e, err := pair.Segmented(webAndDB(), 2_000_000_000, hull)
	if err != nil {
		log.Fatal(err)
	}
	for at := clock.HostTime(1_000_000_000); at < 10_000_000_000; at += 2_000_000_000 {
		fmt.Println("after", int64(at)/1_000_000_000, "s db is ahead by", (e.Map.At(at)-at)/1000, "µs")
	}
	// Output:
	// after 1 s db is ahead by 2017 µs
	// after 3 s db is ahead by 2059 µs
	// after 5 s db is ahead by 2099 µs
	// after 7 s db is ahead by 2141 µs
	// after 9 s db is ahead by 2177 µs
}
