package pipeline

import (
	"meridian/match"
	"meridian/trace"
)

// mark is an event of a list that is no end of a message.
type mark struct {
	at   int64
	what string // and of which name
	name string
}

// addLists joins the messages of lists to what was matched, and returns the clocks of each list's hosts. A host that a
// capture already named keeps its clock.
func (r *run) addLists() (clocks [][]int) {
	p := &r.matched.Problem
	r.listed = make(map[int]*trace.List)
	number := r.numbers()
	r.listedFrom = len(p.Clocks)
	clocks = make([][]int, len(r.lists))
	for n, l := range r.lists {
		for _, name := range l.Hosts {
			i, known := number[name]
			if !known {
				i = r.addClock(name)
				number[name] = i
			}
			clocks[n] = append(clocks[n], i)
			r.listed[i] = l
		}
		for _, c := range l.Channels {
			from, to := clocks[n][c.From], clocks[n][c.To]
			for _, m := range c.Messages {
				r.see(from, m.Sent)
				r.see(to, m.Received)
			}
			p.Channels = append(p.Channels, trace.Channel{From: from, To: to, Messages: c.Messages})
		}
	}
	return clocks
}

// addOperations joins the messages that the collectives of lists amount to, and their broadcasts.
func (r *run) addOperations(clocks [][]int) {
	r.marks = make(map[int][]mark)
	for n, l := range r.lists {
		r.addCollectives(l, clocks[n])
		r.addBroadcasts(l, clocks[n])
	}
}

// addCollectives turns a list's operations into messages. Their members' events are when they entered and when they left,
// however many messages that makes.
func (r *run) addCollectives(l *trace.List, clocks []int) {
	for _, c := range l.Collectives {
		for _, m := range c.Members {
			i := clocks[m.Clock]
			r.see(i, m.Entered)
			r.see(i, m.Left)
			r.marks[i] = append(r.marks[i], mark{m.Entered, "enters", c.Name}, mark{m.Left, "leaves", c.Name})
		}
	}
	for _, c := range match.Collectives(l.Collectives) {
		c.From, c.To = clocks[c.From], clocks[c.To]
		r.matched.Channels = append(r.matched.Channels, c)
	}
}

// addBroadcasts translates a list's broadcasts.
func (r *run) addBroadcasts(l *trace.List, clocks []int) {
	for _, b := range l.Broadcasts {
		receptions := make([]trace.Stamp, len(b.Receptions))
		for k, x := range b.Receptions {
			i := clocks[x.Clock]
			receptions[k] = trace.Stamp{Clock: i, Time: x.Time}
			r.see(i, x.Time)
			r.marks[i] = append(r.marks[i], mark{x.Time, "hears", "a broadcast"})
		}
		r.matched.Broadcasts = append(r.matched.Broadcasts, trace.Broadcast{Receptions: receptions})
	}
}
