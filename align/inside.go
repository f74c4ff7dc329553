package align

import (
	"slices"

	"meridian/align/internal/curves"
	"meridian/align/network"
	"meridian/clock"
)

// within returns the estimate of a map, moved to the nearer bound where it leaves them: during the trace, from first to last, and beyond as
// far as it or the bounds have corners. Between the trace and there it goes on as steep as before, since what moved it says
// nothing of its rate. Where bounds cross it stays.
func within(m *clock.Map, first, last clock.HostTime) clock.Curve {
	hosts := []clock.HostTime{clock.Add(first, -curves.Outside), first, last, clock.Add(last, curves.Outside)}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			hosts = append(hosts, k.X)
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	if !slices.ContainsFunc(hosts, func(h clock.HostTime) bool { return inside(m, h) != m.At(h) }) {
		return m.Mid
	}
	during := moved(m, hosts[slices.Index(hosts, first):slices.Index(hosts, last)+1])
	if len(during) == 0 { // all of the trace is beyond clock.Limit
		return m.Mid
	}
	on := clock.Map{Mid: curves.Continue(during, m.Mid), Low: m.Low, High: m.High}
	for _, k := range on.Mid {
		hosts = append(hosts, k.X)
	}
	slices.Sort(hosts)
	return moved(&on, slices.Compact(hosts))
}

// settle moves the estimates of our own methods inside their bounds beyond the traces, where the order of messages, maps to free clocks and
// the pieces of clocks that were set have taken them out of them again. It changes the maps of a tree of the clocks as given.
func (t *task) settle(tree *network.Tree) {
	if !t.method.own {
		return
	}
	clocks := t.problem.Clocks
	switch {
	case t.free != nil:
		clocks = t.free.recorded.Clocks
	case t.parted != nil:
		clocks = t.parted.Original.Clocks
	}
	for i := range tree.Maps {
		if tree.Parent[i] != i {
			tree.Maps[i].Mid = settled(&tree.Maps[i], clocks[i].First, clocks[i].Last)
		}
	}
}

// settled returns the estimate of a map as it is during the trace and inside the bounds beyond it.
func settled(m *clock.Map, first, last clock.HostTime) clock.Curve {
	before, after := []clock.HostTime{clock.Add(first, -curves.Outside)}, []clock.HostTime{clock.Add(last, curves.Outside)}
	out := clock.Curve{{X: first, Y: m.At(first)}}
	for n, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			switch {
			case k.X < first:
				before = append(before, k.X)
			case k.X > last:
				after = append(after, k.X)
			case n == 0 && k.X > first && k.X < last:
				out = append(out, k)
			}
		}
	}
	outside := func(h clock.HostTime) bool { return inside(m, h) != m.At(h) }
	if !slices.ContainsFunc(before, outside) && !slices.ContainsFunc(after, outside) {
		return m.Mid
	}
	if last > first {
		out = append(out, clock.Knot{X: last, Y: m.At(last)})
	}
	slices.Sort(before)
	slices.Sort(after)
	early := moved(m, slices.Compact(before))
	for i := range early {
		early[i].Y = min(early[i].Y, out[0].Y)
	}
	end := out[len(out)-1].Y
	for _, k := range moved(m, slices.Compact(after)) {
		out = append(out, clock.Knot{X: k.X, Y: max(k.Y, end)})
	}
	return append(early, out...)
}

// inside returns the estimate of a map at an instant, or the nearer bound if it is outside of them.
func inside(m *clock.Map, h clock.HostTime) clock.TimelineTime {
	low, high, lowOK, highOK := m.Bounds(h)
	v := m.At(h)
	switch {
	case lowOK && highOK && low > high:
	case lowOK && v < low:
		return low
	case highOK && v > high:
		return high
	}
	return v
}

// moved returns the curve through the estimate of a map at some instants, in order, moved inside its bounds.
func moved(m *clock.Map, hosts []clock.HostTime) clock.Curve {
	out := make(clock.Curve, 0, len(hosts))
	for _, h := range hosts {
		v := inside(m, h)
		if n := len(out); n > 0 {
			v = max(v, out[n-1].Y)
		}
		if clock.Valid(h) && clock.Valid(v) {
			out = append(out, clock.Knot{X: h, Y: v})
		}
	}
	return out
}
