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

// Repair returns a solution whose estimates are moved to where no message is received before it was sent or, where a least
// delay was given, sooner than it can be. Bounds stay where they are, since causality says nothing of the clocks. Each piece of
// a clock that was set is moved by itself. If no repair was asked for, it returns the solution as it is, and nil.
func Repair(ctx context.Context, p *trace.Problem, s *align.Solution, o AlignOptions) (*align.Solution, *show.Repair, error) {
	if o.Repair == "" {
		return s, nil, nil
	}
	if d := s.Divided; d != nil {
		maps, repair, err := RepairMaps(&d.Problem, d.Maps, o, func(k int) string { return p.Clocks[d.ClockOf[k]].Host })
		if err != nil {
			return nil, nil, err
		}
		s, err = Remeasure(ctx, p, s.WithMaps(maps))
		return s, repair, err
	}
	maps, repair, err := RepairMaps(p, s.Maps, o, func(i int) string { return p.Clocks[i].Host })
	if err != nil {
		return nil, nil, err
	}
	out, tree := *s, *s.Tree
	out.Tree, tree.Maps = &tree, maps
	s, err = Remeasure(ctx, p, &out)
	return s, repair, err
}

// RepairMaps returns maps whose estimates are moved as Repair moves those of a solution. Host names the host of a clock.
func RepairMaps(p *trace.Problem, maps []clock.Map, o AlignOptions, host func(clock int) string) ([]clock.Map, *show.Repair, error) {
	curves, repairs, err := order.Controlled(p, maps, order.ControlledOptions{MinDelay: func(from, to int) int64 {
		if host(from) == host(to) { // within a host a message may take no time
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
	out := &show.Repair{
		Method: o.Repair, Inversions: repairs.Inverted - repairs.Remaining,
		Remaining: repairs.Remaining, RemainingNs: repairs.Worst.Early,
	}
	for _, ns := range repairs.Largest {
		out.LargestNs = max(out.LargestNs, ns)
	}
	return maps, out, nil
}

// Remeasure returns a solution whose maps were changed with what follows from them: what became of the messages, and the
// largest errors of the clocks.
func Remeasure(ctx context.Context, p *trace.Problem, s *align.Solution) (*align.Solution, error) {
	minDelay := make(map[[2]int]int64)
	for i := range s.Pairs {
		minDelay[[2]int{s.Pairs[i].A, s.Pairs[i].B}] = s.Pairs[i].Least
	}
	counts, err := CountMessages(ctx, p, s.Maps, s.Divided, func(i int) int64 {
		c := &p.Channels[i]
		return minDelay[[2]int{min(c.From, c.To), max(c.From, c.To)}]
	})
	if err != nil {
		return nil, err
	}
	out := *s
	out.Hosts = slices.Clone(s.Hosts)
	out.Quality = quality.Counts{Quickest: math.MaxInt64}
	for _, n := range counts {
		out.Quality.Add(n)
	}
	for i, c := range p.Clocks {
		out.Hosts[i].Spread, out.Hosts[i].Bounded = pair.SpreadOf(&s.Maps[i], c.First, c.Last)
		out.Hosts[i].Outside = quality.OutsideOf(p, &s.Maps[i], i, c.First, c.Last)
	}
	return &out, nil
}

// CountMessages counts the messages of every channel by what the maps make of them: those of the clocks or, where clocks were
// set, of their pieces. minDelay is the least delay of a channel's messages.
func CountMessages(ctx context.Context, p *trace.Problem, maps []clock.Map, d *align.Divided, minDelay func(channel int) int64) ([]quality.Counts, error) {
	counts := make([]quality.Counts, len(p.Channels))
	origin := func(i int) int { return i }
	by := p
	if d != nil {
		origin = func(i int) int { return d.ChannelOf[i] }
		by, maps = &d.Problem, d.Maps
	}
	counted := make([]quality.Counts, len(by.Channels))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range by.Channels {
		group.Go(func() error {
			counted[i] = quality.Channel(&by.Channels[i], by.Clocks, maps, minDelay(origin(i)))
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil || d == nil {
		return counted, err
	}
	for i := range counts {
		counts[i].Quickest = math.MaxInt64
	}
	for i, n := range counted {
		counts[origin(i)].Add(n)
	}
	return counts, nil
}
