package bound

import (
	"math/rand/v2"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/corpus"
)

func TestBoundsOfOneInstantNeedNoMemory(t *testing.T) {
	k := talk{there: 30e3, back: 30e3, jitter: 20e3, perSecond: 1, to: 3600}
	for name, p := range map[string]*pair.Problem{
		"quiet":   k.problem(make(steeredClock, k.to+2), rand.New(rand.NewPCG(5, 0))),
		"steered": k.problem(corpus.ChronydOffsets(t, "lan")[1], rand.New(rand.NewPCG(5, 0))),
	} {
		stretches := Bends(p, Default)
		if (len(stretches) > 0) != (name == "steered") {
			t.Errorf("%s: %d stretches", name, len(stretches))
		}
		c := New(p, Default, stretches...)
		first, last := c.Extent()
		span := clock.Sub(last, first)
		at := clock.Add(first, -span/4)
		if n := testing.AllocsPerRun(1000, func() {
			c.At(at)
			at = clock.Add(at, span/700)
		}); n != 0 {
			t.Errorf("%s: %v allocations for one instant", name, n)
		}
	}
}
