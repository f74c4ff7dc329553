package online_test

import (
	"fmt"

	"meridian/align/online"
	"meridian/clock"
)

// exampleExchange is an exchange at local time at with a clock that is 1 ms ahead. Each way takes 5 us, the remote host 20 us.
func exampleExchange(at clock.HostTime) online.Exchange {
	const ahead = 1_000_000
	return online.Exchange{Sent: at, Received: at + 5_000 + ahead, Replied: at + 25_000 + ahead, Returned: at + 30_000}
}

func ExampleNew() {
	s, err := online.New(online.Default, online.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last clock.HostTime
	for i := range clock.HostTime(160) { // 16 a second
		x := exampleExchange(i * 62_500_000)
		s.Exchange(x)
		last = x.Returned
	}
	r := s.At(last)
	fmt.Println(r.Bounded, r.Low <= 1_000_000, r.High >= 1_000_000, r.Low <= r.Offset, r.Offset <= r.High)
	fmt.Println("least round trip", r.MinRTT, "ns, steps", r.Steps)
	// Output:
	// true true true true true
	// least round trip 10000 ns, steps 0
}

func ExampleSynchroniser_step() {
	s, err := online.New(online.Default, online.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var at clock.HostTime
	for range 160 {
		s.Exchange(exampleExchange(at))
		at += 62_500_000
	}
	x := exampleExchange(at)
	x.Received += 30_000 // the remote clock was set by three round trips
	x.Replied += 30_000
	stepped := s.Exchange(x)
	r := s.At(x.Returned)
	fmt.Println(stepped, r.Steps, r.Since >= x.Sent) // no bound spans the step
	// Output: true 1 true
}

func ExampleBrisk() {
	b, err := online.NewBrisk(3, 50_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, ahead := range []clock.HostTime{0, 400_000, 1_000_000} {
		x := online.Exchange{Sent: 0, Received: 5_000 + ahead, Replied: 25_000 + ahead, Returned: 30_000}
		if err := b.Exchange(i, x); err != nil {
			fmt.Println(err)
			return
		}
	}
	b.Round()
	// The last clock is the target. The others are 800 us behind on average, and only the first is further behind than that.
	fmt.Println(b.Correction(0), b.Correction(1), b.Correction(2))
	// Output: 1000000 0 0
}
