package order

import (
	"slices"
	"time"

	"meridian/clock"
)

// SorterStats is what a [Sorter] has done so far.
type SorterStats struct {
	Held, HeldBytes  int   // events, and what they take
	Emitted          int64 // events
	Late             int64 // of these, noted as late
	LateByHost       []int64
	LateStreams      []LateStream     // those with late events, as they came
	Moved            int64            // events moved behind their predecessors
	Repaired         int64            // tachyons, moved behind their reasons
	Violations       int64            // of these, those that the bounds exclude
	Excluded         *ExcludedMessage // the first of Violations; nil without
	TimedOut         int64            // consequences emitted without their reason
	Forced           int64            // events emitted before their time frame had passed, since memory was full
	Asked            int64            // calls of Ask
	Frame            time.Duration
	GreatestLateness time.Duration // the greatest Behind of a late event
	GreatestRepair   time.Duration
	Latency          Latencies // from the instants of events to their emission
}

// ExcludedMessage is a message that was received before it was sent by the bounds of both ends, by less than its least
// delay at least.
type ExcludedMessage struct {
	From, To       int // hosts
	Sent, Received clock.TimelineTime
	By             time.Duration // at least
}

// LateStream counts the late events of a stream.
type LateStream struct {
	Host, Stream int
	Late         int64
	Greatest     time.Duration // Behind
}

func (t *SorterStats) add(n *Note) {
	t.Emitted++
	t.Latency.add(n.Latency)
	if n.Late {
		t.Late++
		t.GreatestLateness = max(t.GreatestLateness, n.Behind)
	}
	switch {
	case n.Repaired:
		t.Repaired++
		t.GreatestRepair = max(t.GreatestRepair, n.Moved)
		if n.Violation {
			t.Violations++
		}
	case n.Moved > 0:
		t.Moved++
	}
	if n.TimedOut {
		t.TimedOut++
	}
	if n.Forced {
		t.Forced++
	}
}

// Add adds what another [Sorter] has done, of other events: counts are summed, LateByHost by host, and the greatest of both stays the
// greatest. LateStreams of both are listed, a stream twice if both had late events of it. Held and HeldBytes are of both together,
// Frame is the longer.
func (t *SorterStats) Add(o *SorterStats) {
	t.Held += o.Held
	t.HeldBytes += o.HeldBytes
	t.Emitted += o.Emitted
	t.Late += o.Late
	t.Moved += o.Moved
	t.Repaired += o.Repaired
	t.Violations += o.Violations
	if t.Excluded == nil {
		t.Excluded = o.Excluded
	}
	t.TimedOut += o.TimedOut
	t.Forced += o.Forced
	t.Asked += o.Asked
	byHost := make([]int64, max(len(t.LateByHost), len(o.LateByHost)))
	copy(byHost, t.LateByHost)
	for host, n := range o.LateByHost {
		byHost[host] += n
	}
	t.LateByHost = byHost
	t.LateStreams = slices.Concat(t.LateStreams, o.LateStreams)
	t.Frame = max(t.Frame, o.Frame)
	t.GreatestLateness = max(t.GreatestLateness, o.GreatestLateness)
	t.GreatestRepair = max(t.GreatestRepair, o.GreatestRepair)
	t.Latency.merge(&o.Latency)
}

// Stats returns what was done so far. It takes time in the number of streams.
func (s *Sorter) Stats() SorterStats {
	t := s.stats
	t.Held, t.HeldBytes, t.Frame = s.rows.store.events(), s.rows.store.bytes(), s.frame.span
	for i := range s.rows.all {
		r := &s.rows.all[i]
		for int(r.host) >= len(t.LateByHost) {
			t.LateByHost = append(t.LateByHost, 0)
		}
		if r.late > 0 {
			t.LateByHost[r.host] += r.late
			t.LateStreams = append(t.LateStreams, LateStream{int(r.host), r.stream, r.late, r.mostBehind})
		}
	}
	return t
}
