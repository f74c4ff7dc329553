package envelope

import (
	"math"
	"sync"

	"meridian/align/internal/pieces"
	"meridian/align/pair"
	"meridian/clock"
)

// minMessages is how many messages each way a curve needs. Below it a straight line tells as much.
const minMessages = 16

// Smoothed is the estimate of two clocks.
type Smoothed struct {
	Curve clock.PairCurve // a's clock to b's
	// Sigma is the wander of the two clocks against each other, fractional frequency per square root of a second; Gain
	// by how many nats it explains the messages better than none. Above six the clocks are not linear.
	Sigma, Gain float64
	// Deviation is the statistical error at instants of a's clock: in 95 of 100 cases the truth is within twice as much
	// of the curve, half the difference of the least delays both ways apart.
	Deviation []pair.Deviation
	Routes    []Route // 0 is a, 1 is b
}

// Pair smooths the offset of two clocks, which bend more than they walk in the stretches by a's clock, if any. It reports false where
// there are too few messages either way, or where they leave no curve that a clock can have in the stretches.
func Pair(p *pair.Problem, stretches ...Stretch) (*Smoothed, bool) {
	s := Stream{Stretches: stretches, Granularity: max(p.A.Granularity, p.B.Granularity), MinAB: p.MinAB, MinBA: p.MinBA}
	s.AB, s.BA = *NewReducer(p.AB.Len()), *NewReducer(p.BA.Len())
	add := func(r *Reducer, messages pair.Messages) {
		for piece := range pieces.Of(messages) {
			for _, m := range piece {
				r.Add(m)
			}
		}
	}
	var other sync.WaitGroup
	other.Go(func() { add(&s.AB, p.AB) })
	add(&s.BA, p.BA)
	other.Wait()
	return s.Smooth()
}

// Stream smooths two clocks whose messages come one by one, in any order, and need not be kept: some megabytes each way
// hold all that matters of any number. The zero value is ready.
type Stream struct {
	AB, BA       Reducer
	Granularity  int64 // step of the coarser clock's stamps, ns; 0 is 1
	MinAB, MinBA int64 // the least delays possible, ns
	// Stretches are where the clocks bend more than they walk, by a's clock.
	Stretches []Stretch
}

// Smooth returns the estimate from the messages so far. It reports false where there are too few either way, or where they leave no
// curve that a clock can have in the stretches. More may be added and Smooth called again.
func (p *Stream) Smooth() (*Smoothed, bool) {
	if p.AB.count < minMessages || p.BA.count < minMessages {
		return nil, false
	}
	there, back := &p.AB, &p.BA
	inTwo(there.finish, back.finish)
	b := alignBy(there, back)
	a := affine{at: b.timeline, timeline: b.timeline, rate: 1}
	m := &model{curves: curves{column: []int{-1, 0}, columns: 1}, sigma: make([]float64, 1), exactness: 1e-7}
	origin := a.at
	m.stretches = [][]bend{bendsOf(p.Stretches, a, origin)}
	m.edges = make([]edge, 2)
	inTwo(func() { m.edges[0] = there.edge(0, 1, a, b, origin) }, func() { m.edges[1] = back.edge(1, 0, b, a, origin) })
	step := float64(max(p.Granularity, 1))
	for i := range m.edges {
		m.edges[i].granularity = step
	}
	m.delay = make([]float64, 2)
	m.extent(m.edges)
	if m.last-m.first < 1 {
		return nil, false
	}
	most := m.knotsFor()
	bending{m}.leaveOut(most)
	tried := schedule{m}.fit(most)
	if (bending{m}).ranAway() {
		return nil, false
	}
	ab, ba := m.quickest(m.edges, 0, 1).above(p.MinAB), m.quickest(m.edges, 1, 0).above(p.MinBA)
	level, _ := levelOf(&ab, &ba)
	s := &Smoothed{Sigma: m.sigma[0], Gain: gain(tried), Routes: routesOf(m.edges, []affine{a, b}, origin)}
	s.Curve = m.curve(1, &b, origin, level).Inverse()
	s.Deviation = m.pairDeviations(level, origin)
	return s, true
}

// inTwo runs two functions at the same time.
func inTwo(f, g func()) {
	var other sync.WaitGroup
	other.Go(f)
	g()
	other.Wait()
}

const (
	maxDeviations = 257
	// overconfidence is by how much the curvature of the cost understates the fast part's error: it takes windows for
	// independent and laws for known.
	overconfidence = 1.5
)

// pairDeviations returns the statistical error of the curve of two clocks, raised by level.
func (m *model) pairDeviations(level float64, origin clock.HostTime) []pair.Deviation {
	if (bending{m}).bent() { // where the corners are is not known: they may be anywhere in a bend
		bending{m}.limit()
		m.cost(m.x, m.delay, 1)
		m.solver.solve(m, make([]float64, len(m.x)), make([]float64, len(m.delay)))
	}
	fast, slow := m.solver.(*direct).bends(), m.slowErrors(0, 1)
	n := min(m.knots, maxDeviations)
	out := make([]pair.Deviation, n)
	fill := func(from, to int) {
		distances := make([]float64, len(slow.level))
		for i := from; i < to; i++ {
			k := i * (m.knots - 1) / (n - 1)
			t := m.first + float64(k)*m.step
			out[i] = pair.Deviation{
				Host: origin + clock.HostTime(math.Round(t)),
				Ns:   math.Hypot(overconfidence*math.Sqrt(fast[k]), slow.spreadAt(float64(k)/float64(m.knots-1), level, distances)),
			}
		}
	}
	inTwo(func() { fill(0, n/2) }, func() { fill(n/2, n) })
	return out
}

// edge returns what a reducer kept, on the timeline.
func (r *Reducer) edge(from, to int, sender, receiver affine, origin clock.HostTime) edge {
	e := edge{from: from, to: to, messages: float64(r.count), whole: float64(r.count)}
	corners := 0
	for i := range r.windows[:r.used] {
		corners += len(r.windows[i].corners)
	}
	e.sent, e.received, e.weight = make([]float64, 0, corners), make([]float64, 0, corners), make([]float64, 0, corners)
	e.sample = [2][]float64{make([]float64, 0, len(r.sample)), make([]float64, 0, len(r.sample))}
	for i := range r.windows[:r.used] {
		w := &r.windows[i]
		for k, m := range w.corners {
			weight := 0.0
			if k == 0 {
				weight = float64(w.count)
			}
			e.sent = append(e.sent, sender.on(m.Sent, origin))
			e.received = append(e.received, receiver.on(m.Received, origin))
			e.weight = append(e.weight, weight)
		}
	}
	for _, m := range r.sample {
		e.sample[0] = append(e.sample[0], sender.on(m.Sent, origin))
		e.sample[1] = append(e.sample[1], receiver.on(m.Received, origin))
	}
	return e
}

// knotsFor returns how many knots the messages support.
func (m *model) knotsFor() int {
	total, in, out := 0.0, make([]float64, len(m.column)), make([]float64, len(m.column))
	for i := range m.edges {
		e := &m.edges[i]
		total += e.messages
		out[e.from] += e.messages
		in[e.to] += e.messages
	}
	most := total / 2 / max(1, float64(len(m.column)-1)) / perWindow
	for i := range in {
		most = min(most, 2*min(in[i], out[i])/perWindow)
	}
	return max(min(int(most), maxKnots), 4)
}
