package main

import (
	"sync"
	"sync/atomic"
	"time"

	"meridian/clock"
)

const limitName = "limit: cycle counter and 64 bytes stored"

// limits are what hardware asks for: reading the cycle counter and storing 64 bytes, into as much memory as a ring has,
// and an atomic load, which is what it takes to ask whether an event is wanted.
func (b *bench) limits() error {
	one, two := new(store), new(store)
	b.inside(limitName, "", one.fill)
	b.inside(twoLimitName, "", both(one.fill, two.fill))
	var flag atomic.Uint32
	b.inside(loadName, "", func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if flag.Load() != 0 {
				flag.Add(1)
			}
		}
		return time.Since(start), nil
	})
	return nil
}

const (
	twoLimitName = "limit, two goroutines"
	loadName     = "atomic load and a branch"
)

// store is as large as the ring of one writer.
type store struct {
	lines [1 << 20 / 64][8]uint64
	next  uint64
}

// fill stores n times 64 bytes, of which the first eight are the time. It is a function of its own to be compiled as
// writers of events are.
func (s *store) fill(n int) (time.Duration, error) {
	start := time.Now()
	for i := range uint64(n) {
		line := &s.lines[s.next%uint64(len(s.lines))]
		line[0] = clock.Cycles()
		line[1], line[2], line[3], line[4] = i, i+1, i+2, i+3
		line[5], line[6], line[7] = i+4, i+5, i+6
		s.next++
	}
	return time.Since(start), nil
}

// both runs two contenders at the same time, n events each, and returns how long the slower took: the time of an event
// if the writers do not disturb each other, is that of one.
func both(one, two func(int) (time.Duration, error)) func(int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		var took [2]time.Duration
		var errs [2]error
		var ready atomic.Int32
		var done sync.WaitGroup
		for i, run := range []func(int) (time.Duration, error){one, two} {
			done.Go(func() {
				for ready.Add(1); ready.Load() < 2; { // on two processors before either begins
				}
				took[i], errs[i] = run(n)
			})
		}
		done.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		return max(took[0], took[1]), nil
	}
}
