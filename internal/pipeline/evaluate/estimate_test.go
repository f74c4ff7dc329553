package evaluate

import (
	"slices"
	"testing"

	"meridian/align"
	"meridian/clock"
)

func TestHostsAreTogetherIfAnyMethodBringsThemTogether(t *testing.T) {
	solved := func(component ...int) *estimate { return &estimate{component: component, solution: &align.Solution{}} }
	for _, c := range []struct {
		estimates []*estimate
		want      []int
	}{
		{nil, nil},
		{[]*estimate{{component: []int{0, 0, 0}}, solved(0, 1, 2)}, []int{0, 1, 2}},
		{[]*estimate{solved(0, 0, 1, 2), solved(0, 1, 1, 2)}, []int{0, 0, 0, 1}},
		{[]*estimate{solved(0, 1, 2, 1, 0), solved(0, 1, 0, 2, 3)}, []int{0, 1, 0, 1, 0}},
		{[]*estimate{solved(0, 0, 1, 1, 2), solved(0, 1, 1, 2, 0)}, []int{0, 0, 0, 0, 0}},
	} {
		if got := joinComponents(c.estimates); !slices.Equal(got, c.want) {
			t.Errorf("%v, not %v", got, c.want)
		}
	}
}

func TestAnEstimateThatFollowsAnotherReferenceKeepsWhatLiesBetweenItsClocks(t *testing.T) {
	shift := func(by clock.TimelineTime, within int64) clock.Map {
		at := func(v clock.TimelineTime) clock.Curve { return clock.Curve{{X: 0, Y: v}} }
		return clock.Map{Mid: at(by), Low: at(by - clock.TimelineTime(within)), High: at(by + clock.TimelineTime(within))}
	}
	x := &estimate{
		maps:      []clock.Map{shift(100, 3), clock.Identity(), shift(250, 4), shift(7, 0)},
		reference: []int{1, 1, 1, 3},
	}
	x.rebase(-1)
	if x.maps[0].At(0) != 100 {
		t.Error("followed nobody")
	}
	x.rebase(0)
	if !slices.Equal(x.reference, []int{0, 0, 0, 3}) {
		t.Errorf("references %v", x.reference)
	}
	for i, want := range [][3]clock.TimelineTime{{0, 0, 0}, {-100, -103, -97}, {150, 143, 157}, {7, 7, 7}} {
		low, high, _, _ := x.maps[i].Bounds(0)
		if got := [3]clock.TimelineTime{x.maps[i].At(0), low, high}; got != want {
			t.Errorf("clock %d: %v, not %v", i, got, want)
		}
	}
}
