package livetest

import (
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

// judgeNamed counts a host that was named as set: it must have been, by about as much.
func (w *World) judgeNamed(m *machine, c *live.Change) {
	i := w.step(m, c.Doubt, func(by int64) bool { return max(by-c.By, c.By-by) <= max(by, -by)/2 })
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

// judgeAmong counts a doubt of which no clock was named: one of those told must have been set.
func (w *World) judgeAmong(c *live.Change) {
	for _, n := range c.Among {
		if w.step(w.byClock[n], c.Doubt, func(int64) bool { return true }) >= 0 {
			return
		}
	}
	w.Innocent++
	w.fail("at %v: one of %v was told to be set, and none was", time.Duration(w.now), c.Among)
}
