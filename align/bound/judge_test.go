package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// judged returns the corridor that follows from a judgement.
func (w *wrongWorld) judged() (c *Corridor, stretches []Stretch, found []FalseMessage) {
	stretches, found = Judge(&w.Problem, Default)
	tolerance := DefaultTolerance
	for i := range found {
		tolerance.Found = append(tolerance.Found, found[i].At())
	}
	slices.Sort(tolerance.Found)
	return NewTolerant(without(&w.Problem, found), Default, tolerance, stretches...), stretches, found
}

// slew makes b's clock faster by so much for some seconds in the middle of the trace.
func (w *wrongWorld) slew(rate, seconds float64) {
	from := w.span / 3
	w.move(func(x float64) float64 { return rate * min(max(x-from, 0), seconds*1e9) })
}

// move adds an offset to b's clock.
func (w *wrongWorld) move(moved func(x float64) float64) {
	steady := w.offset
	w.offset = func(x float64) float64 { return steady(x) + moved(x) }
	for _, piece := range w.AB {
		for i := range piece {
			piece[i].Received = clock.Add(piece[i].Received, int64(moved(float64(piece[i].Sent-w.from))))
		}
	}
	for _, piece := range w.BA {
		for i := range piece {
			piece[i].Sent = clock.Add(piece[i].Sent, int64(moved(float64(piece[i].Received-w.from))))
		}
	}
}

func TestFalseMessagesAreToldFromClocksThatBend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		messages, wrong int
		by, rate        float64
		bends           bool
	}{
		{"healthy", 4000, 0, 0, 0, false},
		{"one early by 20 us", 4000, 1, 20e3, 0, false},
		{"one early by 80 us", 4000, 1, 80e3, 0, false},
		{"one early by 3 ms", 4000, 1, 3e6, 0, false},
		{"one in 1,000 early by 80 us", 4000, 4, 80e3, 0, false},
		{"one in 100 early by 20 us", 4000, 40, 20e3, 0, false},
		{"one in 100 early by 80 us", 4000, 40, 80e3, 0, false},
		{"one in 100 early by 3 ms", 4000, 40, 3e6, 0, false},
		{"three in 100 early by 3 ms", 4000, 120, 3e6, 0, false},
		{"few messages, one early by 80 us", 30, 1, 80e3, 0, false},
		{"few messages, one early by 3 ms", 30, 1, 3e6, 0, false},
		{"slewed by 20 ppm", 4000, 0, 0, 20e-6, true},
		{"slewed by 200 ppm", 4000, 0, 0, 200e-6, true},
		{"swinging by 15 us in 1.5 s", 4000, 0, 0, 0, true},
		{"slewed by 200 ppm, one early by 80 us", 4000, 1, 80e3, 200e-6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(testseed.Run(), 4))
			const worlds = 12
			bent, missed, outside, width := 0, 0, 0, 0.0
			for range worlds {
				w := newWrongWorld(r, c.messages, c.wrong, c.by)
				if c.messages > 100 {
					w.squeeze(40e9)
				}
				switch {
				case c.rate > 0:
					w.slew(c.rate, 5)
				case c.bends:
					w.move(func(x float64) float64 { return 15e3 * math.Sin(2*math.Pi*x/1.5e9) })
				}
				corridor, stretches, found := w.judged()
				n, wide := w.outside(corridor)
				if n > 0 {
					outside++
				}
				if len(stretches) > 0 {
					bent++
				}
				if len(found) > 2*c.wrong {
					missed++
				}
				width += wide / worlds
			}
			t.Logf("bent %d, outside %d, too many found %d, width %.1f us", bent, outside, missed, width/1e3)
			if outside > 0 {
				t.Errorf("the truth is outside of the bounds in %d worlds of %d", outside, worlds)
			}
			if missed > 0 {
				t.Errorf("true messages are left out in %d worlds of %d", missed, worlds)
			}
			if c.bends && bent < worlds {
				t.Errorf("the bend is found in %d worlds of %d", bent, worlds)
			}
			if c.wrong < 2 && c.messages > 100 && !c.bends && bent > 0 {
				t.Errorf("a bend is found in %d worlds of %d, and there is none", bent, worlds)
			}
		})
	}
}

// squeeze gives a world another length, ns, for clocks without skew or wander.
func (w *wrongWorld) squeeze(span float64) {
	steady, by := w.offset(0), span/w.span
	moved := func(at clock.HostTime) clock.HostTime { return clock.Add(w.from, int64(float64(at-w.from)*by)) }
	for _, piece := range w.AB {
		for i, m := range piece {
			late := float64(m.Received-m.Sent) - w.offset(float64(m.Sent-w.from))
			at := moved(m.Sent)
			piece[i] = trace.Message{Sent: at, Received: clock.Add(at, int64(steady+late)+1)}
		}
	}
	for _, piece := range w.BA {
		for i, m := range piece {
			late := w.offset(float64(m.Received-w.from)) - float64(m.Sent-m.Received)
			at := moved(m.Received)
			piece[i] = trace.Message{Sent: clock.Add(at, int64(steady-late)-1), Received: at}
		}
	}
	w.offset, w.span = func(float64) float64 { return steady }, span
}
