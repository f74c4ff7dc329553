package align

import (
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
)

// describe fills in what is known of each clock.
func (s *solving) describe() {
	s.Hosts = make([]Host, len(s.Clocks))
	for i := range s.Hosts {
		h, c := &s.Hosts[i], &s.Clocks[i]
		h.Spread, h.Bounded = pair.SpreadOf(&s.Maps[i], c.First, c.Last)
		h.Determined, h.Enclosed = true, true
		if s.method.whole != nil {
			h.Skew = slope(s.Maps[i].Mid, c.First, c.Last)
			h.Enclosed = s.Parent[i] == i
			continue
		}
		rate, low, high := 1.0, 1.0, 1.0 // of the clock against the timeline
		for at := i; s.Parent[at] != at; at = s.Parent[at] {
			e := s.between(at, s.Parent[at])
			h.Determined = h.Determined && e.Determined
			h.Enclosed = h.Enclosed && e.Enclosed
			r, l, u := 1+e.Skew/1e6, 1+e.SkewLow/1e6, 1+e.SkewHigh/1e6
			if at < s.Parent[at] { // the estimate is the parent's rate against the clock's
				r, l, u = 1/r, 1/u, 1/l
			}
			rate, low, high = rate*r, low*l, high*u
		}
		h.Skew, h.SkewLow, h.SkewHigh = (rate-1)*1e6, (low-1)*1e6, (high-1)*1e6
		if h.Enclosed && h.SkewHigh-h.SkewLow > pair.UndeterminedPPM {
			h.Determined = false
		}
		if s.smoothed != nil && s.smoothed[s.Component[i]] {
			h.Deviation = s.deviations[i]
		} else {
			h.Deviation = s.deviation(i)
		}
	}
	s.complete()
	s.Routes = s.changes()
}

// changes gathers the routes that changed: those seen with all clocks at once, and elsewhere those of the pairs.
func (s *solving) changes() []Route {
	out := s.routes
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if s.smoothed != nil && s.smoothed[s.Component[x.A]] {
			continue
		}
		for _, r := range x.Estimate.Routes {
			route := Route{From: x.A, To: x.B, At: r.At, By: r.By}
			if !r.FromA {
				route.From, route.To = x.B, x.A
			}
			out = append(out, route)
		}
	}
	return out
}

// slope returns the mean frequency of a clock against the timeline, ppm.
func slope(c clock.Curve, first, last int64) float64 {
	if last <= first {
		return 0
	}
	from, to := c.At(first, clock.Nearest), c.At(last, clock.Nearest)
	return (float64(last-first)/max(float64(to-from), 1) - 1) * 1e6
}

// deviation returns a clock's statistical error, added up along its path as that of independent estimates.
func (s *solving) deviation(i int) []pair.Deviation {
	var out []pair.Deviation
	for at := i; s.Parent[at] != at; at = s.Parent[at] {
		e := s.between(at, s.Parent[at])
		if len(e.Deviation) == 0 {
			return nil
		}
		a := min(at, s.Parent[at])
		// From the clock's instants to those of the pair's first clock, over the timeline.
		back := s.Maps[a].Mid.Inverse()
		onA := func(host int64) int64 { return back.At(s.Maps[i].At(host), clock.Nearest) }
		if out == nil {
			forth := s.Maps[i].Mid.Inverse()
			for _, d := range e.Deviation {
				out = append(out, pair.Deviation{Host: forth.At(s.Maps[a].At(d.Host), clock.Nearest), Ns: d.Ns})
			}
			continue
		}
		for k := range out {
			out[k].Ns = math.Hypot(out[k].Ns, deviationAt(e.Deviation, onA(out[k].Host)))
		}
	}
	return out
}

// deviationAt interpolates a deviation.
func deviationAt(d []pair.Deviation, host int64) float64 {
	i, _ := slices.BinarySearchFunc(d, host, func(d pair.Deviation, t int64) int {
		switch {
		case d.Host < t:
			return -1
		case d.Host > t:
			return 1
		}
		return 0
	})
	if i == 0 || i == len(d) {
		return d[min(i, len(d)-1)].Ns
	}
	f := float64(host-d[i-1].Host) / float64(d[i].Host-d[i-1].Host)
	return d[i-1].Ns + f*(d[i].Ns-d[i-1].Ns)
}

// complete gives pairs that were not estimated one by one what the whole says of them.
func (s *solving) complete() {
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if s.method.whole == nil && (s.estimated[i] || s.secondOf(x) != nil || x.Estimate.Fit == pair.Absent) {
			continue
		}
		if s.Component[x.A] != s.Component[x.B] {
			continue
		}
		e := &x.Estimate
		if s.method.whole != nil {
			e.Fit, e.First, e.Last = pair.Exact, s.Clocks[x.A].First, s.Clocks[x.A].Last
		}
		e.Map.Mid = clock.ComposeCurves(s.Maps[x.A].Mid, s.Maps[x.B].Mid.Inverse(), clock.Nearest)
		rates(e)
	}
}

// find returns the pair of two clocks, nil if they exchanged no messages.
func (s *solving) find(a, b int) *Pair {
	a, b = min(a, b), max(a, b)
	i, found := slices.BinarySearchFunc(s.Pairs, [2]int{a, b}, func(x Pair, key [2]int) int {
		if x.A != key[0] {
			return x.A - key[0]
		}
		return x.B - key[1]
	})
	if !found {
		return nil
	}
	return &s.Pairs[i]
}

// between returns the estimate of two clocks of which one is the other's parent.
func (s *solving) between(a, b int) *pair.Estimate {
	if x := s.find(a, b); x != nil {
		return &x.Estimate
	}
	return &pair.Estimate{Map: clock.Identity()}
}

// count counts inversions and finds the quickest delays, channel by channel.
func (s *solving) count(ctx context.Context) error {
	p := s.problem
	s.counts = make([]quality.Counts, len(p.Channels))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Channels {
		group.Go(func() error {
			c := &p.Channels[i]
			if s.Component[c.From] != s.Component[c.To] { // two timelines have no order
				s.counts[i].Quickest = math.MaxInt64
				return nil
			}
			s.counts[i] = quality.Channel(c, p.Clocks, s.Maps, s.leastOf(s.first[c.From], s.first[c.To]))
			return ctx.Err()
		})
	}
	return group.Wait()
}

// measure sums up what the channels' counts say.
func (s *solving) measure(ctx context.Context) error {
	p := s.problem
	if s.counts == nil {
		if err := s.count(ctx); err != nil {
			return err
		}
	}
	counts := s.counts
	s.Quality = quality.Counts{Quickest: math.MaxInt64}
	quickest := make(map[[2]int]int64)
	for j, c := range p.Channels {
		s.Quality.Add(counts[j])
		from, to := s.first[c.From], s.first[c.To]
		if from == to { // between a host's own clocks
			from, to = c.From, c.To
		}
		if known, ok := quickest[[2]int{from, to}]; !ok || counts[j].Quickest < known {
			quickest[[2]int{from, to}] = counts[j].Quickest
		}
	}
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if x.Both = x.AB > 0 && x.BA > 0 && s.Component[x.A] == s.Component[x.B]; x.Both {
			x.RoundTrip = max(clock.Add(quickest[[2]int{x.A, x.B}], quickest[[2]int{x.B, x.A}]), 0) // below it there is only granularity
		}
	}
	return nil
}
