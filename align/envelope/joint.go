package envelope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// Network is what the joint smoother is given: the clocks of one component, the messages between them, and a first
// estimate of each clock, all to the clock of one reference.
type Network struct {
	Clocks    []trace.Clock
	Channels  []trace.Channel   // several may join the same clocks
	Start     []clock.PairCurve // each clock to the reference's
	Sigma     []float64         // wander of each clock, fractional frequency per square root of a second
	Least     []int64           // least delay possible of each channel, ns; nil for none
	Reference int
	// Stretches are where a clock bends more than it walks, of each clock by its own time; nil for none.
	Stretches [][]Stretch
}

// check returns an error for fields on which the smoother cannot rely.
func (n *Network) check() error {
	if n == nil || len(n.Clocks) == 0 {
		return errors.New("the network has no clocks")
	}
	clocks := len(n.Clocks)
	if len(n.Start) != clocks || len(n.Sigma) != clocks {
		return fmt.Errorf("%d start curves and %d wanders for %d clocks", len(n.Start), len(n.Sigma), clocks)
	}
	if n.Least != nil && len(n.Least) != len(n.Channels) {
		return fmt.Errorf("%d least delays for %d channels", len(n.Least), len(n.Channels))
	}
	if n.Stretches != nil && len(n.Stretches) != clocks {
		return fmt.Errorf("stretches of %d clocks for %d clocks", len(n.Stretches), clocks)
	}
	if n.Reference < 0 || n.Reference >= clocks {
		return fmt.Errorf("reference %d is not one of the %d clocks", n.Reference, clocks)
	}
	for i, c := range n.Clocks {
		if !clock.Valid(c.First) || !clock.Valid(c.Last) {
			return fmt.Errorf("clock %d: its extent is not within 2^62 ns of 1970", i)
		}
		if err := n.Start[i].Check(); err != nil {
			return fmt.Errorf("start curve of clock %d: %w", i, err)
		}
		if !(n.Sigma[i] > 0) || math.IsInf(n.Sigma[i], 0) {
			return fmt.Errorf("clock %d: wander %g must be positive and finite", i, n.Sigma[i])
		}
	}
	for i, c := range n.Channels {
		if min(c.From, c.To) < 0 || max(c.From, c.To) >= clocks || c.From == c.To {
			return fmt.Errorf("channel %d from clock %d to %d: not two of the %d clocks", i, c.From, c.To, clocks)
		}
	}
	return nil
}

// Joined is the estimate of all clocks at once.
type Joined struct {
	Curves    []clock.PairCurve  // each clock to the reference's, which is the identity
	Deviation [][]pair.Deviation // of each clock; of the reference none
	Routes    []Route
	// Contradiction is by how much the least delays of some loop add up to less than nothing, ns: 0 as a rule.
	Contradiction float64
}

// maxUnknowns bounds the knots of all curves together.
const maxUnknowns = 200_000

// Joint smooths all clocks of a component at once: every message counts for both its clocks, and a clock that many others
// talk to is known by all of them.
//
// Laws of delays are taken from the residuals under the first estimate, so that must be near: within the delays' spread.
// The cost of a Newton step is some tens of passes over the windows and knots.
//
// It returns nil where the messages leave no curves that clocks can have in their stretches.
//
// Errors are a network whose fields do not fit each other, a curve of Start that does not pass [clock.CurveOf.Check], a wander
// that is not positive, and those of ctx.
func Joint(ctx context.Context, n *Network) (*Joined, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	j, err := joint(ctx, n, math.Inf(1))
	if j == nil && err == nil && n.bendsBeyond(stiffWander) {
		return joint(ctx, n, stiffWander)
	}
	return j, err
}

// bendsBeyond reports whether a stretch may bend more than that, per ns.
func (n *Network) bendsBeyond(wander float64) bool {
	return slices.ContainsFunc(n.Stretches, func(of []Stretch) bool {
		return slices.ContainsFunc(of, func(s Stretch) bool { return s.Wander*ppbPerSecond > wander })
	})
}

// joint is Joint with stretches in which clocks bend by no more than most, per ns.
func joint(ctx context.Context, n *Network, most float64) (*Joined, error) {
	m := &jointModel{
		model:   &model{curves: curves{columns: len(n.Clocks)}, exactness: 1e-6},
		network: n, affines: make([]affine, len(n.Clocks)), origin: n.Clocks[n.Reference].First,
	}
	for i, c := range n.Clocks {
		m.column = append(m.column, i)
		m.affines[i] = straight(n.Start[i], c.First, c.Last)
	}
	if err := m.gather(ctx); err != nil {
		return nil, err
	}
	m.extent(m.edges)
	for i, s := range n.Stretches {
		m.stretches = append(m.stretches, atMost(bendsOf(s, m.affines[i], m.origin), most))
	}
	bending{m.model}.leaveOut(m.knotsFor())
	m.sigma = n.Sigma
	m.delay = make([]float64, len(m.edges))
	m.setKnots(min(m.knotsFor(), maxUnknowns/m.columns, 500))
	m.start()
	sigma := median(slices.Clone(n.Sigma))
	early := 0.0
	if (bending{m.model}).bent() {
		early = bending{m.model}.early()
	}
	for round := range 4 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if round > 0 {
			if round == 1 {
				(&router{m.model}).splitAll()
			}
			schedule{m.model}.minimise(false, 8, 1)
			continue
		}
		// With the knots of the first estimate the noise is found, with the noise the knots.
		m.reduce(false)
		seconds := (m.last - m.first) * 1e-9
		wanted := int(seconds*knotsPerTime/characteristic(m.noise, sigma)) + 2
		wanted = max(wanted, bending{m.model}.bentKnots())
		m.setKnots(max(min(wanted, m.knotsFor(), maxUnknowns/m.columns), min(9, m.knotsFor())))
		m.start()
		for e := range m.edges {
			m.edges[e].laws = nil
		}
		schedule{m.model}.minimise(false, 4, 27, 9, 3, 1)
	}
	bending{m.model}.bendSharply(6)
	if (bending{m.model}).ranAway() {
		return nil, nil
	}
	j := &Joined{}
	level, errors := m.levels(j)
	j.Deviation = m.deviations(errors)
	if b := (bending{m.model}); b.bent() && b.early() > 2*early {
		return nil, nil
	}
	j.Routes = routesOf(m.edges, m.affines, m.origin)
	base := m.x[n.Reference*m.knots : (n.Reference+1)*m.knots]
	for i := range n.Clocks {
		if i == n.Reference {
			j.Curves = append(j.Curves, clock.PairIdentity().Mid)
			continue
		}
		column := m.x[i*m.knots : (i+1)*m.knots]
		for k := range column {
			column[k] -= base[k]
		}
		j.Curves = append(j.Curves, m.curve(i, &m.affines[i], m.origin, level[i]-level[n.Reference]))
	}
	return j, nil
}

// jointModel is the model of all clocks of a network. Every clock has a column, the reference too.
type jointModel struct {
	*model
	network *Network
	affines []affine       // of each clock
	origin  clock.HostTime // on the timeline, ns
}

// minLineSpan is over how long a curve's slope is taken at least, ns: over a few the rounding of its values is all there is.
const minLineSpan = 1_000_000

// straight returns the line through a curve's values at two instants of its clock. Its rate is one that a clock can have,
// since stamps are carried back by it: a curve that stands still there would lead anywhere.
func straight(c clock.PairCurve, first, last clock.HostTime) affine {
	last = max(last, clock.Add(first, minLineSpan))
	from, to := c.At(first, clock.Nearest), c.At(last, clock.Nearest)
	span := clock.Sub(last, first)
	skew := float64(clock.Sub(clock.Sub(to, from), span)) / float64(span)
	return affine{at: first, timeline: from, rate: 1 + min(max(skew, -maxSlope), maxSlope)}
}

// gather reduces the messages of all channels, those between the same two clocks in the same direction together.
func (m *jointModel) gather(ctx context.Context) error {
	n := m.network
	number := make(map[[2]int]int)
	var parts [][]int
	for i, c := range n.Channels {
		if len(c.Messages) == 0 {
			continue
		}
		key := [2]int{c.From, c.To}
		e, known := number[key]
		if !known {
			e = len(parts)
			number[key] = e
			parts = append(parts, nil)
		}
		parts[e] = append(parts[e], i)
	}
	m.edges = make([]edge, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for e, channels := range parts {
		group.Go(func() error {
			total := 0
			for _, i := range channels {
				total += len(n.Channels[i].Messages)
			}
			r := NewReducer(total)
			for _, i := range channels {
				for _, x := range n.Channels[i].Messages {
					r.Add(x)
				}
			}
			r.finish()
			from, to := n.Channels[channels[0]].From, n.Channels[channels[0]].To
			m.edges[e] = r.edge(from, to, m.affines[from], m.affines[to], m.origin)
			m.edges[e].granularity = float64(max(n.Clocks[from].Granularity, n.Clocks[to].Granularity, 1))
			return ctx.Err()
		})
	}
	return group.Wait()
}

// start sets every column to what the first estimate has beside the clock's straight line.
func (m *jointModel) start() {
	for c := range m.columns {
		u := clock.NewCursor(m.network.Start[c])
		for k := range m.knots {
			t := m.first + float64(k)*m.step
			host := m.affines[c].stamp(t, m.origin)
			m.x[c*m.knots+k] = m.affines[c].on(host, m.origin) - float64(u.At(host)-m.origin)
		}
	}
}

// levels chooses among the curves that differ by constants: those under which the least delays of both ways between two
// clocks are as alike as they can be over the whole network, and none is below what is possible. What asymmetry goes
// around a loop without adding up is found so; what does not is left.
func (m *jointModel) levels(j *Joined) (level, deviation []float64) {
	n := m.network
	pairs := make(map[[2]int]int)
	stats := make([]statistics, len(m.edges))
	least := make([]float64, len(m.edges))
	for e := range m.edges {
		d := &m.edges[e]
		if stats[e].extreme = math.Inf(1); len(d.least) == 0 {
			continue
		}
		stats[e] = m.statisticsOf(d)
		// Of a route that changed, the quickest part speaks for its way.
		key := [2]int{d.from, d.to}
		if other, known := pairs[key]; !known || stats[e].extreme < stats[other].extreme {
			pairs[key] = e
		}
	}
	for i, c := range n.Channels {
		if n.Least != nil && len(c.Messages) > 0 {
			e := pairs[[2]int{c.From, c.To}]
			least[e] = max(least[e], float64(n.Least[i]))
		}
	}
	q := quadratic{n: len(n.Clocks)}
	var errors []float64
	for e := range m.edges {
		d := &m.edges[e]
		if pairs[[2]int{d.from, d.to}] != e || len(d.least) == 0 {
			continue
		}
		q.limits = append(q.limits, limit{from: d.from, to: d.to, most: stats[e].extreme - least[e]})
		back, both := pairs[[2]int{d.to, d.from}]
		if !both || back < e {
			continue
		}
		want, wantError := levelOf(&stats[e], &stats[back])
		errors = append(errors, wantError)
		trip := max((stats[e].extreme+stats[back].extreme)/2, 1000)
		q.terms = append(q.terms, term{from: d.from, to: d.to, want: want, weight: 1e8 / (trip * trip)})
	}
	level, short := q.solve()
	j.Contradiction = short
	return level, q.deviationOf(errors, n.Reference)
}
