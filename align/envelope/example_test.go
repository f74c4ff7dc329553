package envelope_test

import (
	"fmt"

	"meridian/align/envelope"
	"meridian/clock"
	"meridian/trace"
)

// Follow db's clock while messages come in, without keeping them.
func ExampleStream() {
	// The clock of db is 2 ms ahead and runs 20 ppm fast. Every message takes 50 µs, and what queues add.
	onDB := func(web clock.HostTime) clock.HostTime { return web + 2_000_000 + web/50_000 }
	var s envelope.Stream
	for i := range clock.HostTime(6000) {
		sent := i * 10_000_000
		arrived := sent + 50_000 + i*7919%30_011
		back := arrived + 200_000 + 50_000 + i*104_729%30_011
		s.AB.Add(trace.Message{Sent: sent, Received: onDB(arrived)})
		s.BA.Add(trace.Message{Sent: onDB(arrived + 200_000), Received: back})
	}
	smoothed, ok := s.Smooth()
	if !ok {
		fmt.Println("too few messages")
		return
	}
	const web = 30_000_000_000
	fmt.Println("after 30 s db is ahead by", (smoothed.Curve.At(web, clock.Nearest)-web)/1000, "µs")
	// Output:
	// after 30 s db is ahead by 2600 µs
}
