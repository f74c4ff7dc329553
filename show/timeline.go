package show

import (
	"iter"

	"meridian/clock"
	"meridian/trace"
)

// Timeline is what the page shows: a row per clock, its events as marks, messages between rows as arrows.
type Timeline struct {
	Title  string
	Report *Report // the row of Report.Hosts[i] is Rows[i]
	Rows   []Row
	// Messages between rows, From and To being indices of Rows, stamps in host time.
	Channels []trace.Channel
}

// Row is one clock's events.
type Row struct {
	Map *clock.Map
	// Granularity is the step of this clock's stamps, ns: a message received up to so much before it was sent may only
	// look it. 0 counts as 1.
	Granularity int64
	// First and Last are the clock's first and last stamp, between which it is drawn on its own; it is not where they are
	// equal.
	First, Last int64
	// Events yields each event's number and its time on the host's clock, in any order; it may be called several times.
	Events iter.Seq2[int, int64]
	// Describe says in one line what event number i is; it may be nil.
	Describe func(i int) string
}
