package align_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"meridian/align"
	"meridian/clock"
	"meridian/trace"
)

// twoHosts is a minute in which web asks db ten times a second. Each message takes 100 µs or a little more. The clock of db
// is 1.5 s ahead and runs 20 ppm fast.
func twoHosts() *trace.Problem {
	onDB := func(web int64) int64 { return web + 1_500_000_000 + web/50_000 }
	var requests, answers []trace.Message
	for i := range int64(600) {
		sent := i * 100_000_000
		arrived := clock.HostTime(sent+100_000) + clock.HostTime(i*7919%30_000)
		left := arrived + 250_000
		back := left + 100_000 + clock.HostTime(i*104_729%30_000)
		requests = append(requests, trace.Message{Sent: clock.HostTime(sent), Received: clock.HostTime(onDB(int64(arrived)))})
		answers = append(answers, trace.Message{Sent: clock.HostTime(onDB(int64(left))), Received: back})
	}
	return &trace.Problem{
		// The extents of the clocks are left zero: they are those of the messages then.
		Clocks: []trace.Clock{{Name: "web", Host: "web", Granularity: 1}, {Name: "db", Host: "db", Granularity: 1}},
		Channels: []trace.Channel{
			{From: 0, To: 1, Messages: requests},
			{From: 1, To: 0, Messages: answers},
		},
	}
}

// Align two hosts by their messages, then carry a stamp of one to the timeline, which follows the other.
func ExampleSolve() {
	s, err := align.Solve(context.Background(), twoHosts(), align.Options{Reference: "web"})
	if err != nil {
		log.Fatal(err)
	}
	const stamp = 31_500_600_000 // on db's clock: web shows 30 s
	db := &s.Maps[1]
	low, high, lowOK, highOK := db.Bounds(stamp)
	fmt.Println("bounded:", lowOK && highOK)
	fmt.Printf("web showed %.3f s, between %.3f s and %.3f s\n", float64(db.At(stamp))/1e9, float64(low)/1e9, float64(high)/1e9)
	fmt.Println(s.Quality.Inversions, "messages arrive before they were sent")
	// Output:
	// bounded: true
	// web showed 30.000 s, between 30.000 s and 30.000 s
	// 0 messages arrive before they were sent
}

// Choose a published method, and the time that a message takes at least.
func ExampleOptions() {
	fmt.Println(align.Methods())
	s, err := align.Solve(context.Background(), twoHosts(), align.Options{Method: "hull", MinDelay: 90_000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Assumption)
	fmt.Println("too fast:", s.Quality.TooFast)
	// Output:
	// [envelope hull cones corridor regression regression-filtered lts two-point interval cristian ntp broadcast sampled]
	// every clock is linear over its trace: its skew is constant
	// too fast: 0
}

// Read what each two clocks say about each other.
func ExampleSolution_pairs() {
	p := twoHosts()
	s, err := align.Solve(context.Background(), p, align.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range s.Pairs {
		fmt.Printf("%s and %s: %d messages there, %d back\n", p.Clocks[x.A].Name, p.Clocks[x.B].Name, x.AB, x.BA)
		fmt.Printf("fit %v, skew %.0f ppm, quickest round trip %v\n", x.Estimate.Fit, x.Estimate.Skew, time.Duration(x.RoundTrip).Round(10*time.Microsecond))
	}
	// Output:
	// web and db: 600 messages there, 600 back
	// fit exact, skew 20 ppm, quickest round trip 200µs
}

// Run the stages one by one. Every stage can be run again: here the first maps are wanted before the bounds are tight.
func ExampleEstimate() {
	ctx := context.Background()
	estimated, err := align.Estimate(ctx, twoHosts(), align.Options{})
	if err != nil {
		log.Fatal(err)
	}
	placed, err := estimated.Place(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("components:", len(placed.Tree().References))
	bounded, err := placed.Bound()
	if err != nil {
		log.Fatal(err)
	}
	ordered, err := bounded.Order(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if again, err := ordered.Reconsider(ctx); again != nil || err != nil {
		log.Fatal("a step was none: run the stages again, from the new first one")
	}
	s, err := ordered.Solution(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("messages:", s.Quality.Messages)
	// Output:
	// components: 1
	// messages: 1200
}
