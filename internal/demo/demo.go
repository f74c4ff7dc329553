// Package demo lets three processes of this program talk over loopback, each with a clock of its own that is wrong, aligns
// what they recorded, and holds the result against the truth.
//
//	web ---request--> app ---query---> db        every process lists what it received, stamped by
//	    <---reply---      <--answer---           its own clock, and what its threads did: web.txt, web.json, ...
//
// In go the options, out comes a [Result] and a directory with the lists, the page and the report. The traces (JSON) go
// through the pipeline like any others; the lists (text) have the same messages, by which the truth is judged. The truth is known all the same, because all three clocks are made from the one of
// the machine. [Host] is what each process runs.
package demo

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"meridian/format/messages"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/trace"
)

const (
	Shortest = 200 * time.Millisecond // below it there may be too few messages for a bound on both sides
	Longest  = 10 * time.Minute
)

// Command is how this program is told to be one of the demo's hosts.
var Command = []string{"demo", "host"}

// Options says what to play.
type Options struct {
	Duration  time.Duration // how long the hosts talk, Shortest to Longest
	Seed      uint64        // that the clocks' errors are drawn from
	Directory string        // for the files, made if missing; "" means a fresh temporary one
	// Started is told the hosts and their processes when all of them talk.
	Started func(hosts string)
}

// Run plays the demo. All its processes have ended when it returns.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	place, err := newFolder(o.Directory)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := place.close(); err == nil {
			err = closing
		}
	}()
	origin := machineOrigin()
	steps := newStepWatch(origin)
	clocks := drawClocks(o.Seed, machineNow(origin))
	if err := talk(ctx, place.work, origin, clocks, o.Seed, o.Duration, o.Started); err != nil {
		return nil, err
	}
	outcome, lists, err := alignTraces(ctx, place.work)
	if err != nil {
		return nil, err
	}
	truth, err := judge(outcome.Report, lists, clocks)
	if err != nil {
		return nil, err
	}
	if err := writeTruth(filepath.Join(place.work, "truth.json"), o.Seed, clocks); err != nil {
		return nil, err
	}
	if err := place.publish(); err != nil {
		return nil, err
	}
	return &Result{Report: outcome.Report, Broken: truth.broken(outcome.Broken, steps.stepped()), truth: truth, dir: place.dir}, nil
}

// alignTraces aligns what the hosts recorded, like any traces, and returns the lists of the same messages.
func alignTraces(ctx context.Context, dir string) (*pipeline.Outcome, []*trace.List, error) {
	var paths []string
	var lists []*trace.List
	for _, name := range demoHosts {
		l, err := readList(filepath.Join(dir, name+".txt"))
		if err != nil {
			return nil, nil, err
		}
		paths, lists = append(paths, filepath.Join(dir, name+".json")), append(lists, l)
	}
	inputs, err := input.Parse(paths)
	if err != nil {
		return nil, nil, err
	}
	outcome, err := pipeline.Run(ctx, inputs, pipeline.Options{
		Outputs: []string{filepath.Join(dir, "timeline.html"), filepath.Join(dir, "report.json")},
	})
	return outcome, lists, err
}

func readList(path string) (*trace.List, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var warnings trace.Warnings
	return messages.Read(file, path, &warnings)
}
