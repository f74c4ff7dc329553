// Package pipeline joins the rooms into one run: traces in, one timeline out.
//
//	[HOST=]PATH --> input.Read --> Match --> Align --> Order --> outputs, timelines
//	                input.Set      Matched   Aligned   Ordered
//
// Each stage is a function from one value to the next. Values are not changed once they are made, so each stage can be
// run again when more data has come, from the first value that differs. Warnings go to an argument of the stage that finds
// them.
//
// The rooms between know only trace and clock; this one knows which of them follows which, and nothing of how they work.
// A capture is read twice, once reduced to what matching needs and once frame by frame to be written, so that memory holds
// no packet's bytes. Events are read again for each pass over them.
//
// Packages of its own:
//
//	input      finds and reads traces
//	source     makes events of packets, messages, operations and bounds
//	output     writes files that appear whole and together, or not at all
//	evaluate   measures how well traces are synchronised
//	simulate   writes traces of simulated hosts
//	usage      the error for a mistake in what was asked for
package pipeline

import (
	"context"
	"slices"
	"strings"

	"meridian/internal/filter"
	"meridian/internal/pipeline/input"
	"meridian/internal/redact"
	"meridian/internal/show"
	"meridian/trace"
)

// Options says what to do with the inputs.
type Options struct {
	Match   MatchOptions
	Align   AlignOptions
	Select  Selection
	Outputs []string // files to write; the name picks the format
	Logical string   // one of Logicals: every event gets its logical time as a field; "" for none
	// PICLFromStart gives times in PICL as seconds since the start of the timeline instead of UTC.
	PICLFromStart bool
	// Redact writes other addresses, no payload and no texts: see package redact.
	Redact   bool
	Progress Progress
}

// Progress is told how far a stage is, in units of its own, from several goroutines. It may be nil.
type Progress func(stage string, done, total int64)

// Reading is the stage in which the inputs are read, in bytes.
const Reading = "reading"

// Report tells how far a stage is, unless p is nil.
func (p Progress) Report(stage string, done, total int64) {
	if p != nil {
		p(stage, done, total)
	}
}

// check refuses, before any work is done, options that cannot be.
func (o *Options) check() error {
	if err := o.Align.check(); err != nil {
		return err
	}
	if err := checkLogical(o.Logical); err != nil {
		return err
	}
	return o.Select.check()
}

// Outcome is the result of a run.
type Outcome struct {
	Report *show.Report // nil with the method AsRecorded
	// Broken lists the promises that could not be kept: hosts left unaligned, inversions that remain.
	Broken []string
	// Played is what became of events; nil if none were written.
	Played *show.Conversion
	// Packets is how many packets were written as a capture; nil if no capture was written.
	Packets  *int64
	Written  []Written
	Lost     map[string]input.Lost // what recorders counted as lost, by host of the trace; hosts without losses are absent
	Warnings []string
	missed   bool     // something that was asked for fits nothing
	absent   []string // what of it was asked for by name, or lies beside the timeline
}

// Written is one file or directory that a run wrote, and what it holds, in words.
type Written struct{ Path, What string }

func (w Written) String() string { return w.Path + ": " + w.What }

// breakPromise notes a promise that could not be kept.
func (o *Outcome) breakPromise(reason string) {
	if !slices.Contains(o.Broken, reason) {
		o.Broken = append(o.Broken, reason)
	}
}

// Run aligns the traces and writes the outputs: report, events, packets, as far as they are selected. With the method
// AsRecorded clocks are left as they are and no order is promised. Without outputs, but with pairs to be measured, it
// reads the events for these alone.
func Run(ctx context.Context, traces []input.Trace, o Options) (*Outcome, error) {
	files, err := o.checkOutputs(traces)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	w := new(trace.Warnings)
	ordered, err := o.order(ctx, traces, w)
	if err != nil {
		return nil, err
	}
	out := newOutcome(ordered, w)
	writer := &outputWriter{files: files, context: sinkContext{ordered, w, o.PICLFromStart}, progress: o.Progress, outcome: out, dropped: o.Match.Dropped}
	if o.Redact {
		writer.redact = redact.New()
	}
	if err := writer.write(ctx); err != nil {
		return nil, err
	}
	out.setWarnings(w)
	return out, nil
}

// order runs the stages from the traces to an ordered timeline.
func (o *Options) order(ctx context.Context, traces []input.Trace, w *trace.Warnings) (*Ordered, error) {
	m, err := o.ReadAndMatch(ctx, traces, w)
	if err != nil {
		return nil, err
	}
	a, err := Align(ctx, m, o.Align, w)
	if err != nil {
		return nil, err
	}
	ordered, err := Order(a, o.Select)
	if err != nil {
		return nil, err
	}
	ordered.logical = o.Logical
	return ordered, nil
}

// ReadAndMatch runs the stages from the traces to a matched problem.
func (o *Options) ReadAndMatch(ctx context.Context, traces []input.Trace, w *trace.Warnings) (*Matched, error) {
	if len(o.Match.HostAttributes) > 0 {
		traces = input.NameHostsBy(traces, o.Match.HostAttributes)
	}
	set, err := input.Read(ctx, traces, o.Match.Memory, w, func(done, total int64) { o.Progress.Report(Reading, done, total) })
	if err != nil {
		return nil, err
	}
	return Match(ctx, set, o.Match, w)
}

func newOutcome(o *Ordered, w *trace.Warnings) *Outcome {
	out := &Outcome{Report: o.Report, Broken: slices.Clone(o.Broken), Lost: lostBy(o.recordings)}
	for _, why := range o.absent {
		out.breakPromise(why)
	}
	for _, why := range o.SelfCheck(w) {
		out.breakPromise(why)
	}
	out.miss(o.misses, w)
	return out
}

// lostBy adds up by host what recordings lack.
func lostBy(recordings []recording) map[string]input.Lost {
	all := make(map[string]input.Lost)
	for _, x := range recordings {
		if x.Lost != (input.Lost{}) {
			sum := all[x.Host]
			all[x.Host] = input.Lost{Events: sum.Events + x.Lost.Events, Packets: sum.Packets + x.Lost.Packets}
		}
	}
	return all
}

// miss notes what was asked for and fits nothing.
func (o *Outcome) miss(misses []filter.Miss, w *trace.Warnings) {
	for _, m := range misses {
		if m.Why != "" {
			w.Add(m.Asked, m.Why, "")
		}
		o.missed = true
		if m.Absent {
			o.absent = append(o.absent, m.Asked)
		}
	}
}

// setWarnings completes the outcome. Outputs that lack what was asked for by name, or what was damaged, are a broken promise.
func (o *Outcome) setWarnings(w *trace.Warnings) {
	if damage := w.Gaps(); damage != "" {
		o.breakPromise(damage)
	}
	if len(o.absent) > 0 {
		o.breakPromise("the traces have nothing that fits " + strings.Join(o.absent, ", "))
	}
	o.Warnings = w.Lines()
	if o.Report != nil {
		o.Report.Warnings = o.Warnings
	}
}
