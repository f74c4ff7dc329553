package curves

import (
	"slices"
	"testing"

	"meridian/clock"
)

// TestAnEstimateGoesOnAsItDidBeforeItWasMoved: two knots a nanosecond apart of which bounds moved one by 44 ms gave an
// end piece so steep that it left int64 within a thousand seconds.
func TestAnEstimateGoesOnAsItDidBeforeItWasMoved(t *testing.T) {
	estimate := clock.Curve{{X: 0, Y: 0}, {X: 1_000, Y: 2_000}}
	moved := clock.Curve{{X: 0, Y: 500}, {X: 1, Y: 44_000_500}}
	got := Continue(moved, estimate)
	want := clock.Curve{{X: -Outside, Y: -2*Outside + 500}, moved[0], moved[1], {X: 1_000, Y: 44_002_498},
		{X: 1_000 + Outside, Y: 2*Outside + 44_002_498}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("knot %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestNoKnotIsAnInstantThatIsNotTaken(t *testing.T) {
	for _, at := range []clock.HostTime{clock.Limit - 5, -clock.Limit + 5} {
		estimate := clock.Curve{{X: at - 1, Y: clock.TimelineTime(at) - 1}, {X: at, Y: clock.TimelineTime(at)}}
		got := Continue(estimate[:1], estimate)
		if len(got) != 3 {
			t.Errorf("at %d: %v has not one knot beyond", at, got)
		}
		if err := got.Check(); err != nil {
			t.Errorf("at %d: %v", at, err)
		}
	}
	steep := clock.Curve{{X: 0, Y: 0}, {X: 1, Y: 9_000_000_000}}
	if got := Continue(steep, steep); len(got) != 2 {
		t.Errorf("%v goes on beyond what instants can be", got)
	}
}

func TestWhatSaturatedIsLeftOutOfAnEstimate(t *testing.T) {
	const least, limit = clock.TimelineTime(-1 << 63), clock.TimelineTime(clock.Limit)
	for name, x := range map[string]struct{ of, want clock.Curve }{
		"a curve that is one stays, beyond the limit too": {clock.Curve{{X: -clock.Limit, Y: 0}, {X: 5, Y: 7}}, clock.Curve{{X: -clock.Limit, Y: 0}, {X: 5, Y: 7}}},
		"its ends": {clock.Curve{{X: -5, Y: least}, {X: 0, Y: 0}, {X: 5, Y: 5}}, clock.Curve{{X: 0, Y: 0}, {X: 5, Y: 5}}},
		"all":      {clock.Curve{{X: 0, Y: least}, {X: 5, Y: limit}}, clock.Curve{{X: 0, Y: least}}},
		"nothing":  {clock.Curve{}, clock.Curve{}},
	} {
		if got := Rising(x.of); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
