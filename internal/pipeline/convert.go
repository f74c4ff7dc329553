package pipeline

import (
	"context"

	"meridian/align"
	"meridian/trace"
)

// Convert writes events and packets, or what a filter leaves of them, in other formats: [Run] with less ceremony. With
// the method [AsRecorded] no clock is touched and nothing is promised of their order; with any other the hosts are
// aligned as by Run.
//
// With no outputs, and pairs to measure, the events are read for these alone.
func Convert(ctx context.Context, inputs []Input, o Options) (*Outcome, error) {
	raw := o.Align.Method == AsRecorded
	if raw {
		o.Align = align.Options{}
	}
	r := &run{Options: o, inputs: inputs, sampled: -1}
	writers, err := r.writers()
	if err != nil {
		return nil, err
	}
	if raw {
		for _, out := range writers {
			if !out.ofEvents() {
				return nil, usage("%s is made by aligning; leave out --method %s", out.path, AsRecorded)
			}
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	if raw {
		r.cut = r.stretches()
	} else {
		if err := r.estimate(ctx); err != nil {
			return nil, err
		}
		r.describe()
	}
	if err := r.write(ctx, writers); err != nil {
		return nil, err
	}
	if r.played == nil && len(o.Filter.Pairs) > 0 {
		if err := r.play(ctx, asEvents, func(*trace.Schema) (trace.Sink, error) { return discard{}, nil }); err != nil {
			return nil, err
		}
	}
	out := &Outcome{Report: r.report, Broken: r.broken, Played: r.played, Packets: r.merged.Load(), Warnings: r.warnings.Lines()}
	return out, nil
}

// discard is a sink for those who want to know only what comes.
type discard struct{}

func (discard) Write(*trace.TimelineEvent) error { return nil }
func (discard) Close() error                     { return nil }
