package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"meridian/align"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/trace"
)

// View puts the traces on one timeline as [Run] does, or with the method [AsRecorded] as [Convert] does, and makes an index of it
// that can be looked at: in the file named, or in one without a name, which is gone when the timeline is closed.
func View(ctx context.Context, inputs []Input, o Options, path string) (*view.Timeline, *Outcome, error) {
	raw := o.Align.Method == AsRecorded
	if raw {
		o.Align = align.Options{}
	}
	r := &run{Options: o, inputs: inputs, sampled: -1}
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	if err := r.checkIndex(path); err != nil {
		return nil, nil, err
	}
	if err := r.gather(ctx); err != nil {
		return nil, nil, err
	}
	if raw {
		r.cut = r.stretches()
	} else {
		if err := r.estimate(ctx); err != nil {
			return nil, nil, err
		}
		r.describe()
	}
	t, err := r.timeline(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return t, &Outcome{Report: r.report, Broken: r.broken, Played: r.played, Warnings: r.warnings.Lines()}, nil
}

// checkIndex refuses a place for the index before any work is done.
func (r *run) checkIndex(path string) error {
	if path == "" {
		return nil
	}
	for _, in := range r.inputs {
		if sameFile(in.Path, path) {
			return usage("%s is an input; it would be overwritten", path)
		}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage("%s is a directory", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage("%s: there is no directory %s", path, filepath.Dir(path))
	}
	return nil
}

// WriteView writes a timeline as one file, which appears whole or not at all.
func WriteView(ctx context.Context, t *view.Timeline, path string, o view.Options) error {
	b, err := newBeside(ctx, output{path: path})
	if err != nil {
		return err
	}
	defer b.remove()
	err = view.WriteFile(b, t, o)
	if finishing := b.finish(); err == nil {
		err = finishing
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return b.place()
}

// timeline plays the rows of the timeline into an index.
func (r *run) timeline(ctx context.Context, path string) (*view.Timeline, error) {
	defer r.discard()
	var b *building
	err := r.play(ctx, asRows, func(l *trace.Schema) (_ trace.Sink, err error) {
		b, err = r.build(path, l)
		return unfinished{b}, err
	})
	if err != nil {
		return nil, err
	}
	return b.timeline() // now, when all that is amiss with the events was said
}

// building is an index that is being built.
type building struct {
	*index.Builder
	run    *run
	legend *trace.Schema
}

func (r *run) build(path string, l *trace.Schema) (*building, error) {
	b, err := index.NewBuilder(l, index.Options{Path: path, MinDelay: r.Align.MinDelay, Granularity: r.granularityOf(l)})
	if err != nil {
		return nil, err
	}
	r.builders = append(r.builders, b)
	return &building{b, r, l}, nil
}

// discard gives up what was not completed.
func (r *run) discard() {
	for _, b := range r.builders {
		b.Discard()
	}
	r.builders = nil
}

// timeline attaches what is known beside the events and completes the index.
func (b *building) timeline() (*view.Timeline, error) {
	report, err := b.run.viewReport(b.legend.Hosts)
	if err != nil {
		return nil, err
	}
	report.Clocks = b.run.clocksOf(b.legend, report.Hosts)
	if err := report.Attach(b.Builder); err != nil {
		return nil, err
	}
	if err := b.Builder.Close(); err != nil {
		return nil, err
	}
	x, err := b.Index()
	if err != nil {
		return nil, err
	}
	return view.NewTimeline(x)
}

// page writes a timeline as one file that needs no server.
type page struct {
	*building
	to io.Writer
}

func pageSink(r *run, w io.Writer, l *trace.Schema) (trace.Sink, error) {
	b, err := r.build("", l)
	return page{b, w}, err
}

func (p page) Close() error {
	t, err := p.timeline()
	if err != nil {
		return err
	}
	defer t.Close()
	return view.WriteFile(p.to, t, view.Options{})
}

// unfinished keeps an index open when its events have come: something is to be attached.
type unfinished struct{ *building }

func (unfinished) Close() error { return nil }

// viewReport says in words and pictures what is known of the clocks.
func (r *run) viewReport(hosts []string) (*view.Report, error) {
	v := &view.Report{Warnings: r.warnings.Lines(), Hosts: make([]view.HostReport, len(hosts))}
	for i, host := range hosts {
		h := &v.Hosts[i]
		*h = view.HostReport{Component: r.componentOf(i, host), Reference: host, Addresses: []string{}}
		for k, c := range r.matched.Clocks {
			if c.Host != host {
				continue
			}
			for _, a := range r.matched.Addresses[k] {
				h.Addresses = append(h.Addresses, a.String())
			}
			if r.report != nil && c.Name == host { // the others are second clocks of it
				of := &r.report.Hosts[k]
				h.Reference = of.Reference
				h.Offset, h.Skew, h.Bound = of.Texts()
			}
		}
	}
	if r.report == nil {
		v.Summary = "Stamps are as they were recorded."
		return v, nil
	}
	v.Method, v.Assumption, v.Summary, v.Pairs = r.report.Method, r.report.Assumption, r.report.Summary(), r.report.PairTexts()
	g := show.Gallery{Channels: r.matched.Channels}
	for i := range r.matched.Clocks {
		c, h := &r.matched.Clocks[i], &r.report.Hosts[i]
		g.Clocks = append(g.Clocks, show.GalleryClock{Name: h.Name, Reference: h.Reference, Component: h.Component,
			Map: &r.solution.Maps[i], First: c.First, Last: c.Last, BoundNs: h.BoundNs})
	}
	plots, left, err := g.Draw()
	if v.Plots = plots; left != "" {
		v.Left = append(v.Left, "pictures of clocks: "+left)
	}
	return v, err
}
