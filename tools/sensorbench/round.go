package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// contender is one way to record an event.
type contender struct {
	name  string
	keeps string // what is left of an event afterwards, and where; "" for nothing
	// run records n events and returns how long that took, without preparation and cleaning up.
	run func(n int) (time.Duration, error)
	// inside says that run works in this process, so that its allocations can be counted.
	inside bool
	other  bool // a tool that a Go program could use instead

	batch   int       // events a sample
	samples []float64 // ns an event
	allocs  float64   // an event
}

// measure takes samples of all contenders in turn, so that a slow minute of the machine affects all alike. A sample takes
// about the time given.
func measure(all []*contender, rounds int, sample time.Duration) error {
	for _, c := range all {
		if err := c.size(sample); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range rounds {
		for i := range all {
			c := all[(i+round)%len(all)] // no one always follows the same one
			took, err := c.run(c.batch)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.samples = append(c.samples, float64(took)/float64(c.batch))
		}
	}
	return nil
}

// size finds how many events fill a sample, warms the contender up by that, and counts its allocations.
func (c *contender) size(sample time.Duration) error {
	for c.batch = 64; ; c.batch *= 2 {
		took, err := c.run(c.batch)
		if err != nil {
			return err
		}
		if took >= sample/2 || c.batch >= 1<<24 {
			break
		}
	}
	if !c.inside {
		return nil
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.run(c.batch); err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(c.batch)
	return nil
}

// median is the middle sample, ns an event.
func (c *contender) median() float64 { return c.quantile(0.5) }

func (c *contender) quantile(q float64) float64 {
	s := slices.Sorted(slices.Values(c.samples))
	return s[int(q*float64(len(s)-1)+0.5)]
}
