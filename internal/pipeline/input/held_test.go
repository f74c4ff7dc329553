package input

import (
	"testing"

	"meridian/trace"
)

func TestWhatIsHeldGrowsWithFlowsMarksAndMessagesOfLists(t *testing.T) {
	of := func(flows, marks, messages int) int64 {
		s := &Set{
			Captures: []*trace.Capture{{Flows: make([]trace.Flow, flows)}},
			Marks:    []*trace.Marks{nil, {Marks: make([]trace.Mark, marks)}},
			Lists:    []*trace.List{{Channels: []trace.Channel{{Messages: make([]trace.Message, messages)}}}},
		}
		return s.Held()
	}
	for _, c := range []struct {
		flows, marks, messages int
		want                   int64
	}{{0, 0, 0, 0}, {10, 0, 0, 8000}, {0, 10, 0, 1500}, {0, 0, 10, 320}, {1, 1, 1, 982}} {
		if got := of(c.flows, c.marks, c.messages); got != c.want {
			t.Errorf("%d flows, %d marks, %d messages: %d bytes, want %d", c.flows, c.marks, c.messages, got, c.want)
		}
	}
}
