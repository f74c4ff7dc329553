// Package align turns messages into clock maps: for every clock the way to one timeline, with a lower and an upper
// bound at every instant.
//
// In goes a [trace.Problem], out comes a [Solution]. Three steps, each a package of its own:
//
//	pair     every two clocks that exchanged messages: their map with strict bounds
//	network  the reference of each component, the lightest path from every clock to it, the maps composed along it
//	quality  what the messages look like afterwards: inversions, delays, bounds
//
// Pairs are worked on in parallel. The cost is that of package pair, O(n) in the messages.
package align

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

// Options chooses the method. The zero value is the default.
type Options struct {
	Method     string // one of Methods; "" means the first
	Confidence int    // of regression-filtered: 90 (the default), 95, 99 or 100 per cent
	Reference  string // name of the clock or host that the timeline follows; "" means the central one
}

// method is an estimator of pairs and the assumption under which its bounds are strict.
type method struct {
	name       string
	assumption string
	estimate   func(*pair.Problem, Options) (pair.Estimate, error)
}

// methods lists the estimators; to add one, add a line.
var methods = []method{
	{"hull", linear, func(p *pair.Problem, _ Options) (pair.Estimate, error) { return pair.Hull(p), nil }},
	{"regression", linear, func(p *pair.Problem, _ Options) (pair.Estimate, error) { return pair.Regression(p, 100) }},
	{"regression-filtered", linear, func(p *pair.Problem, o Options) (pair.Estimate, error) {
		if o.Confidence == 0 {
			o.Confidence = 90
		}
		return pair.Regression(p, o.Confidence)
	}},
}

const linear = "every clock is linear over its trace: its skew is constant"

// Methods returns the names of all methods, the default first.
func Methods() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}

// Pair is what two clocks that exchanged messages say about each other.
type Pair struct {
	A, B     int
	AB, BA   int64 // messages from a to b and back
	Estimate pair.Estimate
	// RoundTrip is the sum of the quickest delays both ways on the timeline, ns: what no wrong offset can change.
	RoundTrip int64
	Both      bool // there are messages both ways, and RoundTrip holds
}

// Host is what is known of one clock on the timeline.
type Host struct {
	Skew, SkewLow, SkewHigh float64 // frequency against the timeline, ppm
	Determined, Enclosed    bool
	Spread                  pair.Spread // error over its trace
	Bounded                 bool
}

// Solution is one timeline per component.
type Solution struct {
	Method     string
	Assumption string
	*network.Tree
	Hosts   []Host
	Pairs   []Pair
	Quality quality.Counts
}

// Solve aligns the clocks of a problem. Errors are wrong options; whatever the messages are like, there is a solution,
// and its pairs say how good.
func Solve(ctx context.Context, p *trace.Problem, o Options) (*Solution, error) {
	m, err := o.method()
	if err != nil {
		return nil, err
	}
	reference, err := o.reference(p)
	if err != nil {
		return nil, err
	}
	f := fold(p)
	s := &Solution{Method: m.name, Assumption: m.assumption, Pairs: pairsOf(&f.Problem)}
	if err := s.estimate(ctx, f, m, o); err != nil {
		return nil, err
	}
	s.Tree, err = network.Build("", len(p.Clocks), s.edges(m), f.firstOf(reference))
	if err != nil {
		return nil, err
	}
	s.unfold(f, p)
	if f.firstOf(reference) != reference {
		s.follow(reference)
	}
	s.describe(p)
	return s, s.measure(ctx, p, f.first)
}

func (o Options) method() (method, error) {
	if o.Method == "" {
		return methods[0], nil
	}
	for _, m := range methods {
		if m.name == o.Method {
			return m, nil
		}
	}
	return method{}, fmt.Errorf("no method %q; there are %s", o.Method, strings.Join(Methods(), ", "))
}

func (o Options) reference(p *trace.Problem) (int, error) {
	if o.Reference == "" {
		return -1, nil
	}
	var names []string
	for i, c := range p.Clocks {
		if c.Name == o.Reference {
			return i, nil
		}
		names = append(names, c.Name)
	}
	return 0, fmt.Errorf("no host %q to be the reference; there are %s", o.Reference, strings.Join(names, ", "))
}

// pairsOf returns a pair for every two clocks with messages between them, ordered by clocks.
func pairsOf(p *trace.Problem) []Pair {
	var pairs []Pair
	for _, c := range p.Channels {
		if len(c.Messages) == 0 {
			continue
		}
		a, b := min(c.From, c.To), max(c.From, c.To)
		i := slices.IndexFunc(pairs, func(q Pair) bool { return q.A == a && q.B == b })
		if i < 0 {
			i = len(pairs)
			pairs = append(pairs, Pair{A: a, B: b})
		}
		if c.From == a {
			pairs[i].AB += int64(len(c.Messages))
		} else {
			pairs[i].BA += int64(len(c.Messages))
		}
	}
	slices.SortFunc(pairs, func(p, q Pair) int {
		if p.A != q.A {
			return p.A - q.A
		}
		return p.B - q.B
	})
	return pairs
}

// estimate runs the method on every pair.
func (s *Solution) estimate(ctx context.Context, f *folded, m method, o Options) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range s.Pairs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			x := &s.Pairs[i]
			for _, second := range f.seconds {
				if second.first == x.A && second.clock == x.B {
					x.Estimate = second.estimate
					return nil
				}
			}
			e, err := m.estimate(&pair.Problem{
				A: f.Clocks[x.A], B: f.Clocks[x.B],
				AB: messages(&f.Problem, x.A, x.B), BA: messages(&f.Problem, x.B, x.A),
			}, o)
			x.Estimate = e
			return err
		})
	}
	return group.Wait()
}

// messages returns all messages from one clock to another, which several channels may hold.
func messages(p *trace.Problem, from, to int) pair.Messages {
	var found pair.Messages
	for _, c := range p.Channels {
		if c.From == from && c.To == to {
			found = append(found, c.Messages)
		}
	}
	return found
}

// unboundedWeight is the weight of a pair whose offset is open to one side: any bounded path is better.
const unboundedWeight = 1e15

// edges weighs the pairs: by residual deviation where the method has one (K8), by mean bound otherwise.
func (s *Solution) edges(m method) []network.Edge {
	var edges []network.Edge
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if x.Estimate.Fit == pair.Absent {
			continue
		}
		e := network.Edge{A: x.A, B: x.B, Map: x.Estimate.Map, Weight: unboundedWeight}
		if spread, ok := x.Estimate.Error(); ok {
			e.Weight = float64(spread.Mean)
		}
		if x.Estimate.Exchanges > 0 {
			e.Weight = x.Estimate.Residual
		}
		edges = append(edges, e)
	}
	return edges
}

// describe fills in what is known of each clock.
func (s *Solution) describe(p *trace.Problem) {
	s.Hosts = make([]Host, len(p.Clocks))
	for i := range s.Hosts {
		h := &s.Hosts[i]
		h.Spread, h.Bounded = pair.SpreadOf(&s.Maps[i], p.Clocks[i].First, p.Clocks[i].Last)
		h.Determined, h.Enclosed = true, true
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
	}
}

// between returns the estimate of two clocks of which one is the other's parent.
func (s *Solution) between(a, b int) *pair.Estimate {
	i := slices.IndexFunc(s.Pairs, func(x Pair) bool { return x.A == min(a, b) && x.B == max(a, b) })
	return &s.Pairs[i].Estimate
}

// measure counts inversions and finds the quickest delays; first gives the clock by which a pair knows each one.
func (s *Solution) measure(ctx context.Context, p *trace.Problem, first []int) error {
	counts := make([]quality.Counts, len(p.Channels))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Channels {
		group.Go(func() error {
			counts[i] = quality.Channel(&p.Channels[i], p.Clocks, s.Maps, 0)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.Quality = quality.Counts{Quickest: math.MaxInt64}
	for _, n := range counts {
		s.Quality.Add(n)
	}
	for i := range s.Pairs {
		x := &s.Pairs[i]
		there, back := int64(math.MaxInt64), int64(math.MaxInt64)
		for j, c := range p.Channels {
			from, to := first[c.From], first[c.To]
			if from == to { // between a host's own clocks
				from, to = c.From, c.To
			}
			switch {
			case from == x.A && to == x.B:
				there = min(there, counts[j].Quickest)
			case from == x.B && to == x.A:
				back = min(back, counts[j].Quickest)
			}
		}
		if x.Both = x.AB > 0 && x.BA > 0; x.Both {
			x.RoundTrip = max(clock.Add(there, back), 0) // below it there is only granularity
		}
	}
	return nil
}
