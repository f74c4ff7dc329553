package input

import (
	"testing"

	"meridian/trace"
)

func TestWhatIsHeldGrowsWithFlowsMarksAndMessagesOfLists(t *testing.T) {
	of := func(flows, marks, messages int) Held {
		s := &Set{
			Captures: []*trace.Capture{{Flows: make([]trace.Flow, flows)}},
			Marks:    []*trace.Marks{nil, {Marks: make([]trace.Mark, marks)}},
			Lists:    []*trace.List{{Channels: []trace.Channel{{Messages: make([]trace.Message, messages)}}}},
		}
		return s.Held()
	}
	for _, c := range []struct {
		flows, marks, messages int
		want                   Held
	}{{}, {10, 0, 0, Held{Flows: 11000}}, {0, 10, 0, Held{Marks: 2100}}, {0, 0, 10, Held{Messages: 200}}, {1, 1, 1, Held{1100, 210, 20}}} {
		if got := of(c.flows, c.marks, c.messages); got != c.want || got.Sum() != c.want.Flows+c.want.Marks+c.want.Messages {
			t.Errorf("%d flows, %d marks, %d messages: %+v, want %+v", c.flows, c.marks, c.messages, got, c.want)
		}
	}
}
