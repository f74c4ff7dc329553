package main

import (
	"cmp"
	"slices"
	"strings"
)

// World is all that one run of the command is about: clocks, messages with their true instants, how they were recorded, and
// what the command is told. It is data alone, so that it can be shrunk, kept and run again.
type World struct {
	Kind string
	Seed uint64
	// Kept says that every pair of clocks keeps the assumption that the command states, provably.
	Kept     bool
	Why      string // of a world that does not keep it: what breaks it
	Hosts    []Host
	Messages []Message
	Lone     []Lone   `json:",omitempty"` // packets that one host alone recorded
	List     bool     // one text list of messages for all hosts, in place of captures
	Digits   int      `json:",omitempty"` // decimals of a list's seconds
	Options  []string `json:",omitempty"`
	Groups   []int    `json:",omitempty"` // of each host: which of several unrelated groups it belongs to; nil for one
}

// Host is one machine, its clock and its recording.
type Host struct {
	Name    string
	Clock   Clock
	Grain   Grain
	Format  string `json:",omitempty"` // of captures: see capture.go
	Snap    int    `json:",omitempty"` // bytes of a packet that were kept, 0 for all
	Cut     int    `json:",omitempty"` // bytes of the file that are missing at its end
	Shuffle int    `json:",omitempty"` // packets within so many ns may be out of order in the file
	Address bool   `json:",omitempty"` // its address is told by --address
	Other   *Other `json:",omitempty"`
	Clamp   bool   `json:",omitempty"` // the recorder lets no stamp be earlier than the one before
	Files   int    `json:",omitempty"` // the capture is in so many files, 0 for one
}

// Other is a second way in which a host's packets are stamped: those that it received (Select "received") or every second message of
// the world, which another interface of it carries ("odd").
type Other struct {
	Select string
	Clock  *Clock `json:",omitempty"` // nil for the host's
	Grain  Grain
}

// other is the second way of stamping, if an event is stamped so.
func (h *Host) other(m *Message, received bool) *Other {
	if h.Other != nil && m != nil && (h.Other.Select == "received" && received || h.Other.Select == "odd" && m.ID%2 == 1) {
		return h.Other
	}
	return nil
}

// stamp is the host's stamp of a message's end at a true instant; m is nil for a lone packet.
func (h *Host) stamp(at int64, m *Message, received bool) int64 {
	clock, grain := &h.Clock, h.Grain
	if o := h.other(m, received); o != nil {
		grain = o.Grain
		if o.Clock != nil {
			clock = o.Clock
		}
	}
	stamp := grain.stamp(clock.read(at))
	if m != nil && received && m.Bogus != 0 {
		stamp = max(0, stamp+m.Bogus) // captures know no stamp before 1970
	}
	return stamp
}

// Message is a packet from one host to another. Payload contents follow from ID, so that no two are equal.
type Message struct {
	ID       int
	From, To int
	Sent     int64 // true instant, ns
	Delay    int64
	Lost     string `json:",omitempty"` // "s", "r": not recorded by the sender, by the receiver
	TCP      bool   `json:",omitempty"`
	Size     int    `json:",omitempty"` // bytes of payload
	Bogus    int64  `json:",omitempty"` // what a fault adds to the receiver's stamp, ns
}

// Lone is a packet between a host and one that recorded nothing.
type Lone struct {
	ID   int
	Host int
	At   int64
}

// Event is one row that the command is to place.
type Event struct {
	Host    int
	At      int64 // true instant
	Stamp   int64
	Message *Message // nil for a lone packet
	ID      int
}

// events are all recorded events of a host in the order of true time.
func (w *World) events(host int) []Event {
	h := &w.Hosts[host]
	var events []Event
	add := func(at int64, m *Message, id int) {
		received := m != nil && m.To == host
		events = append(events, Event{Host: host, At: at, Stamp: h.stamp(at, m, received), Message: m, ID: id})
	}
	for i := range w.Messages {
		m := &w.Messages[i]
		if m.From == host && (w.List || !strings.Contains(m.Lost, "s")) {
			add(m.Sent, m, m.ID)
		}
		if m.To == host && (w.List || !strings.Contains(m.Lost, "r")) {
			add(m.Sent+m.Delay, m, m.ID)
		}
	}
	for _, l := range w.Lone {
		if l.Host == host && !w.List {
			add(l.At, nil, l.ID)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	for i := 1; h.Clamp && i < len(events); i++ {
		events[i].Stamp = max(events[i].Stamp, events[i-1].Stamp)
	}
	return events
}

// settle prepares the clocks.
func (w *World) settle() {
	for i := range w.Hosts {
		w.Hosts[i].Clock.settle()
		if o := w.Hosts[i].Other; o != nil && o.Clock != nil {
			o.Clock.settle()
		}
	}
}

// leastRoundTrip is the least delay there plus the least delay back of the pair with the quickest ones; 0 if no pair has both.
func (w *World) leastRoundTrip() int64 {
	least := map[[2]int]int64{}
	for _, m := range w.Messages {
		k := [2]int{m.From, m.To}
		if d, ok := least[k]; !ok || m.Delay < d {
			least[k] = m.Delay
		}
	}
	best := int64(0)
	for k, d := range least {
		if back, ok := least[[2]int{k[1], k[0]}]; ok && (best == 0 || d+back < best) {
			best = d + back
		}
	}
	return best
}

// clone copies the world deeply enough for a change of any field but the knots' values.
func (w *World) clone() *World {
	c := *w
	c.Hosts = slices.Clone(w.Hosts)
	for i := range c.Hosts {
		terms := slices.Clone(w.Hosts[i].Clock.Terms)
		for k := range terms {
			terms[k].Knots = slices.Clone(terms[k].Knots)
		}
		c.Hosts[i].Clock.Terms = terms
	}
	c.Messages = slices.Clone(w.Messages)
	c.Lone = slices.Clone(w.Lone)
	c.Options = slices.Clone(w.Options)
	c.Groups = slices.Clone(w.Groups)
	return &c
}
