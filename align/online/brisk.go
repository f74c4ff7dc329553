package online

import (
	"fmt"

	"meridian/clock"
)

// Brisk keeps many clocks near each other, not near the one that asks: section 3.3 of Bakić, Mutka and Rover, "BRISK: A Portable
// and Flexible Distributed Instrumentation System". In rounds, every clock is asked several times, and the differences from the
// asking clock are averaged. The clock furthest ahead is the target. Of the others those that are behind it by more than the average
// advance: by all they are behind where the average is above a threshold, else by a part, 0.7. No clock is ever set back, and
// between rounds nothing corrects their rates.
//
// Its error is the mean asymmetry of a round's delays, plus what the clocks drift apart in a round, plus what the conservative
// steps leave. It says no bound.
type Brisk struct {
	threshold  int64
	clocks     []briskClock
	at         []int64 // scratch: where each clock is, corrected, less the asking one
	roundsDone int
}

type briskClock struct {
	sum, n     int64
	base       int64 // the first offset of the round, so that sums stay small
	correction int64
}

// briskPart is by what part of its lag a clock advances where the average lag is small.
const briskPart = 0.7

// NewBrisk returns the synchroniser of n clocks with nothing corrected. threshold is in ns.
func NewBrisk(n int, threshold int64) (*Brisk, error) {
	if n < 2 || threshold < 0 {
		return nil, fmt.Errorf("%d clocks (at least 2) or threshold of %d ns out of range", n, threshold)
	}
	return &Brisk{threshold: threshold, clocks: make([]briskClock, n), at: make([]int64, n)}, nil
}

// Exchange adds an exchange with a clock, 0 to n-1, to the round: the asking clock is the local one. It returns why stamps cannot
// be used.
func (b *Brisk) Exchange(i int, x Exchange) error {
	if err := x.check(); err != nil {
		return err
	}
	c := &b.clocks[i]
	if c.n == 0 {
		c.base = x.Offset()
	}
	c.sum = clock.Add(c.sum, clock.Add(x.Offset(), -c.base)) // it saturates
	c.n++
	return nil
}

// Round ends a round. Clocks that nobody heard of in it are left as they are.
func (b *Brisk) Round() {
	b.roundsDone++
	target, heard := int64(0), int64(0)
	for i := range b.clocks {
		c := &b.clocks[i]
		if c.n == 0 {
			continue
		}
		b.at[i] = clock.Add(clock.Add(c.base, c.sum/c.n), c.correction)
		if heard == 0 || b.at[i] > target {
			target = b.at[i]
		}
		heard++
	}
	if heard < 2 {
		b.forget()
		return
	}
	mean := 0.0 // of the others
	for i, c := range b.clocks {
		if c.n > 0 {
			mean += float64(clock.Sub(clock.HostTime(target), clock.HostTime(b.at[i]))) / float64(heard-1)
		}
	}
	for i := range b.clocks {
		c := &b.clocks[i]
		if c.n == 0 {
			continue
		}
		lag := clock.Sub(clock.HostTime(target), clock.HostTime(b.at[i]))
		switch {
		case float64(lag) <= mean && heard > 2 || lag == 0:
		case mean > float64(b.threshold):
			c.correction = clock.Add(c.correction, lag)
		default:
			c.correction = clock.Add(c.correction, int64(briskPart*float64(lag)))
		}
	}
	b.forget()
}

func (b *Brisk) forget() {
	for i := range b.clocks {
		c := &b.clocks[i]
		c.sum, c.n = 0, 0
	}
}

// Correction returns what is to be added to the stamps of a clock, ns. It never falls.
func (b *Brisk) Correction(i int) int64 { return b.clocks[i].correction }

// Rounds returns how many rounds ended.
func (b *Brisk) Rounds() int { return b.roundsDone }
