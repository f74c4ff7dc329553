package show

import (
	"fmt"

	"meridian/clock"
	"meridian/trace"
)

// survey is what one look at everything tells: how much there is, from when to when, and where the inversions are.
type survey struct {
	first, last int64 // extent of all events and messages on the timeline; first > last if there are none
	events      []int64
	messages    []int64
	totalEvents int64
	total       int64 // messages
	inversions  int64 // beyond what the steps of the stamps explain
	within      int64 // received before it was sent, but by no more than that
	worst       []ref // the worst inversions, deepest first
}

// ref is one message: by channel, and by place in it. Depth is how long before it was sent it arrived.
type ref struct {
	channel, index int
	depth          int64
}

// scene gives access to the timeline's events and messages in timeline time.
type scene struct {
	*Timeline
	maps []*clock.Map
}

var identity = clock.Identity()

// newScene checks what the page would stumble over.
func newScene(t *Timeline) (*scene, error) {
	s := &scene{Timeline: t}
	for i, r := range t.Rows {
		m := r.Map
		if m == nil {
			m = &identity
		}
		for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
			if c == nil && len(m.Mid) > 0 {
				continue
			}
			if err := c.Check(); err != nil {
				return nil, fmt.Errorf("page: row %d: %w", i, err)
			}
		}
		s.maps = append(s.maps, m)
	}
	for i, c := range t.Channels {
		if c.From < 0 || c.From >= len(t.Rows) || c.To < 0 || c.To >= len(t.Rows) {
			return nil, fmt.Errorf("page: channel %d leads from row %d to row %d of %d", i, c.From, c.To, len(t.Rows))
		}
	}
	return s, nil
}

// events yields the number and the timeline time of every event of a row.
func (s *scene) events(row int, yield func(number int, at int64)) {
	if s.Rows[row].Events == nil {
		return
	}
	cursor := clock.NewCursor(s.maps[row].Mid)
	for number, t := range s.Rows[row].Events {
		yield(number, cursor.At(t))
	}
}

// messages yields the place and the two timeline times of every message of a channel.
func (s *scene) messages(channel int, yield func(index int, m trace.Message)) {
	c := &s.Channels[channel]
	from, to := clock.NewCursor(s.maps[c.From].Mid), clock.NewCursor(s.maps[c.To].Mid)
	for i, m := range c.Messages {
		yield(i, trace.Message{Sent: from.At(m.Sent), Received: to.At(m.Received)})
	}
}

// survey looks at everything once and keeps the worst inversions.
func (s *scene) survey(keep int) *survey {
	v := &survey{first: 1<<63 - 1, last: -1 << 63, events: make([]int64, len(s.Rows)), messages: make([]int64, len(s.Channels))}
	for row := range s.Rows {
		s.events(row, func(_ int, at int64) {
			v.events[row]++
			v.first, v.last = min(v.first, at), max(v.last, at)
		})
		v.totalEvents += v.events[row]
	}
	worst := shallowest{keep: keep}
	for c := range s.Channels {
		s.messages(c, func(i int, m trace.Message) {
			v.first, v.last = min(v.first, m.Sent, m.Received), max(v.last, m.Sent, m.Received)
			switch {
			case m.Received >= m.Sent:
			case !s.inverted(c, m):
				v.within++
			default:
				v.inversions++
				worst.add(ref{channel: c, index: i, depth: clock.Sub(m.Sent, m.Received)})
			}
		})
		v.messages[c] = int64(len(s.Channels[c].Messages))
		v.total += v.messages[c]
	}
	v.worst = worst.deepestFirst()
	return v
}

// step is by how much a channel's messages may seem to arrive early: the step of the receiver's stamps.
func (s *scene) step(channel int) int64 {
	return max(s.Rows[s.Channels[channel].To].Granularity, 1) + 1 // and the maps' rounding
}

// inverted reports whether a message, on the timeline, was received before it was sent by more than that.
func (s *scene) inverted(channel int, m trace.Message) bool {
	return clock.Add(m.Received, s.step(channel)) < m.Sent
}

// span is the extent as a length, saturated.
func (v *survey) span() int64 {
	if v.first > v.last {
		return 0
	}
	return clock.Sub(v.last, v.first)
}

// histogram counts events per row, and messages per channel where they were sent, in equal steps of the span: what the
// page draws where nothing is embedded one by one.
type histogram struct {
	width    int64 // of a step, ns
	steps    int
	rows     [][]uint32
	channels [][]uint32
	inverted [][]uint32
}

// density counts into as many steps as the budget of counters allows, at most 2^16.
func (s *scene) density(v *survey, budget int) *histogram {
	h := &histogram{}
	lanes := max(1, len(s.Rows)+2*len(s.Channels))
	h.steps = min(1<<16, max(64, budget/lanes))
	h.width = v.span()/int64(h.steps) + 1
	counters := func(n int) [][]uint32 {
		lanes := make([][]uint32, n)
		for i := range lanes {
			lanes[i] = make([]uint32, h.steps)
		}
		return lanes
	}
	h.rows, h.channels, h.inverted = counters(len(s.Rows)), counters(len(s.Channels)), counters(len(s.Channels))
	for row := range s.Rows {
		s.events(row, func(_ int, at int64) { h.rows[row][h.step(at, v)]++ })
	}
	for c := range s.Channels {
		s.messages(c, func(_ int, m trace.Message) {
			h.channels[c][h.step(m.Sent, v)]++
			if s.inverted(c, m) {
				h.inverted[c][h.step(m.Sent, v)]++
			}
		})
	}
	return h
}

func (h *histogram) step(at int64, v *survey) int {
	// An iterator may bring more in a later run than in the survey; that counts at the ends.
	return int(min(max(clock.Sub(at, v.first)/h.width, 0), int64(h.steps-1)))
}
