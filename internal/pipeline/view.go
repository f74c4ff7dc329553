package pipeline

import (
	"context"
	"io"

	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/output"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/trace"
)

// View orders the traces as [Run] does, and makes an index of the timeline for viewers: in the file named, or in one
// without a name, which is gone when the timeline is closed.
func View(ctx context.Context, traces []input.Trace, o Options, path string) (*view.Timeline, *Outcome, error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	if path != "" {
		if err := checkPath(path, traces, false); err != nil {
			return nil, nil, err
		}
	}
	w := new(trace.Warnings)
	ordered, err := o.order(ctx, traces, w)
	if err != nil {
		return nil, nil, err
	}
	var b *timelineBuilder
	p, err := ordered.play(ctx, rowPass, w, o.Progress, func(schema *trace.Schema) (_ trace.Sink, err error) {
		b, err = newTimelineBuilder(ordered, path, schema, w)
		return b, err
	})
	if b != nil {
		defer b.Discard()
	}
	if err != nil {
		return nil, nil, err
	}
	out := newOutcome(ordered, w)
	p.describe(out, w)
	t, err := b.timeline() // after all warnings, which it contains
	if err != nil {
		return nil, nil, err
	}
	out.setWarnings(w)
	return t, out, nil
}

// WriteView writes a timeline as one file, which appears whole or not at all.
func WriteView(ctx context.Context, t *view.Timeline, path string, o view.Options) error {
	var set output.Set
	defer set.Remove()
	if err := set.Write(ctx, path, func(w io.Writer) error { return view.WriteFile(w, t, o) }); err != nil {
		return nameError(path, err)
	}
	return set.Publish()
}

// timelineBuilder is a sink that builds the index of a timeline.
type timelineBuilder struct {
	*index.Builder
	ordered  *Ordered
	schema   *trace.Schema
	warnings *trace.Warnings
}

func newTimelineBuilder(o *Ordered, path string, schema *trace.Schema, w *trace.Warnings) (*timelineBuilder, error) {
	b, err := index.NewBuilder(schema, index.Options{Path: path, MinDelay: o.Options.MinDelay, Granularity: o.granularityOf(schema)})
	if err != nil {
		return nil, err
	}
	return &timelineBuilder{b, o, schema, w}, nil
}

// Close leaves the index open: what is known beside the events is still to be attached.
func (b *timelineBuilder) Close() error { return nil }

// timeline attaches what is known beside the events and completes the index.
func (b *timelineBuilder) timeline() (*view.Timeline, error) {
	report, err := b.ordered.viewReport(b.schema.Hosts, b.warnings)
	if err != nil {
		return nil, err
	}
	report.Clocks = b.ordered.clocksOf(b.schema, report.Hosts)
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

// page is a sink that writes a timeline as one file that needs no server.
type page struct {
	*timelineBuilder
	to io.Writer
}

func pageSink(c *sinkContext, w io.Writer, schema *trace.Schema) (trace.Sink, error) {
	b, err := newTimelineBuilder(c.ordered, "", schema, c.warnings)
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

// viewReport is what is known of the clocks, in words and pictures.
func (o *Ordered) viewReport(hosts []string, w *trace.Warnings) (*view.Report, error) {
	v := &view.Report{Warnings: w.Lines(), Hosts: make([]index.HostReport, len(hosts))}
	for i, host := range hosts {
		h := &v.Hosts[i]
		*h = index.HostReport{Component: o.componentOf(i, host), Reference: host, Addresses: []string{}}
		for k, c := range o.Clocks {
			if c.Host != host {
				continue
			}
			for _, a := range o.Addresses[k] {
				h.Addresses = append(h.Addresses, a.String())
			}
			if o.Report != nil && c.Name == host { // the others are second clocks of it
				of := &o.Report.Hosts[k]
				h.Reference = of.Reference
				h.Offset, h.Skew, h.Bound = of.Texts()
			}
		}
	}
	if o.Report == nil {
		v.Summary = "Stamps are as they were recorded."
		return v, nil
	}
	v.Method, v.Assumption, v.Summary, v.Pairs = o.Report.Method, o.Report.Assumption, o.Report.Summary(), o.Report.PairTexts()
	g := show.Gallery{Channels: o.Channels}
	for i := range o.Clocks {
		c, h := &o.Clocks[i], &o.Report.Hosts[i]
		g.Clocks = append(g.Clocks, show.GalleryClock{Name: h.Name, Reference: h.Reference, Component: h.Component,
			Map: &o.Solution.Maps[i], First: c.First, Last: c.Last, BoundNs: h.BoundNs})
	}
	plots, left, err := g.Draw()
	if v.Plots = plots; left != "" {
		v.Left = append(v.Left, "pictures of clocks: "+left)
	}
	return v, err
}
