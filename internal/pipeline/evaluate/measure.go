package evaluate

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"meridian/align/quality"
	"meridian/internal/pipeline"
	"meridian/internal/show"
	"meridian/trace"
)

// measurer applies all metrics to what methods say of one problem.
type measurer struct {
	*trace.Problem
	truth    *quality.Truth // nil where it is not known
	minDelay []minDelay     // by channel
}

// minDelay is the least delay of a channel's messages, and how it is known.
type minDelay struct {
	ns     int64
	source string // "truth", "exchange", or "" if it is not known
}

// newMeasurer finds the channels' least delays, which no method changes, so that all are measured alike: those of the
// truth, or else half of the pair's quickest exchange (Poirier 2010, section 3.4.1, where the network is taken for
// symmetric).
func newMeasurer(p *trace.Problem, truth *quality.Truth) *measurer {
	m := &measurer{Problem: p, truth: truth, minDelay: make([]minDelay, len(p.Channels))}
	byDirection := make(map[[2]int][][]trace.Message)
	for _, c := range p.Channels {
		key := [2]int{c.From, c.To}
		byDirection[key] = append(byDirection[key], c.Messages)
	}
	byPair := make(map[[2]int]minDelay)
	for i, c := range p.Channels {
		if ns, ok := minDelayOf(truth, c.From, c.To); ok {
			m.minDelay[i] = minDelay{ns, "truth"}
			continue
		}
		key := [2]int{min(c.From, c.To), max(c.From, c.To)}
		if _, known := byPair[key]; !known {
			byPair[key] = minDelay{}
			if roundTrip, ok := quality.RoundTripOf(byDirection[key], byDirection[[2]int{key[1], key[0]}]); ok {
				byPair[key] = minDelay{roundTrip / 2, "exchange"}
			}
		}
		m.minDelay[i] = byPair[key]
	}
	return m
}

// measure applies all metrics to what a method says.
func (m *measurer) measure(ctx context.Context, x *estimate) (*show.Measured, error) {
	out := &show.Measured{Method: x.method, Assumption: x.assumption, ElapsedNs: x.elapsed.Nanoseconds(), Repair: x.repair}
	if x.solution != nil {
		out.Network = x.solution.Network
	}
	if x.refused != nil {
		out.Refused = x.refused.Error()
		return out, nil
	}
	counts, err := pipeline.CountMessages(ctx, m.Problem, x.maps, x.divided, func(i int) int64 { return m.minDelay[i].ns })
	if err != nil {
		return nil, err
	}
	accuracy := make([]quality.Accuracy, len(m.Clocks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range m.Clocks {
		group.Go(func() error {
			accuracy[i] = quality.AccuracyOf(m.Problem, &x.maps[i], i)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if x.solution != nil {
		out.Regression = pipeline.RegressionLines(x.solution, m.Clocks)
	}
	out.Directions = m.directions(counts)
	for _, d := range out.Directions {
		out.Messages += d.Messages
		out.Inversions += d.Inversions
		out.InversionsBeyondGranularity += d.InversionsBeyondGranularity
		out.TooFast += d.TooFast
	}
	broadcasts := divideBroadcasts(m.Broadcasts, x.component)
	out.Broadcasts = differential(quality.Broadcasts(broadcasts, x.maps))
	for _, d := range quality.BetweenAll(broadcasts, x.maps) {
		out.BroadcastPairs = append(out.BroadcastPairs,
			show.PairDifferential{A: m.Clocks[d.X].Name, B: m.Clocks[d.Y].Name, Differential: *differential(d.Differential)})
	}
	m.hosts(out, x, accuracy)
	out.Error2SDNs = x.error2SD()
	return out, nil
}

// error2SD is twice the standard deviation that a method gives its estimate, over the hosts as the report's table has
// it; nil where it has none.
func (x *estimate) error2SD() *float64 {
	if x.solution == nil {
		return nil
	}
	hosts := make([][]show.Error, len(x.solution.Hosts))
	for i, h := range x.solution.Hosts {
		for _, d := range h.Deviation {
			hosts[i] = append(hosts[i], show.Error{HostNs: d.Host, SDNs: d.Ns})
		}
	}
	sd, ok := show.MedianError(hosts)
	if !ok {
		return nil
	}
	sd *= 2
	return &sd
}

// directions joins the channels between the same two clocks.
func (m *measurer) directions(counts []quality.Counts) []show.Direction {
	var found []show.Direction
	at := make(map[[2]int]int)
	for i, c := range m.Channels {
		if counts[i].Messages == 0 {
			continue
		}
		n, known := at[[2]int{c.From, c.To}]
		if !known {
			n = len(found)
			at[[2]int{c.From, c.To}] = n
			d := show.Direction{From: m.Clocks[c.From].Name, To: m.Clocks[c.To].Name, Source: m.minDelay[i].source}
			if d.Source != "" {
				d.MinDelayNs = &m.minDelay[i].ns
			}
			found = append(found, d)
		}
		d := &found[n]
		d.Messages += counts[i].Messages
		d.Inversions += counts[i].Inversions
		d.InversionsBeyondGranularity += counts[i].BeyondGranularity
		d.TooFast += counts[i].TooFast
		quickest := counts[i].Quickest
		if d.QuickestNs != nil {
			quickest = min(quickest, *d.QuickestNs)
		}
		d.QuickestNs = &quickest
	}
	return found
}

// hosts tells of every clock its bound and its error, and of all together; references, which are exact by definition,
// do not count among all.
func (m *measurer) hosts(out *show.Measured, x *estimate, accuracy []quality.Accuracy) {
	var all quality.Accuracy
	for i, c := range m.Clocks {
		h := show.MeasuredHost{Name: c.Name, Reference: m.Clocks[x.reference[i]].Name, UnboundedEvents: accuracy[i].Unbounded}
		h.BoundNs = boundRange(accuracy[i])
		outside := quality.OutsideOf(m.Problem, &x.maps[i], i, c.First, c.Last)
		h.OutsideEvents, h.OutsideNs = outside.Events, outside.Largest
		out.OutsideEvents, out.OutsideNs = out.OutsideEvents+outside.Events, max(out.OutsideNs, outside.Largest)
		if x.reference[i] != i {
			all.Add(accuracy[i])
		}
		out.Hosts = append(out.Hosts, h)
	}
	out.BoundNs, out.UnboundedEvents = boundRange(all), all.Unbounded
	if m.truth == nil {
		return
	}
	c := quality.Against(m.truth, m.Clocks, x.maps, x.reference)
	for i := range c.Clocks {
		out.Hosts[c.Clocks[i].Clock].Truth = deviation(&c.Clocks[i])
	}
	if len(c.Clocks) > 0 {
		out.Truth = deviation(&c.All)
		if len(c.Clocks) > 1 { // each has its own
			out.Truth.AsymmetryNs, out.Truth.RoundTripNs = nil, nil
		}
	}
}

// boundRange is null where nothing bounds an event.
func boundRange(a quality.Accuracy) show.BoundRange {
	if a.Unbounded > 0 || a.Events == 0 {
		return show.BoundRange{}
	}
	mean := int64(math.Round(a.Mean))
	return show.BoundRange{Best: &a.Best, Mean: &mean, Worst: &a.Worst}
}

// divideBroadcasts divides broadcasts whose receivers are not all of one component: what is on two timelines has no
// difference.
func divideBroadcasts(broadcasts []trace.Broadcast, component []int) []trace.Broadcast {
	var out []trace.Broadcast
	for _, b := range broadcasts {
		var parts []trace.Broadcast
		var of []int
	receptions:
		for _, r := range b.Receptions {
			for i, c := range of {
				if c == component[r.Clock] {
					parts[i].Receptions = append(parts[i].Receptions, r)
					continue receptions
				}
			}
			parts, of = append(parts, trace.Broadcast{Receptions: []trace.Stamp{r}}), append(of, component[r.Clock])
		}
		out = append(out, parts...)
	}
	return out
}

func differential(d quality.Differential) *show.Differential {
	if d.Broadcasts == 0 {
		return nil
	}
	return &show.Differential{Broadcasts: d.Broadcasts, MinNs: d.Min, MaxNs: d.Max, MeanNs: d.Mean, DeviationNs: d.Deviation}
}

// deviation leaves null what is not known.
func deviation(d *quality.Deviation) *show.Deviation {
	out := &show.Deviation{RMSNs: d.RMS, MaxNs: d.Max, CentredRMSNs: d.Centred.RMS, CentredMaxNs: d.Centred.Max}
	if d.HasSymmetric {
		out.SymmetricRMSNs, out.SymmetricMaxNs, out.AsymmetryNs = &d.Symmetric.RMS, &d.Symmetric.Max, &d.Asymmetry
	}
	if d.Bounded {
		out.Within, out.Always = &d.Within, &d.Always
		out.WidthMedianNs, out.WidthP95Ns = &d.WidthMedian, &d.WidthP95
	}
	if d.HasRoundTrip {
		out.RoundTripNs = &d.RoundTrip
		if d.Bounded && d.RatioMedian > 0 {
			out.RatioMedian, out.RatioP95 = &d.RatioMedian, &d.RatioP95
		}
	}
	return out
}
