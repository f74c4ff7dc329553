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
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// Repairs returns the names of what can be done, after any method, about messages that are still received before they
// were sent.
func Repairs() []string { return []string{repairControlled} }

// repairControlled is the controlled logical clock: [order.Controlled].
const repairControlled = "clc"

// CheckRepair refuses an unknown repair.
func (o *AlignOptions) CheckRepair() error {
	if o.Repair != "" && !slices.Contains(Repairs(), o.Repair) {
		return usage.Errorf("unknown repair %q (%s)", o.Repair, strings.Join(Repairs(), ", "))
	}
	return nil
}

// Repair returns maps whose middles are moved to where no message is received before it was sent or, where a least delay
// was given, sooner than it can be. Bounds stay where they are, since causality says nothing of the clocks. If no repair
// was asked for, it returns the maps as they are, and nil.
func Repair(p *trace.Problem, maps []clock.Map, o AlignOptions) ([]clock.Map, *show.Repair, error) {
	if o.Repair == "" {
		return maps, nil, nil
	}
	curves, repairs, err := order.Controlled(p, maps, order.ControlledOptions{MinDelay: func(from, to int) int64 {
		if p.Clocks[from].Host == p.Clocks[to].Host { // within a host a message may take no time
			return 0
		}
		return o.MinDelay
	}})
	if err != nil {
		return nil, nil, err
	}
	maps = slices.Clone(maps)
	for i := range maps {
		maps[i].Mid = curves[i]
	}
	out := &show.Repair{Method: o.Repair, Inversions: repairs.Inverted - repairs.Remaining}
	for _, ns := range repairs.Largest {
		out.LargestNs = max(out.LargestNs, ns)
	}
	return maps, out, nil
}

// Remeasure returns a solution with other maps, and with what follows from them: what became of the messages, and the
// largest errors of the clocks.
func Remeasure(ctx context.Context, p *trace.Problem, s *align.Solution, maps []clock.Map) (*align.Solution, error) {
	minDelay := make(map[[2]int]int64)
	for i := range s.Pairs {
		minDelay[[2]int{s.Pairs[i].A, s.Pairs[i].B}] = s.Pairs[i].Least
	}
	counts, err := CountMessages(ctx, p, maps, func(i int) int64 {
		c := &p.Channels[i]
		return minDelay[[2]int{min(c.From, c.To), max(c.From, c.To)}]
	})
	if err != nil {
		return nil, err
	}
	out, tree := *s, *s.Tree
	tree.Maps = maps
	out.Tree, out.Hosts = &tree, slices.Clone(s.Hosts)
	out.Quality = quality.Counts{Quickest: math.MaxInt64}
	for _, n := range counts {
		out.Quality.Add(n)
	}
	for i, c := range p.Clocks {
		out.Hosts[i].Spread, out.Hosts[i].Bounded = pair.SpreadOf(&maps[i], c.First, c.Last)
		out.Hosts[i].Outside = quality.OutsideOf(p, &maps[i], i, c.First, c.Last)
	}
	return &out, nil
}

// CountMessages counts the messages of every channel by what the maps make of them. minDelay is the least delay of a
// channel's messages.
func CountMessages(ctx context.Context, p *trace.Problem, maps []clock.Map, minDelay func(channel int) int64) ([]quality.Counts, error) {
	counts := make([]quality.Counts, len(p.Channels))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Channels {
		group.Go(func() error {
			counts[i] = quality.Channel(&p.Channels[i], p.Clocks, maps, minDelay(i))
			return ctx.Err()
		})
	}
	return counts, group.Wait()
}
