package simulate

import (
	"cmp"
	"slices"
	"strconv"

	"meridian/internal/sim"
	"meridian/trace"
)

// groups is what a list says of the messages that belong together: the operations of all hosts, and the broadcasts.
type groups struct {
	collectives []trace.Collective
	broadcasts  []trace.Broadcast
	broadcast   int          // number of the last of broadcasts
	operation   int          // number of the operation that flights belong to
	flights     []sim.Flight // of that operation, so far
}

// addToList adds a message to what the list will hold. A broadcast is both: a message to each receiver, stamped by the
// sender too, and the receptions of one sending. An operation is a line for each member instead of messages.
func (r *recorder) addToList(f *sim.Flight) {
	g := &r.groups
	if f.Operation > 0 {
		if f.Operation != g.operation {
			r.endOperation()
			g.operation = f.Operation
		}
		g.flights = append(g.flights, *f)
		return
	}
	r.addMessage(f)
	if f.Broadcast > 0 {
		if f.Broadcast != g.broadcast {
			g.broadcasts, g.broadcast = append(g.broadcasts, trace.Broadcast{}), f.Broadcast
		}
		b := &g.broadcasts[len(g.broadcasts)-1]
		b.Receptions = append(b.Receptions, trace.Stamp{Clock: f.To, Time: f.Received})
	}
}

// endOperation makes a collective of the flights that lead from each member's entry to each other's departure. A clock
// that is set back during the operation can show the departure before the entry, which no line of a collective may say: the
// operation is a list of messages then.
func (r *recorder) endOperation() {
	g := &r.groups
	if len(g.flights) == 0 {
		return
	}
	members := make(map[int]*trace.Member)
	member := func(host int) *trace.Member {
		if members[host] == nil {
			members[host] = &trace.Member{Clock: host}
		}
		return members[host]
	}
	for _, f := range g.flights {
		member(f.From).Entered = f.Sent
		member(f.To).Left = f.Received
	}
	c := trace.Collective{Name: "operation" + strconv.Itoa(g.operation)}
	backwards := false
	for _, m := range members {
		c.Members = append(c.Members, *m)
		backwards = backwards || m.Left < m.Entered
	}
	if backwards {
		for i := range g.flights {
			r.addMessage(&g.flights[i])
		}
	} else {
		slices.SortFunc(c.Members, func(a, b trace.Member) int { return cmp.Compare(a.Clock, b.Clock) })
		g.collectives = append(g.collectives, c)
	}
	g.flights = g.flights[:0]
}

// heardByMany returns the broadcasts that several hosts received: one reception alone says nothing.
func (g *groups) heardByMany() []trace.Broadcast {
	return slices.DeleteFunc(g.broadcasts, func(b trace.Broadcast) bool { return len(b.Receptions) < 2 })
}

// addMessage adds a message that is a line of the list.
func (r *recorder) addMessage(f *sim.Flight) {
	for len(r.channels) <= f.Link {
		r.channels = append(r.channels, trace.Channel{})
	}
	c := &r.channels[f.Link]
	c.From, c.To = f.From, f.To
	c.Messages = append(c.Messages, trace.Message{Sent: f.Sent, Received: f.Received})
}
