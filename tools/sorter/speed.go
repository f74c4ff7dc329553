package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"meridian/clock"
	"meridian/order"
	"meridian/trace"
)

const (
	speedStreams = 64
	speedFields  = 6
	speedBatch   = 1000 // events whose time is taken at once: so few that most batches are not interrupted
)

// printSpeed prints the median time of an event over batches, which is not that of other programs on the machine.
func printSpeed(w io.Writer, events int) (ok bool, err error) {
	times, err := speed(events)
	if err != nil {
		return false, err
	}
	slices.Sort(times)
	ns := float64(times[len(times)/2]) / speedBatch
	verdict(w, ns < 1000, "an event of %d integers, of %d streams, takes %.0f ns (median of %d batches of %d)", speedFields, speedStreams, ns, len(times), speedBatch)
	return ns < 1000, nil
}

// speed returns the times of batches: events come every microsecond, 300 us late, and the sorter advances every millisecond
// with a frame of 20 ms, which holds 20,000 events.
func speed(events int) (times []time.Duration, err error) {
	s := order.NewSorter(order.SorterOptions{})
	record := trace.TimelineEvent{Map: -1, Values: make([]trace.Value, speedFields), Bounded: true}
	for i := range record.Values {
		record.Values[i] = trace.OfInt(int64(1000 * i))
	}
	var sum int64
	emit := func(r *trace.TimelineEvent, _ order.Note) error {
		sum += r.Values[speedFields-1].Int()
		return nil
	}
	now := origin
	for n := 0; n < events || len(times) < 3; {
		start := time.Now()
		for range speedBatch {
			n++
			now += 1000
			record.Stream = n * 37 % speedStreams
			record.Host, record.Time = record.Stream/16, now-300_000
			record.Event.Time, record.Low, record.High = clock.HostTime(record.Time), record.Time-100, record.Time+100
			if err := s.Push(&record); err != nil {
				return nil, err
			}
			if n%1000 == 0 {
				if err := s.Advance(now, emit); err != nil {
					return nil, err
				}
			}
		}
		if n > 100*speedBatch { // memory has been made
			times = append(times, time.Since(start))
		}
	}
	if sum == 0 {
		return nil, fmt.Errorf("nothing was emitted")
	}
	return times, nil
}
