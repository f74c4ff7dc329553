package pipeline

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"meridian/align/quality"
	"meridian/internal/show"
	"meridian/trace"
)

// leastDelay is the least time that a channel's messages take, ns, and how it is known.
type leastDelay struct {
	ns     int64
	source string // "truth", "exchange", or "" if it is not known
}

// minima finds the channels' least delays, which no method changes, so that all are measured alike: the truth's, else
// half of the pair's quickest exchange (Poirier 2010, section 3.4.1, who takes the network for symmetric).
func (e *evaluator) minima() {
	p := &e.matched.Problem
	e.least = make([]leastDelay, len(p.Channels))
	all := make(map[[2]int][]trace.Message)
	for _, c := range p.Channels {
		key := [2]int{c.From, c.To}
		if all[key] == nil {
			all[key] = c.Messages
			continue
		}
		all[key] = append(all[key][:len(all[key]):len(all[key])], c.Messages...)
	}
	known := make(map[[2]int]leastDelay)
	for i, c := range p.Channels {
		key := [2]int{min(c.From, c.To), max(c.From, c.To)}
		if ns, ok := e.trueMinimum(c.From, c.To); ok {
			e.least[i] = leastDelay{ns, "truth"}
			continue
		}
		if _, done := known[key]; !done {
			known[key] = leastDelay{}
			if way, ok := quality.RoundTrip(all[key], all[[2]int{key[1], key[0]}]); ok {
				known[key] = leastDelay{way / 2, "exchange"}
			}
		}
		e.least[i] = known[key]
	}
}

// measure applies all metrics to what a method says.
func (e *evaluator) measure(ctx context.Context, x *estimate) (*show.Measured, error) {
	m := &show.Measured{Method: x.method, Assumption: x.assumption, ElapsedNs: x.elapsed.Nanoseconds(), Repair: x.repaired}
	if x.solution != nil {
		m.Network = x.solution.Network
	}
	if x.refused != nil {
		m.Refused = x.refused.Error()
		return m, nil
	}
	p := &e.matched.Problem
	counts, err := countAll(ctx, p, x.maps, func(i int) int64 { return e.least[i].ns })
	if err != nil {
		return nil, err
	}
	accuracy := make([]quality.Accuracy, len(p.Clocks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range p.Clocks {
		group.Go(func() error {
			accuracy[i] = quality.AccuracyOf(p, &x.maps[i], i)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	m.Directions = e.directions(counts)
	for _, d := range m.Directions {
		m.Messages += d.Messages
		m.Inversions += d.Inversions
		m.InversionsBeyondGranularity += d.InversionsBeyondGranularity
		m.TooFast += d.TooFast
	}
	m.Broadcasts = differential(quality.Broadcasts(oneTimeline(p.Broadcasts, x.component), x.maps))
	e.hosts(m, x, accuracy)
	m.Error2SDNs = x.error2SD()
	return m, nil
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
func (e *evaluator) directions(counts []quality.Counts) []show.Direction {
	p := &e.matched.Problem
	var found []show.Direction
	at := make(map[[2]int]int)
	for i, c := range p.Channels {
		if counts[i].Messages == 0 {
			continue
		}
		n, known := at[[2]int{c.From, c.To}]
		if !known {
			n = len(found)
			at[[2]int{c.From, c.To}] = n
			d := show.Direction{From: p.Clocks[c.From].Name, To: p.Clocks[c.To].Name, Source: e.least[i].source}
			if d.Source != "" {
				d.MinDelayNs = &e.least[i].ns
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
func (e *evaluator) hosts(m *show.Measured, x *estimate, accuracy []quality.Accuracy) {
	p := &e.matched.Problem
	var all quality.Accuracy
	for i, c := range p.Clocks {
		h := show.MeasuredHost{Name: c.Name, Reference: p.Clocks[x.reference[i]].Name, UnboundedEvents: accuracy[i].Unbounded}
		h.BoundNs = boundRange(accuracy[i])
		if x.reference[i] != i {
			all.Add(accuracy[i])
		}
		m.Hosts = append(m.Hosts, h)
	}
	m.BoundNs, m.UnboundedEvents = boundRange(all), all.Unbounded
	if e.truth == nil {
		return
	}
	c := quality.Against(e.truth, p.Clocks, x.maps, x.reference)
	for i := range c.Clocks {
		m.Hosts[c.Clocks[i].Clock].Truth = deviation(&c.Clocks[i])
	}
	if len(c.Clocks) > 0 {
		m.Truth = deviation(&c.All)
		if len(c.Clocks) > 1 { // each has its own
			m.Truth.AsymmetryNs, m.Truth.RoundTripNs = nil, nil
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

// oneTimeline divides broadcasts whose receivers are not all of one component: what is on two timelines has no
// difference.
func oneTimeline(broadcasts []trace.Broadcast, component []int) []trace.Broadcast {
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
