package order_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

// shifted is the map of a clock that is so many ns ahead of the timeline.
func shifted(ahead int64) *clock.Map {
	return &clock.Map{Mid: clock.Curve{{X: clock.HostTime(ahead), Y: 0}}}
}

// capture is a capture in memory. A package of format reads files.
type capture []trace.Frame

func (c *capture) Next(f *trace.Frame) error {
	if len(*c) == 0 {
		return io.EOF
	}
	*f, *c = (*c)[0], (*c)[1:]
	return nil
}

func (c *capture) Interfaces() []trace.Interface { return []trace.Interface{{Name: "eth0"}} }

// Merge the captures of two hosts. The clock of db is a second ahead.
func ExampleMerge() {
	web := &capture{{Number: 0, Time: 100_000, Data: []byte("request")}, {Number: 1, Time: 900_000, Data: []byte("answer")}}
	db := &capture{{Number: 0, Time: 1_000_300_000, Data: []byte("request")}, {Number: 1, Time: 1_000_700_000, Data: []byte("answer")}}
	hosts := []string{"web", "db"}
	sources := []order.Source{{Frames: web, Map: shifted(0)}, {Frames: db, Map: shifted(1_000_000_000)}}
	_, err := order.Merge(context.Background(), sources, func(source int, at clock.TimelineTime, f *trace.Frame) error {
		fmt.Printf("%d µs %s %s\n", at/1000, hosts[source], f.Data)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 100 µs web request
	// 300 µs db request
	// 700 µs db answer
	// 900 µs web answer
}

// Find where a capture's clock was set back: each run is in order, so that Merge can take it as a source of its own.
func ExampleRuns() {
	var stamps []clock.HostTime // ns
	for _, from := range []clock.HostTime{5_000_000, 1_000_000} {
		for i := range clock.HostTime(20) {
			stamps = append(stamps, from+1000*i)
		}
	}
	runs, disorder := order.Runs(slices.All(stamps), 1000, order.MaxExcursion, 10)
	fmt.Println(runs, disorder.Frames)
	// Output:
	// [{0 20} {20 40}] 0
}

// Push db's clock forward where a request arrives before it was sent.
func ExampleControlled() {
	const web, db = 0, 1
	p := &trace.Problem{
		Clocks: []trace.Clock{{Name: "web", Granularity: 1}, {Name: "db", Granularity: 1}},
		Channels: []trace.Channel{
			{From: web, To: db, Messages: []trace.Message{{Sent: 1_000_000, Received: 970_000}}}, // 30 µs too early
		},
	}
	estimates := []clock.Map{*shifted(0), *shifted(0)}
	curves, repairs, err := order.Controlled(p, estimates, order.ControlledOptions{
		MinDelay: func(from, to int) int64 { return 20_000 },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("inverted:", repairs.Inverted, "remaining:", repairs.Remaining)
	fmt.Println("sent at", curves[web].At(1_000_000, clock.Nearest)/1000, "µs, received at", curves[db].At(970_000, clock.Nearest)/1000, "µs")
	// Output:
	// inverted: 1 remaining: 0
	// sent at 1000 µs, received at 1020 µs
}

// An event that comes behind a later one is noted, and the frame grows to what would have kept it in order: at 125 ms what is behind it was released.
func ExampleSorter() {
	s := order.NewSorter(order.SorterOptions{Frame: 20 * time.Millisecond})
	emit := func(r *trace.TimelineEvent, n order.Note) error {
		fmt.Printf("host %d at %v", r.Host, time.Duration(r.Time))
		if n.Late {
			fmt.Printf(", late: %v behind", n.Behind)
		}
		fmt.Println()
		return nil
	}
	push := func(host int, at time.Duration) {
		r := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Stream: host}, Host: host, Map: -1, Time: clock.TimelineTime(at)}
		if err := s.Push(&r); err != nil {
			fmt.Println(err)
		}
	}
	advance := func(now time.Duration) {
		if err := s.Advance(clock.TimelineTime(now), emit); err != nil {
			fmt.Println(err)
		}
	}
	push(0, 105*time.Millisecond)
	push(1, 100*time.Millisecond)
	advance(110 * time.Millisecond)
	advance(125 * time.Millisecond)
	push(1, 101*time.Millisecond)
	advance(130 * time.Millisecond)
	fmt.Println("frame", s.Frame())
	// Output:
	// host 1 at 100ms
	// host 0 at 105ms
	// host 1 at 101ms, late: 4ms behind
	// frame 24ms
}
