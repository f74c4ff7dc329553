package align_test

import (
	"reflect"
	"testing"

	"meridian/align"
)

// A measured least delay is an estimate. No bound rests on it, even where the clocks are seen to wander and the bounds are
// taken again for that.
func TestBoundsDoNotRestOnMeasuredDelays(t *testing.T) {
	world := steppedWorld(3)
	world.Wander, world.Rate = 1e-6, 100
	w := playSteps(t, world)
	stated, measured := w.solve(t, align.Options{}), w.solve(t, align.Options{MeasureDelay: true})
	if s := stated.Pairs[0].Stretches; len(s) == 0 || !reflect.DeepEqual(s, measured.Pairs[0].Stretches) {
		t.Fatalf("stretches: %+v and %+v", s, measured.Pairs[0].Stretches)
	}
	if measured.Pairs[0].Least == 0 {
		t.Fatal("no least delay was measured")
	}
	a, b := stated.Pairs[0].Estimate.Map, measured.Pairs[0].Estimate.Map
	if !reflect.DeepEqual(a.Low, b.Low) || !reflect.DeepEqual(a.High, b.High) {
		t.Error("the bounds differ from those without measured delays")
	}
}
