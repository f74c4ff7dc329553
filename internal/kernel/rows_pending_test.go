package kernel

import (
	"errors"
	"testing"

	"meridian/trace"
)

// growing is a source that has nothing more for the moment before every event.
type growing struct {
	trace.Source
	paused bool
}

func (g *growing) Next(e *trace.Event) error {
	if g.paused = !g.paused; g.paused {
		return trace.ErrPending
	}
	return g.Source.Next(e)
}

func TestRowsOfATraceThatGrowsAreThoseOfTheWholeTrace(t *testing.T) {
	make := func() *script {
		var z script
		z.cpus(2)
		z.add(1, 0, "sched_switch", text2("prev_comm", "swapper"), i("prev_tid", 0), text2("next_comm", "c"), i("next_tid", 3))
		z.add(2, 0, "irq_handler_entry", i("irq", 4), text2("name", "eth0"))
		z.add(3, 0, "irq_handler_exit", i("irq", 4), i("ret", 1))
		z.add(4, 0, "sched_switch", text2("prev_comm", "c"), i("prev_tid", 3), text2("next_comm", "swapper"), i("next_tid", 0))
		return &z
	}
	read := func(r trace.Source) (got []trace.Event, pauses int) {
		for {
			var e trace.Event
			switch err := r.Next(&e); {
			case errors.Is(err, trace.ErrPending):
				pauses++
			case err != nil:
				return got, pauses
			default:
				got = append(got, e)
			}
		}
	}
	want, _ := read(Rows(make(), nil))
	got, pauses := read(Rows(&growing{Source: make()}, nil))
	if len(want) < 4 || pauses < 4 {
		t.Fatalf("%d events, %d pauses", len(want), pauses)
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, not %d", len(got), len(want))
	}
	for k := range want {
		if got[k] != want[k] {
			t.Errorf("event %d is %+v, not %+v", k, got[k], want[k])
		}
	}
}
