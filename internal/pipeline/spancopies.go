package pipeline

import (
	"context"
	"io"
	"slices"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/internal/filter"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/spans"
	"meridian/trace"
)

// writeSpans writes the copies of all files of spans at corrected times.
func (w *outputWriter) writeSpans(ctx context.Context) error {
	if w.first(ofSpans) == nil {
		return nil
	}
	data, tally, err := correctSpans(ctx, w.context.ordered, w.context.warnings)
	if err != nil {
		return err
	}
	if tally.Outside > 0 {
		w.context.warnings.AddN("", "spans lie outside of their parents, which their bounds do not allow to mend; they have the attribute meridian.outside_parent", "", tally.Outside)
	}
	if tally.Timeless > 0 {
		w.context.warnings.AddN("", "spans are left out of the corrected copies: no start, or a time out of range", "", tally.Timeless)
	}
	if tally.Written == 0 {
		w.context.warnings.Add("", "no span is within the selection", "")
	}
	for _, f := range w.files {
		if f.kind != ofSpans {
			continue
		}
		if err := w.set.Write(ctx, f.path, func(to io.Writer) error { return f.spans(to, data) }); err != nil {
			return nameError(f.path, err)
		}
	}
	return nil
}

// correctSpans reads all files of spans again, whole, and puts the selected spans on the timeline.
func correctSpans(ctx context.Context, o *Ordered, w *trace.Warnings) (*tracev1.TracesData, spans.Tally, error) {
	all := new(tracev1.TracesData)
	of := make(map[*tracev1.ResourceSpans]*recording)
	for i := range o.recordings {
		x := &o.recordings[i]
		if !x.Spans() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, spans.Tally{}, err
		}
		data, err := x.WholeSpans(w)
		if err != nil {
			return nil, spans.Tally{}, err
		}
		for _, rs := range data.ResourceSpans {
			of[rs] = x
		}
		all.ResourceSpans = append(all.ResourceSpans, data.ResourceSpans...)
	}
	clocks := make(map[int]*spans.Clock)
	tally := spans.Correct(all.ResourceSpans, func(rs *tracev1.ResourceSpans) *spans.Clock {
		x, host := of[rs], of[rs].HostOf(rs.Resource)
		k := slices.IndexFunc(x.Hosts, func(h *input.RecordedHost) bool { return h.Name == host })
		if k < 0 { // none of its spans could be used
			return nil
		}
		number := x.clocks[k]
		if clocks[number] == nil {
			clocks[number] = spanClock(o, number)
		}
		return clocks[number]
	})
	all.ResourceSpans = slices.DeleteFunc(all.ResourceSpans, func(rs *tracev1.ResourceSpans) bool {
		rs.ScopeSpans = slices.DeleteFunc(rs.ScopeSpans, func(ss *tracev1.ScopeSpans) bool { return len(ss.Spans) == 0 })
		return len(rs.ScopeSpans) == 0
	})
	return all, tally, nil
}

// spanClock returns how the spans of a clock are placed, as events of recordings are.
func spanClock(o *Ordered, number int) *spans.Clock {
	selected := filter.Match(o.selection.Hosts, o.Clocks[number].Host)
	from, to := o.selection.From, o.selection.To
	c := &spans.Clock{Number: number, Wanted: func(start, end clock.TimelineTime) bool {
		return selected && (!from.Timed || end >= from.Time) && (!to.Timed || start <= to.Time)
	}}
	m := o.mapOf(number)
	if m == nil {
		c.Place = func(t clock.HostTime) spans.Place { return spans.Place{Time: clock.TimelineTime(t)} }
		return c
	}
	c.Aligned, c.Component = true, o.Solution.Component[number]
	c.Several = slices.Max(o.Solution.Component) > 0
	gaps, granularity := o.coverage.gaps[number], o.Clocks[number].Granularity
	c.Place = func(t clock.HostTime) spans.Place {
		p := spans.Place{Time: m.At(t)}
		var lowOK, highOK bool
		p.Low, p.High, lowOK, highOK = m.EventBounds(t, granularity)
		p.Bounded = lowOK && highOK && !inAny(gaps, t)
		return p
	}
	return c
}
