package align

import (
	"meridian/align/bound"
	"meridian/align/envelope"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// method is one way to estimate. It either estimates pairs, which a network strategy joins, or places all clocks itself.
type method struct {
	name string
	// linear says that its bounds assume linear clocks. Otherwise they assume the stated wander.
	linear bool
	// own says that it is no published method. Its estimate is moved into the bounds; published ones are left as published.
	own  bool
	pair func(*pair.Problem, *Options) (pair.Estimate, error)
	// bent is in the place of pair where a method follows clocks through the stretches in which they are slewed.
	bent  func(*pair.Problem, []bound.Stretch) (pair.Estimate, error)
	whole func(p *trace.Problem, reference int, o *Options) (*network.Tree, error)
	// assumption is what the bounds of a method that places all clocks rest on; "" for one without bounds.
	assumption string
}

const envelopeMethod = "envelope"

// methods lists them, the default first; to add one, add a line.
var methods = []method{
	{name: envelopeMethod, own: true, pair: unbent, bent: smoothed},
	{name: "hull", linear: true, pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.Hull(p), nil }},
	{name: "cones", own: true, pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.Cones(p), nil }},
	{name: "corridor", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.WidestCorridor(p) }},
	{name: "regression", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.Regression(p, 100) }},
	{name: "regression-filtered", pair: func(p *pair.Problem, o *Options) (pair.Estimate, error) {
		if o.Confidence == 0 {
			return pair.Regression(p, 90)
		}
		return pair.Regression(p, o.Confidence)
	}},
	{name: "lts", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.LeastTrimmedSquares(p, 0) }},
	{name: "two-point", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.TwoPoint(p) }},
	{name: "interval", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.Interval(p, 0) }},
	{name: "cristian", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) {
		return pair.Cristian(p, pair.CristianOptions{})
	}},
	{name: "ntp", pair: func(p *pair.Problem, _ *Options) (pair.Estimate, error) { return pair.NTP(p) }},
	{name: "broadcast", whole: byBroadcasts},
	{name: "sampled", whole: bySamples,
		assumption: "every clock is linear from one sample to the next, and no sample is further off than it says"},
}

// Methods returns the names of all methods, the default first.
func Methods() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}

// unbent is the envelope smoother of two clocks that are not slewed.
func unbent(p *pair.Problem, _ *Options) (pair.Estimate, error) { return smoothed(p, nil) }

// smoothed is the envelope smoother of two clocks, or the hull's line (the cones, if none passes) where it has no curve.
func smoothed(p *pair.Problem, stretches []bound.Stretch) (pair.Estimate, error) {
	s, ok := envelope.Pair(p, smootherStretches(stretches)...)
	if !ok {
		return pair.Cones(p), nil
	}
	e := pair.Estimate{Fit: pair.Exact, Map: clock.PairMap{Mid: s.Curve}, Sigma: s.Sigma, Gain: s.Gain, Deviation: s.Deviation}
	for _, r := range s.Routes {
		e.Routes = append(e.Routes, pair.Route{FromA: r.From == 0, At: r.At, By: r.By})
	}
	return e, nil
}
