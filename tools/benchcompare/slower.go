package main

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// slowerOf compares the times in two files of results, and returns a line for each benchmark that is slower in the second.
func slowerOf(base, here string, most float64) ([]string, error) {
	before, err := timesIn(base)
	if err != nil {
		return nil, err
	}
	after, err := timesIn(here)
	if err != nil {
		return nil, err
	}
	var slower []string
	for name, times := range after {
		old := before[name]
		if len(old) == 0 {
			continue // it is new
		}
		a, b := benchmath.NewSample(old, &benchmath.DefaultThresholds), benchmath.NewSample(times, &benchmath.DefaultThresholds)
		differ := benchmath.AssumeNothing.Compare(a, b)
		was := benchmath.AssumeNothing.Summary(a, 0.95).Center
		is := benchmath.AssumeNothing.Summary(b, 0.95).Center
		if differ.P < differ.Alpha && is > most*was {
			slower = append(slower, fmt.Sprintf("%s: %.2fx (p=%.3f)", name, is/was, differ.P))
		}
	}
	slices.Sort(slower)
	return slower, nil
}

// timesIn returns the seconds for one operation, in all runs, by package and benchmark.
func timesIn(path string) (map[string][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	times := make(map[string][]float64)
	r := benchfmt.NewReader(f, path)
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		if t, ok := result.Value("sec/op"); ok {
			name := result.GetConfig("pkg") + "." + result.Name.String()
			times[name] = append(times[name], t)
		}
	}
	return times, r.Err()
}
