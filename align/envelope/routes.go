package envelope

import (
	"math"
	"slices"

	"meridian/clock"
)

// A route that changes in the middle of a trace shifts the least delay of one direction from one instant on. To the
// smoother that looks like minutes of queueing, which it must not follow, or, where the delay falls, like a floor that the
// first part never reaches. So where the windows' minima of an edge show a shift that lasts, the edge is parted there: each
// part has a delay and laws of its own, and the curve goes through.

// Route is a change of the least delay from one clock to another.
type Route struct {
	From, To int
	At       clock.HostTime // on the receiver's clock, ns
	By       int64          // ns
}

const (
	// minRouteWindows is how many windows and what share of the trace a route must last: queues last shorter.
	minRouteWindows = 24
	minRouteShare   = 0.03
	minRouteTime    = 60e9 // ns
	// routeGain is how many nats two levels must explain better than one. Queues come in bursts, so that windows are not
	// independent, and a few nats mean nothing.
	routeGain = 60
	// routeDepth bounds how often a part is parted again.
	routeDepth = 4
	// lowShare is the quantile of the minima that stands for their level.
	lowShare = 0.1
)

// low is the least delay of a window.
type low struct{ at, delay float64 }

// router parts the edges of a model where their routes changed.
type router struct{ *model }

// split parts the edges of two clocks where their routes changed, and reports whether any did.
//
// From the messages alone a delay that rises one way cannot be told from an offset that rises together with the delay of
// the other way. The curve follows the way with more messages, and the change then shows on the other. What decides is that
// clocks do not jump: both explanations are tried, and none, and the one of greatest evidence stays.
func (r *router) split() bool {
	m := r.model
	found := make([][]float64, len(m.edges))
	other := make([][]float64, len(m.edges))
	any := false
	for i := range m.edges {
		found[i] = changes(m.edges[i].series, m.minRoute(), routeDepth)
		any = any || len(found[i]) > 0
	}
	if !any {
		return false
	}
	for i := range m.edges {
		other[1-i] = found[i]
	}
	best, value := *m, schedule{m}.explained()
	none := value
	for _, cuts := range [][][]float64{found, r.recut(other)} {
		c := r.parted(cuts, 0)
		schedule{c}.anneal()
		if v := (schedule{c}).explained() - routeGain/2; v > value {
			best, value = *c, v
		}
	}
	*m = best
	return value > none
}

// recut finds where exactly edges are to be cut of which it is known only about when, since the change showed on the other
// way. Without the messages around, which hold the curve where the other explanation wants it, the curve goes as the other
// way has it, and under that curve the change shows sharply.
func (r *router) recut(about [][]float64) [][]float64 {
	c := r.parted(about, recutTime)
	schedule{c}.anneal()
	whole := r.parted(make([][]float64, len(about)), 0)
	whole.x = c.x
	out := make([][]float64, len(about))
	for i := range about {
		if len(about[i]) > 0 {
			d := &whole.edges[i]
			whole.minima(d, i, max(len(r.edges[i].series), 2))
			out[i] = changes(d.series, whole.minRoute(), routeDepth)
		}
	}
	return out
}

// recutTime is how far a change may lie from where it showed on the other way, ns.
const recutTime = 100e9

// splitAll splits every edge of a network at the changes of its route. Here the other clocks hold the curves, and what shows
// on an edge is the edge's.
func (r *router) splitAll() {
	cuts := make([][]float64, len(r.edges))
	for i := range r.edges {
		cuts[i] = changes(r.edges[i].series, r.minRoute(), routeDepth)
	}
	*r.model = *r.parted(cuts, 0)
}

// parted returns a copy of the model whose edges are split at the given instants, without what was received within gap ns
// of them.
func (r *router) parted(cuts [][]float64, gap float64) *model {
	m := r.model
	c := *m
	c.edges, c.points, c.solver, c.rates, c.bends, c.scratch = nil, nil, nil, nil, nil, nil
	for i := range m.edges {
		c.edges = append(c.edges, m.edges[i].split(cuts[i], gap)...)
	}
	c.x, c.sigma = slices.Clone(m.x), slices.Clone(m.sigma)
	c.delay = make([]float64, len(c.edges))
	return &c
}

// minRoute returns how many windows a route must last.
func (m *model) minRoute() int {
	return max(minRouteWindows, int(minRouteShare*float64(m.knots)))
}

// changes returns the instants at which the level of a series shifts for good, ascending. minLength is how many windows a
// level must last.
func changes(series []low, minLength, depth int) []float64 {
	if depth == 0 || len(series) < 2*minLength {
		return nil
	}
	values := make([]float64, len(series))
	for i, s := range series {
		values[i] = s.delay
	}
	loss := func(part []float64) float64 { // of the asymmetric Laplace distribution about its quantile
		sorted := slices.Clone(part)
		slices.Sort(sorted)
		q := quantile(sorted, lowShare)
		sum := 0.0
		for _, v := range sorted {
			sum += max(lowShare*(v-q), (lowShare-1)*(v-q))
		}
		return sum
	}
	// The best place among even ones, then around it.
	best, at := math.Inf(1), 0
	try := func(k int) {
		if k < minLength || k > len(series)-minLength {
			return
		}
		if v := loss(values[:k]) + loss(values[k:]); v < best {
			best, at = v, k
		}
	}
	step := max(len(series)/48, 1)
	for k := minLength; k <= len(series)-minLength; k += step {
		try(k)
	}
	for step > 1 {
		step = (step + 1) / 2
		centre := at
		try(centre - step)
		try(centre + step)
		if step == 1 {
			break
		}
	}
	if at == 0 || series[at-1].at-series[0].at < minRouteTime || series[len(series)-1].at-series[at].at < minRouteTime {
		return nil
	}
	before, after := slices.Clone(values[:at]), slices.Clone(values[at:])
	slices.Sort(before)
	slices.Sort(after)
	shift := math.Abs(quantile(before, lowShare) - quantile(after, lowShare))
	spread := min(quantile(before, 0.5)-before[0], quantile(after, 0.5)-after[0])
	n := float64(len(series))
	if n*math.Log(loss(values)/max(best, 1e-9)) < routeGain || shift < spread/2 {
		return nil
	}
	left, right := changes(series[:at], minLength, depth-1), changes(series[at:], minLength, depth-1)
	return append(append(left, (series[at-1].at+series[at].at)/2), right...)
}

// split returns the parts of an edge between cuts, without what was received within gap ns of one.
func (d *edge) split(cuts []float64, gap float64) []edge {
	parts := make([]edge, len(cuts)+1)
	for i := range parts {
		parts[i] = edge{from: d.from, to: d.to, granularity: d.granularity, whole: d.whole, bends: d.bends}
		if i > 0 {
			parts[i].since = cuts[i-1]
		}
	}
	part := func(received float64) *edge {
		i, _ := slices.BinarySearch(cuts, received)
		if gap > 0 && (i > 0 && received-cuts[i-1] < gap || i < len(cuts) && cuts[i]-received < gap) {
			return nil
		}
		return &parts[i]
	}
	for i, received := range d.received {
		p := part(received)
		if p == nil {
			continue
		}
		p.sent, p.received = append(p.sent, d.sent[i]), append(p.received, received)
		p.weight = append(p.weight, d.weight[i])
		p.messages += d.weight[i]
	}
	sample := d.sample
	if d.bends != nil {
		sample = d.all
	}
	for i, received := range sample[1] {
		p := part(received)
		if p == nil {
			continue
		}
		p.sample[0], p.sample[1] = append(p.sample[0], sample[0][i]), append(p.sample[1], received)
	}
	for i := range parts {
		if p := &parts[i]; p.bends != nil {
			p.all = p.sample
			p.leaveOut()
		}
	}
	return parts
}

// routesOf returns the changes found, by the levels under the present curves.
func routesOf(edges []edge, affines []affine, origin clock.HostTime) []Route {
	var out []Route
	for i := range edges {
		d := &edges[i]
		if d.since == 0 || len(d.least) == 0 || len(edges[i-1].least) == 0 {
			continue
		}
		before := &edges[i-1]
		out = append(out, Route{
			From: d.from, To: d.to, At: affines[d.to].stamp(d.since, origin),
			By: int64(math.Round(quantile(d.least, lowShare) - quantile(before.least, lowShare))),
		})
	}
	return out
}
