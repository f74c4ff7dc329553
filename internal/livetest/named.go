package livetest

import (
	"slices"
	"time"

	"meridian/align/live"
	"meridian/clock"
)

// around is how long before a doubt the step may lie that it is about.
const around = clock.TimelineTime(20 * time.Second)

// step returns the latest step of a host between some seconds before a doubt and now that satisfies a condition, -1 if there is none.
func (w *World) step(m *machine, doubt int, is func(by int64) bool) int {
	for i := m.steps - 1; i >= 0; i-- {
		if s := m.Clock.Steps[i]; s.At >= w.doubted[doubt]-around && is(s.By) {
			return i
		}
	}
	return -1
}

// tell counts wrong places of steered worlds that it has just been told may be wrong.
func (w *World) tell(about func(x *sample) bool) {
	n := len(w.open)
	w.open = slices.DeleteFunc(w.open, func(x sample) bool { return about(&x) })
	w.Bends += int64(n - len(w.open))
}

// judgeNamed counts a host that was named as set: it must have been, by about as much.
func (w *World) judgeNamed(m *machine, c *live.Change) {
	if m.Steered != nil {
		return // it does not keep the assumption
	}
	// A clock that is doubted again before it is named is named once, by the sum of its steps.
	var sums []int64
	i := w.step(m, c.Doubt, func(by int64) bool {
		sums = append(sums, 0)
		for k := range sums {
			sums[k] += by
		}
		return slices.ContainsFunc(sums, func(sum int64) bool { return max(sum-c.By, c.By-sum) <= max(sum, -sum)/2 })
	})
	if i < 0 {
		w.Innocent++
		w.fail("at %v: %s was named as set by %d ns, and was not", time.Duration(w.now), m.Name, c.By)
		return
	}
	if m.named == nil {
		m.named = make(map[int]bool)
	}
	for m.found <= i { // it may have been doubted already when it was set, and be without bounds since
		step := m.Clock.Steps[m.found]
		w.find(m)
		w.follow(m, step)
	}
	if !m.named[i] {
		m.named[i] = true
		w.Named++
	}
}

// judgeBend counts a bend of two clocks: one of them was set, or is steered.
func (w *World) judgeBend(a, b *machine) {
	for _, m := range []*machine{a, b} {
		if n := m.steps; m.Steered != nil || n > 0 && w.now-m.Clock.Steps[n-1].At < clock.TimelineTime(5*time.Minute) {
			return
		}
	}
	w.Innocent++
	w.fail("at %v: %s and %s were told to bend, and neither does", time.Duration(w.now), a.Name, b.Name)
}

// judgeAmong counts a doubt of which no clock was named: one of those told must have been set.
func (w *World) judgeAmong(c *live.Change) {
	for _, n := range c.Among {
		if m := w.byClock[n]; m.Steered != nil || w.step(m, c.Doubt, func(int64) bool { return true }) >= 0 {
			return
		}
	}
	w.Innocent++
	w.fail("at %v: one of %v was told to be set, and none was", time.Duration(w.now), c.Among)
}
