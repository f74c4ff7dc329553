package record

import (
	"slices"
	"time"

	"meridian/internal/record/kernel"
)

// Counts is what was recorded of a program, of a stream of a source, or of a network interface, whose packets are its events.
type Counts struct {
	Name        string `json:"name"`
	PID         int    `json:"pid,omitempty"`
	Interface   string `json:"interface,omitempty"` // the network interface whose packets these are
	Events      uint64 `json:"events"`
	Bytes       uint64 `json:"bytes"` // of the packets
	Packets     uint64 `json:"packets"`
	Lost        uint64 `json:"lost"`                        // events that found a buffer full, and those of Summary.Missed and Summary.Faults
	Overwritten uint64 `json:"overwritten_bytes,omitempty"` // of a ring that overwrites its oldest events
	Damaged     uint64 `json:"damaged,omitempty"`           // damaged parts of a ring
	Moved       uint64 `json:"moved,omitempty"`             // events of a source with a stamp before the last one's, which got that one
	Open        bool   `json:"open,omitempty"`              // more may come
}

// Dropped is what was dropped on purpose, by the recorders of a trace so far. It is part of what was recorded, and not lost.
type Dropped struct {
	Events    uint64 `json:"events"`
	Packets   uint64 `json:"packets"`
	Bytes     uint64 `json:"bytes"`
	WholeFrom int64  `json:"whole_from_ns"` // on the clock of the trace, since 1970: from there on all of it is kept
}

// Summary is what was recorded.
type Summary struct {
	Dir        string         `json:"dir"`
	Continued  bool           `json:"continued,omitempty"` // the trace is an earlier recorder's; what is counted is this one's
	Streams    []Counts       `json:"streams"`             // in the order in which they were found
	Total      Counts         `json:"total"`
	Missed     uint64         `json:"missed,omitempty"` // of the lost events, those for which the kernel ran no program
	Faults     []kernel.Fault `json:"faults,omitempty"` // of the lost events, what happened to those that neither found a full buffer nor were missed
	ClockError time.Duration  `json:"clock_error_ns"`   // of the worst reading by which stamps were put on the clock
	Failures   []Failure      `json:"failures,omitempty"`
	Dropped    *Dropped       `json:"dropped,omitempty"` // by Options.Keep
	Snapshots  []Snapshot     `json:"snapshots,omitempty"`
	Unmet      []Unmet        `json:"unmet_triggers,omitempty"`    // that no event could have met; none in those of Options.Counts
	Unlisted   int            `json:"failures_unlisted,omitempty"` // how many more there were than are listed
}

func (r *Recorder) summary() Summary {
	s := Summary{Dir: r.o.Dir, Continued: r.t.continued, Streams: []Counts{}, Failures: slices.Clone(r.failures), Unlisted: r.unlisted} // no streams are [] in JSON, not null
	s.Streams = append(s.Streams, r.ended...)
	for _, d := range r.rings {
		c := d.counts
		c.Open = true
		s.Streams = append(s.Streams, c)
	}
	for _, w := range r.sources {
		s.Streams = append(s.Streams, w.counts()...)
		s.Missed += w.missed()
		s.Faults = append(s.Faults, w.faults()...)
	}
	for _, c := range s.Streams {
		s.Total.Events += c.Events
		s.Total.Bytes += c.Bytes
		s.Total.Packets += c.Packets
		s.Total.Lost += c.Lost
		s.Total.Overwritten += c.Overwritten
		s.Total.Damaged += c.Damaged
		s.Total.Moved += c.Moved
	}
	s.Total.Name = "total"
	s.Snapshots = r.snapshots.list()
	s.Dropped = r.t.keeper.summary(r.Origin())
	for _, l := range r.times.lines {
		s.ClockError = max(s.ClockError, time.Duration(l.error))
	}
	return s
}
