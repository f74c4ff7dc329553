package pipeline

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"meridian/align"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// Repairs returns the names of what can be done, after any method, about messages that are still received before they
// were sent.
func Repairs() []string { return []string{controlled} }

// controlled is the controlled logical clock: [order.Controlled].
const controlled = "clc"

// checkRepair refuses repairs that are not there.
func (o *Options) checkRepair() error {
	if o.Repair != "" && !slices.Contains(Repairs(), o.Repair) {
		return usage("no repair %q; there are %s", o.Repair, strings.Join(Repairs(), ", "))
	}
	return nil
}

// repair moves the middles of the maps, in place, to where no message arrives before it was sent or, where a least delay
// was given, sooner than it can. Bounds stay where they are: causality says nothing of the clocks. It returns nil if no
// repair was asked for.
func (r *run) repair(maps []clock.Map) (*show.Repair, error) {
	if r.Repair == "" {
		return nil, nil
	}
	p := &r.matched.Problem
	o := order.ControlledOptions{MinDelay: func(from, to int) int64 {
		if p.Clocks[from].Host == p.Clocks[to].Host { // what a host passes to itself takes no time
			return 0
		}
		return r.Align.MinDelay
	}}
	curves, repairs, err := order.Controlled(p, maps, o)
	if err != nil {
		return nil, err
	}
	for i := range maps {
		maps[i].Mid = curves[i]
	}
	out := &show.Repair{Method: r.Repair, Inversions: repairs.Inverted - repairs.Remaining}
	for _, ns := range repairs.Largest {
		out.LargestNs = max(out.LargestNs, ns)
	}
	return out, nil
}

// remeasure counts what became of the messages once the maps of a solution were repaired, and how far they now may be
// off.
func (r *run) remeasure(ctx context.Context, s *align.Solution) error {
	p := &r.matched.Problem
	least := make(map[[2]int]int64)
	for i := range s.Pairs {
		least[[2]int{s.Pairs[i].A, s.Pairs[i].B}] = s.Pairs[i].Least
	}
	counts, err := countAll(ctx, p, s.Maps, func(i int) int64 {
		c := &p.Channels[i]
		return least[[2]int{min(c.From, c.To), max(c.From, c.To)}]
	})
	if err != nil {
		return err
	}
	s.Quality = quality.Counts{Quickest: math.MaxInt64}
	for _, n := range counts {
		s.Quality.Add(n)
	}
	for i, c := range p.Clocks {
		s.Hosts[i].Spread, s.Hosts[i].Bounded = pair.SpreadOf(&s.Maps[i], c.First, c.Last)
	}
	return nil
}

// countAll counts the messages of every channel under the maps; least says how long those of a channel take at least.
func countAll(ctx context.Context, p *trace.Problem, maps []clock.Map, least func(channel int) int64) ([]quality.Counts, error) {
	counts := make([]quality.Counts, len(p.Channels))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Channels {
		group.Go(func() error {
			counts[i] = quality.Channel(&p.Channels[i], p.Clocks, maps, least(i))
			return ctx.Err()
		})
	}
	return counts, group.Wait()
}
