package sensor

import (
	"sync"

	"meridian/clock"
)

// snapshots are how the clocks stood against the stamps' counter at an instant, each with what it may be off: from them a
// stamp becomes a time of any of these clocks.
var snapshots = NewEvent5[string, uint64, uint64, int64, int64]("meridian", "clock", "clock", "counter", "counter_error", "ns", "ns_error")

// lostEvents is how many events found no shard, because of more processors than the ring has shards.
var lostEvents = NewCounter("meridian", "lost")

func emitSnapshot(s clock.Snapshot) {
	for _, r := range []clock.Reading{s.Monotonic, s.MonotonicRaw, s.Realtime, s.TAI} {
		if r.Clock != clock.None {
			snapshots.Emit(r.Clock.String(), r.Counter, r.Error, r.Ns, r.NsError)
		}
	}
}

// histograms is all that were declared.
var histograms histogramList

type histogramList struct {
	mu  sync.Mutex
	all []*Histogram
}

func (l *histogramList) add(h *Histogram) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, h)
}

// flush writes the event of each that counted something.
func (l *histogramList) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.all {
		h.flush()
	}
}
