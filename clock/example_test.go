package clock_test

import (
	"fmt"
	"log"
	"time"

	"meridian/clock"
)

// Carry a host's stamp to the timeline: the estimate, and the interval in which the event lies.
func ExampleMapOf() {
	// The host is 5 µs slow at 1 s and 7 µs slow at 2 s, known to 1 µs.
	const s = clock.HostTime(time.Second)
	curve := func(off clock.TimelineTime) clock.Curve {
		return clock.Curve{{X: s, Y: clock.TimelineTime(s) + 5000 + off}, {X: 2 * s, Y: clock.TimelineTime(2*s) + 7000 + off}}
	}
	m := clock.Map{Mid: curve(0), Low: curve(-1000), High: curve(1000)}
	if err := m.Mid.Check(); err != nil {
		log.Fatal(err)
	}
	stamp := s + 500_000_000
	low, high, lowOK, highOK := m.Bounds(stamp)
	fmt.Println(m.At(stamp), low, high, lowOK && highOK)
	// Output: 1500006000 1500005000 1500007000 true
}

// The order of two events is certain only if their intervals do not overlap.
func ExampleMapOf_Bounds() {
	around := func(offset clock.TimelineTime) clock.Map {
		return clock.Map{Mid: clock.Curve{{X: 0, Y: offset}}, Low: clock.Curve{{X: 0, Y: offset - 300}}, High: clock.Curve{{X: 0, Y: offset + 300}}}
	}
	web, db := around(0), around(1000)
	order := func(onWeb, onDB clock.HostTime) string {
		webLow, webHigh, _, _ := web.Bounds(onWeb)
		dbLow, dbHigh, _, _ := db.Bounds(onDB)
		switch {
		case webHigh < dbLow:
			return "web first"
		case dbHigh < webLow:
			return "db first"
		}
		return "undecided"
	}
	fmt.Println(order(5000, 4900))
	fmt.Println(order(5000, 4200))
	// Output:
	// web first
	// undecided
}

// Many stamps that mostly move forward need no search.
func ExampleCursorOf() {
	c := clock.NewCursor(clock.Curve{{X: 0, Y: 100}, {X: 1000, Y: 1200}, {X: 2000, Y: 2200}})
	for _, t := range []clock.HostTime{0, 500, 1500, 2500} {
		fmt.Println(c.At(t))
	}
	// Output:
	// 100
	// 650
	// 1700
	// 2700
}

// From a to b, and from b to the timeline: bounds stay bounds.
func ExampleComposeMaps() {
	ab := clock.PairMap{Mid: clock.PairCurve{{X: 0, Y: 50}}, Low: clock.PairCurve{{X: 0, Y: 40}}, High: clock.PairCurve{{X: 0, Y: 60}}}
	b := clock.Map{Mid: clock.Curve{{X: 0, Y: 7}}, Low: clock.Curve{{X: 0, Y: 5}}, High: clock.Curve{{X: 0, Y: 9}}}
	a := clock.ComposeMaps(&ab, &b)
	low, high, _, _ := a.Bounds(1000)
	fmt.Println(a.At(1000), low, high)
	// Output: 1057 1045 1069
}

// Choose the clock that this machine stamps events by, and read it.
func ExampleBest() {
	choice := clock.Best()
	before := clock.Cycles()
	fmt.Println(choice.Source != clock.None, clock.Cycles() >= before)
	// Output: true true
}
