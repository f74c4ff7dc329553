//go:build unix

package main

import (
	"slices"
	"testing"

	"meridian/internal/experiment/verdict"
)

func TestAComparisonNamesResultsThatAreNotWhole(t *testing.T) {
	dirs := []string{"a", "b"}
	whole, gaps := &verdict.Report{}, &verdict.Report{Promises: []string{"the inputs have gaps: x"}}
	for _, c := range []struct {
		reports [2][]*verdict.Report
		failed  [2]int
		want    []string
	}{
		{[2][]*verdict.Report{{whole}, {whole, whole}}, [2]int{}, nil},
		{[2][]*verdict.Report{{whole}, {whole, gaps, gaps}}, [2]int{}, []string{"b: the inputs have gaps: x"}},
		{[2][]*verdict.Report{{gaps}, {whole}}, [2]int{2, 0}, []string{"a: 2 runs did not end well and are left out", "a: the inputs have gaps: x"}},
	} {
		if got := lackingRuns(dirs, c.reports, c.failed); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
