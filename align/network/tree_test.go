package network

import (
	"testing"

	"meridian/clock"
)

func TestTreesWhoseFieldsDoNotFitAreRefused(t *testing.T) {
	edges := []Edge{{A: 0, B: 1, Map: clock.PairIdentity(), Weight: 1}}
	if _, _, err := Tighten(edges, nil, nil); err == nil {
		t.Error("no tree was taken for one")
	}
	if _, err := Build("", -1, nil, -1); err == nil {
		t.Error("less than no clocks: no error")
	}
	for name, spoil := range map[string]func(t *Tree){
		"none":              func(t *Tree) {},
		"too few maps":      func(t *Tree) { t.Maps = t.Maps[:1] },
		"no estimate":       func(t *Tree) { t.Maps[1].Mid = nil },
		"unknown component": func(t *Tree) { t.Component[1] = 1 },
		"unknown reference": func(t *Tree) { t.References[0] = 2 },
	} {
		tree, err := Build("", 2, edges, -1)
		if err != nil {
			t.Fatal(err)
		}
		spoil(tree)
		if _, _, err := Tighten(edges, tree, nil); (err == nil) != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
