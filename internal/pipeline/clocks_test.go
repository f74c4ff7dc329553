package pipeline

import (
	"slices"
	"testing"

	"meridian/align"
	"meridian/align/network"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/match"
	"meridian/trace"
)

func TestClocksAreComparableOnlyWhereSomethingConnectsThemAndOrderedOnlyIfTheyWereNotSet(t *testing.T) {
	piece := clock.Identity()
	for _, c := range []struct {
		components []int
		pieces     [][]align.Piece
		segments   []segment
		want       []view.ClockReport
	}{
		{[]int{0, 1, 0}, nil, nil, []view.ClockReport{{Component: 0}, {Component: 1}, {Component: 0}, {Component: -4}}},
		{[]int{0, 0, 0}, [][]align.Piece{nil, nil, make([]align.Piece, 2)}, nil, []view.ClockReport{{}, {}, {Set: true}, {}}},
		{[]int{0, 0, 0}, nil, []segment{{capture: 0, clock: 0}, {capture: 0, clock: 1}, {capture: 0, clock: 1}, {capture: 1, clock: 2}},
			[]view.ClockReport{{}, {Set: true}, {}, {}}},
	} {
		o := &Ordered{Aligned: &Aligned{
			Matched: &Matched{Result: new(match.Result)}, Report: &show.Report{}, Solution: &align.Solution{Tree: new(network.Tree)}, segments: c.segments,
		}}
		o.Clocks = []trace.Clock{{Name: "web", Host: "web"}, {Name: "web/rx", Host: "web"}, {Name: "db", Host: "db"}}
		o.Solution.Maps, o.Solution.Component = []clock.Map{clock.Identity(), clock.Identity(), clock.Identity()}, c.components
		o.Solution.Pieces = c.pieces
		o.coverage = &coverage{maps: o.Solution.Maps}
		schema := &trace.Schema{Hosts: []string{"web", "db"}}
		for i, host := range []int{0, 0, 1} {
			schema.Maps = append(schema.Maps, trace.HostMap{Host: host, Map: o.mapOf(i)})
		}
		schema.Maps = append(schema.Maps, trace.HostMap{Host: 0, Map: &piece})
		if got := o.clocksOf(schema, []index.HostReport{{Component: c.components[0]}, {Component: c.components[2]}}); !slices.Equal(got, c.want) {
			t.Errorf("clocks of components %v: %v, want %v", c.components, got, c.want)
		}
	}
}
