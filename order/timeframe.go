package order

import (
	"time"

	"meridian/clock"
)

// timeFrame is how long events wait.
type timeFrame struct {
	span, least, most, halveAfter time.Duration
	since                         clock.TimelineTime // the last late event or halving
	began                         bool
}

// advance halves the frame as often as it is due.
func (f *timeFrame) advance(now clock.TimelineTime) {
	if !f.began {
		f.began, f.since = true, now
	}
	for f.halveAfter > 0 && f.span > f.least && now.Sub(f.since) >= f.halveAfter {
		f.span = max(f.span/2, f.least)
		f.since = f.since.Add(f.halveAfter)
	}
}

// grow makes the frame so long that an event that came late would not have been: what is behind it was released by so much after its instant. The time
// until it was read does not count: where all streams stood still, none was ahead of the others.
func (f *timeFrame) grow(needed time.Duration, now clock.TimelineTime) {
	f.span = min(max(f.span, needed), f.most)
	f.since = now
}
