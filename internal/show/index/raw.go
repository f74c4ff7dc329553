package index

import "meridian/clock"

// rawInversions counts the messages that were received before they were sent by the stamps of their hosts' clocks, as they
// were recorded: what alignment mends. Messages within a step of the receiver's stamps are not counted.
type rawInversions struct {
	count     int64
	worst     worst
	uncounted bool // earlier messages came to an index of a version that did not count
}

// mostRaw is how many of them are listed.
const mostRaw = 2000

func (x *rawInversions) add(s, r *end, l *link) {
	delay := clock.Sub(r.recorded, s.recorded)
	if !s.stamped || !r.stamped || clock.Add(delay, r.step) > 0 {
		return
	}
	x.count++
	x.worst.add(violation{depth: clock.Sub(0, delay), sent: s.time, delay: delay, from: s.event, to: r.event, link: l}, mostRaw)
}

// total returns the count; nil where it is not known.
func (x *rawInversions) total() *int64 {
	if x.uncounted {
		return nil
	}
	n := x.count
	return &n
}

// list returns the worst in order of time; nil where they are not known.
func (x *rawInversions) list(number func(*link) int) *Raw {
	if x.uncounted {
		return nil
	}
	out := &Raw{Inverted: x.count, List: []RawInversion{}}
	for _, v := range x.worst.list([5]int64{}, number).List {
		out.List = append(out.List, RawInversion{Sent: v.Sent, Delay: v.Delay, From: v.From, To: v.To, Link: v.Link})
	}
	return out
}

// Raw are the messages that were received before they were sent by the stamps as they were recorded.
type Raw struct {
	Inverted int64          `json:"inverted"`
	List     []RawInversion `json:"list"` // the worst, in order of time
}

// RawInversion is one of them. Sent is an instant of the timeline, Delay the difference of the two stamps, ns.
type RawInversion struct {
	Sent  int64 `json:"sent"`
	Delay int64 `json:"delay"`
	From  int64 `json:"from"` // the event that sent it
	To    int64 `json:"to"`
	Link  int   `json:"link"` // its lane
}
