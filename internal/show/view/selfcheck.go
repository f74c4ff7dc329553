package view

import (
	"fmt"

	"meridian/internal/cause"
	"meridian/internal/show"
	"meridian/internal/show/index"
)

// Before requests are shown they are held against what cannot be: a message that was received before it was sent, by
// more than the bounds of both clocks and the steps of their timestamps, and a network that took less than no time. A
// request that fails comes of wrong bounds, wrong timestamps, or two hosts taken for one.

// contradictions are requests that cannot be.
type contradictions struct {
	count int
	first contradiction
}

// contradiction is a message of a request that was certainly received before it was sent.
type contradiction struct {
	sent, received int64 // events
	by             int64 // at least so much, ns
	what           string
}

// skewLimit is by how many ns in a second two clocks may run apart at most, when it is asked whether a network
// certainly took less than no time.
const skewLimit = 1_000_000

// check finds requests that cannot be. A server's span may end after its client had the reply, which is no
// contradiction: of such a request the network's time is not known.
func (c *causes) check() {
	for i := range c.list {
		r := &c.list[i]
		if !r.Divided() {
			continue
		}
		span := r.Kind == cause.KindSpan
		if by := c.certainlyEarly(&r.There); by > 0 {
			c.contradict(contradiction{r.There.SentEvent, r.There.ReceivedEvent, by, "a request was received before it was sent"})
			continue
		}
		early, negative := c.certainlyEarly(&r.Back), c.certainlyNegative(r)
		switch {
		case early <= 0 && negative <= 0:
		case span:
			r.Overlapping = true // it cannot be divided
		case early > 0:
			c.contradict(contradiction{r.Back.SentEvent, r.Back.ReceivedEvent, early, "a reply was received before it was sent"})
		default:
			c.contradict(contradiction{r.There.SentEvent, r.Back.ReceivedEvent, negative, "the server took longer than the client waited"})
		}
	}
}

func (c *causes) contradict(x contradiction) {
	if c.wrong.count == 0 {
		c.wrong.first = x
	}
	c.wrong.count++
}

// certainlyEarly returns by how much a message was received before it was sent, at least; 0 or less where bounds and
// steps leave room for the right order.
func (c *causes) certainlyEarly(x *cause.Message) int64 {
	if x.Received >= x.Sent {
		return 0
	}
	sent, received, ok := c.eventsOf(x.SentEvent, x.ReceivedEvent)
	switch {
	case !ok:
		return 0
	case c.model.Hosts[x.From] == c.model.Hosts[x.To] && sent.Clock == received.Clock:
		return int64(sent.Recorded-received.Recorded) - c.step(x.To)
	case sent.Low == nil || received.High == nil:
		return 0
	}
	// The events' own bounds: in a timeline that grows, those of today are not about the estimates of then.
	const rounding = 2 // of both ends
	return *sent.Low - *received.High - rounding
}

// certainlyNegative returns by how much the server of a request took longer than its client waited, at least; 0 or less
// where the steps of timestamps and a skew explain it. Both the timeline and the recorded timestamps must say so: a
// clock may have been set meanwhile, or be known better than before.
func (c *causes) certainlyNegative(r *cause.Request) int64 {
	room := c.step(r.There.From) + c.step(r.There.To) + max(r.ServerTime(), 0)/(1_000_000_000/skewLimit)
	by := -r.Network() - room
	if by <= 0 {
		return 0
	}
	begun, ended, ok := c.eventsOf(r.There.SentEvent, r.Back.ReceivedEvent)
	from, to, known := c.eventsOf(r.There.ReceivedEvent, r.Back.SentEvent)
	if !ok || !known {
		return 0
	}
	return min(by, int64(to.Recorded-from.Recorded)-int64(ended.Recorded-begun.Recorded)-room)
}

// eventsOf returns two events by their numbers; false where one is not there.
func (c *causes) eventsOf(first, second int64) (x, y index.Event, ok bool) {
	for i, number := range []int64{first, second} {
		list, err := c.of.Events(number, 1)
		if err != nil || len(list) == 0 || list[0].Event != number {
			return x, y, false
		}
		if i == 0 {
			x = list[0]
		}
		y = list[0]
	}
	return x, y, true
}

// step returns the step of the timestamps of a row, ns.
func (c *causes) step(row int) int64 {
	if k := c.about.Rows[row].Clock; k >= 0 {
		return max(1, c.about.Clocks[k].Granularity)
	}
	return max(1, c.about.Step)
}

// contradictionText names the first request that cannot be by its two events, "" for none.
func (c *causes) contradictionText() string {
	if c.wrong.count == 0 {
		return ""
	}
	x := c.wrong.first
	first, second, ok := c.eventsOf(x.sent, x.received)
	if !ok { // it was there when it was found
		return fmt.Sprintf("%d requests contradict the clocks", c.wrong.count)
	}
	named := func(e *index.Event) string {
		return fmt.Sprintf("%s at %s", c.about.Hosts[c.about.Rows[e.Row].Host].Name, show.InstantText(e.Recorded))
	}
	return fmt.Sprintf("%d requests contradict the clocks, the first by at least %s: %s (%s, and %s, each by its own clock)",
		c.wrong.count, show.Duration(x.by), x.what, named(&first), named(&second))
}
