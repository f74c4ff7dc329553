package eventbuffer

import (
	"math"
	"slices"

	"meridian/trace"
)

// fewTimestamps is the number of timestamps of a row and kind below which a step above fewStep is not believed that the
// row's others do not have: programs and tests do things each second.
const (
	fewTimestamps = 8
	fewStep       = 1_000_000
	chance        = 0.01 // the probability from which on it explains that few timestamps look coarse
)

// maxSteps is how many different steps the items of a trace may have; of more, the coarsest stands for the rest.
const maxSteps = 256

// rowSteps finds the steps of a row's timestamps by kind.
type rowSteps struct {
	begins, ends, instants, all trace.ResolutionFinder
	nBegins, nEnds, nInstants   int
}

// FindSteps finds how coarse the timestamps of the items are, for each row and of it for beginnings, ends and instants
// by themselves: each is as coarse as its own kind. unit is the step that the format has, ns.
//
// An end is at least as coarse as its beginning, and what happened within a slice too. Libraries make both of them from
// the beginning and a duration (OpenTelemetry JS): what was cut from the beginning is then missing from the end,
// however fine it looks.
func (b *Builder) FindSteps(unit int64) {
	rows := make([]rowSteps, len(b.t.streams))
	for i := range rows {
		r := &rows[i]
		r.begins.Unit, r.ends.Unit, r.instants.Unit, r.all.Unit = unit, unit, unit, unit
	}
	for i := range b.t.items {
		it := &b.t.items[i]
		r := &rows[it.Stream]
		r.all.Add(it.Time)
		switch it.Kind {
		case Slice:
			r.ends.Add(it.End)
			r.all.Add(it.End)
			r.nEnds++
			r.begins.Add(it.Time)
			r.nBegins++
		case Open:
			r.begins.Add(it.Time)
			r.nBegins++
		default:
			r.instants.Add(it.Time)
			r.nInstants++
		}
	}
	b.t.steps = []uint32{0}
	found := make([][3]trace.Resolution, len(rows))
	for i := range rows {
		r := &rows[i]
		all := r.all.Resolution()
		found[i] = [3]trace.Resolution{limited(r.begins.Resolution(), &all, r.nBegins), limited(r.ends.Resolution(), &all, r.nEnds), limited(r.instants.Resolution(), &all, r.nInstants)}
	}
	for i := range b.t.items {
		it := &b.t.items[i]
		f := &found[it.Stream]
		begin := f[0].Of(it.Time)
		switch it.Kind {
		case Slice:
			it.endStep = b.t.placeOfStep(max(f[1].Of(it.End), begin))
		case Open:
		default:
			begin = f[2].Of(it.Time)
			if it.End != 0 {
				begin = max(begin, f[0].Of(it.End))
			}
		}
		it.step = b.t.placeOfStep(begin)
	}
}

// limited returns the resolution of n timestamps of a kind, of a row with the resolution all. Few are not believed to
// be coarser than the row's others where chance explains it, nor to be unusually coarse.
func limited(r trace.Resolution, all *trace.Resolution, n int) trace.Resolution {
	if n >= fewTimestamps {
		return r
	}
	limit := max(fewStep, all.Step)
	if r.Coarsest() > limit {
		r = trace.Resolution{Step: min(r.Step, limit)}
	}
	if math.Pow(float64(all.Step)/float64(max(r.Step, 1)), float64(n)) >= chance {
		r.Step = all.Step
	}
	return r
}

// placeOfStep returns the place of a step, which it adds.
func (t *Trace) placeOfStep(step int64) uint8 {
	s := uint32(min(step, 1<<32-1))
	i := slices.Index(t.steps, s)
	switch {
	case i >= 0:
		return uint8(i)
	case len(t.steps) < maxSteps:
		t.steps = append(t.steps, s)
		return uint8(len(t.steps) - 1)
	}
	last := len(t.steps) - 1
	t.steps[last] = max(t.steps[last], s)
	return uint8(last)
}

// Steps returns those of the timestamps of an item, of its time and of its end, once they were found; ns.
func (b *Builder) Steps(item int) (step, endStep int64) {
	it := &b.t.items[item]
	return int64(b.t.step(it.step)), int64(b.t.step(it.endStep))
}

// step returns a step by its place, 0 where none was looked for.
func (t *Trace) step(place uint8) uint32 {
	if int(place) < len(t.steps) {
		return t.steps[place]
	}
	return 0
}
