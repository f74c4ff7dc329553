package match

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Collectives turns operations that nobody leaves before all have entered into messages: one from every clock to every
// other, sent when the first had entered and received when the second left.
//
//	a   [entered ------------ left]
//	                 \      /
//	                  \    /            a's entry is before b's departure, b's entry before a's
//	                   \  /
//	b        [entered ------ left]
//
// Where several members share a clock the last to enter and the first to leave stand for them: that message implies those
// of the others. A member that left before it entered says nothing that could be relied on and is left out; so is one of a
// negative clock, or with a stamp that is not within [clock.Limit].
//
// The channels come in order of From, then To, their messages in the order of the collectives. A collective of k clocks
// makes k(k-1) messages, and as many channels if no other has them: 9 million, some gigabytes, for 3,000 clocks. Their delays hold the waiting for others, so that they bound an offset, but rarely tightly.
func Collectives(list []trace.Collective) []trace.Channel {
	index := make(map[[2]int]int)
	var channels []trace.Channel
	var members []trace.Member
	for i := range list {
		members = perClock(list[i].Members, members[:0])
		for _, from := range members {
			for _, to := range members {
				if from.Clock == to.Clock {
					continue
				}
				key := [2]int{from.Clock, to.Clock}
				c, ok := index[key]
				if !ok {
					c = len(channels)
					index[key] = c
					channels = append(channels, trace.Channel{From: from.Clock, To: to.Clock})
				}
				channels[c].Messages = append(channels[c].Messages, trace.Message{Sent: from.Entered, Received: to.Left})
			}
		}
	}
	slices.SortFunc(channels, func(a, b trace.Channel) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return channels
}

// perClock appends to out one member for each clock, in order of clocks: when its last entered and its first left.
func perClock(members, out []trace.Member) []trace.Member {
	for _, m := range members {
		if m.Clock >= 0 && m.Left >= m.Entered && m.Entered > -clock.Limit && m.Left < clock.Limit {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b trace.Member) int { return cmp.Compare(a.Clock, b.Clock) })
	n := 0
	for _, m := range out {
		if n > 0 && out[n-1].Clock == m.Clock {
			out[n-1].Entered = max(out[n-1].Entered, m.Entered)
			out[n-1].Left = min(out[n-1].Left, m.Left)
			continue
		}
		out[n] = m
		n++
	}
	return out[:n]
}
