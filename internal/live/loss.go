package live

import (
	"fmt"

	"meridian/format/ctf"
)

// Loss is what a timeline lacks of what was recorded, as its traces tell.
type Loss struct {
	Discarded int64 // events for which a tracer had no room
	Missing   int64 // packets, by the sequence numbers of those that are there
	Damaged   int64 // packets that were left out
	Broken    int64 // packets whose rest was left out from the first event on that cannot be decoded
	// Dropped is of what the recorder removed (record --keep) before it was read: events, and packets where nobody counted these.
	Dropped, DroppedPackets int64
}

// lossOf returns what the counters of a trace say.
func lossOf(t ctf.Tally) Loss {
	return Loss{Discarded: t.Discarded, Missing: t.Lost, Damaged: t.Damaged, Broken: t.Broken}
}

func (l *Loss) add(o Loss) {
	l.Discarded += o.Discarded
	l.Missing += o.Missing
	l.Damaged += o.Damaged
	l.Broken += o.Broken
	l.Dropped += o.Dropped
	l.DroppedPackets += o.DroppedPackets
}

// Sum adds up events and packets. It is 0 if nothing is known to be lacking.
func (l Loss) Sum() int64 {
	return l.Discarded + l.Missing + l.Damaged + l.Broken + l.Dropped + l.DroppedPackets
}

// Reasons says in a phrase each what is lacking; nothing for none.
func (l Loss) Reasons() (list []string) {
	tell := func(n int64, one, many string) {
		switch {
		case n == 1:
			list = append(list, one)
		case n > 1:
			list = append(list, fmt.Sprintf(many, n))
		}
	}
	tell(l.Discarded, "1 event was lost before it was recorded", "%d events were lost before they were recorded")
	tell(l.Missing, "1 packet is missing", "%d packets are missing")
	tell(l.Damaged, "1 packet is damaged and was left out", "%d packets are damaged and were left out")
	tell(l.Broken, "1 packet is damaged and its rest was left out", "%d packets are damaged and their rests were left out")
	tell(l.Dropped, "1 event was dropped by its recorder (--keep) before it was read", "%d events were dropped by their recorder (--keep) before they were read")
	tell(l.DroppedPackets, "1 packet was dropped by its recorder (--keep) before it was read", "%d packets were dropped by their recorder (--keep) before they were read")
	return list
}

// loss returns what all that was followed lacks.
func (s *Session) loss() (l Loss) {
	for _, in := range s.inputs {
		l.add(in.loss())
	}
	return l
}
