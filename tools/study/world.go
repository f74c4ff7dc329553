package main

import (
	"fmt"
	"math"
	"time"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// epoch is when all simulations begin: stamps as real clocks show them.
const epoch = 1_790_000_000_000_000_000

// wandering is how two clocks differ from linear ones.
type wandering struct {
	name          string
	walk, thermal float64 // of each clock; see sim.Scenario
}

// assumption returns the bound on wander that states a scenario's clocks rightly: five standard deviations of both
// clocks' random walks together, and twice the greatest change of rate that the thermal wave makes.
func assumption(s *sim.Scenario) bound.Assumption {
	if s.Wander == 0 && s.Thermal == 0 {
		return bound.Assumption{}
	}
	const deviations, epsilon = 5, 100
	a := bound.FromWalk(s.Wander*math.Sqrt2, deviations, epsilon)
	a.Wander += 2 * 2 * math.Pi / s.ThermalPeriod.Seconds() * s.Thermal * 1e9
	return a
}

// world is a simulated trace of two hosts and its truth.
type world struct {
	scenario  sim.Scenario
	messages  trace.Problem
	problem   pair.Problem // from host0 to host1
	truth     *sim.Truth
	hosts     [2]clock.InverseCurve // true time to host time
	asymmetry float64               // half of what the least delay there exceeds that back by, ns
	roundTrip float64               // the least, ns
}

// simulate plays a scenario of two hosts.
func simulate(s sim.Scenario) (*world, error) {
	s.Start = epoch
	w := &world{scenario: s}
	var err error
	if w.messages, w.truth, err = s.Generate(); err != nil {
		return nil, err
	}
	a, b := w.truth.Hosts[0].Name, w.truth.Hosts[1].Name
	var ok bool
	if w.asymmetry, ok = w.truth.Asymmetry(a, b); !ok || len(w.truth.Hosts) != 2 {
		return nil, fmt.Errorf("want two hosts with links both ways")
	}
	for _, l := range w.truth.Links {
		w.roundTrip += float64(l.MinDelayNs)
	}
	w.problem = between(&w.messages, 0, 1)
	for i := range w.hosts {
		w.hosts[i] = w.truth.Hosts[i].Clock.Inverse()
	}
	return w, nil
}

// between returns the problem of two clocks.
func between(p *trace.Problem, a, b int) pair.Problem {
	out := pair.Problem{A: p.Clocks[a], B: p.Clocks[b]}
	for _, c := range p.Channels {
		switch {
		case c.From == a && c.To == b:
			out.AB = append(out.AB, c.Messages)
		case c.From == b && c.To == a:
			out.BA = append(out.BA, c.Messages)
		}
	}
	return out
}

// reading is what both clocks showed at one true instant.
type reading struct{ a, b clock.HostTime }

func (w *world) at(t clock.TimelineTime) reading {
	return reading{w.hosts[0].At(t, clock.Nearest), w.hosts[1].At(t, clock.Nearest)}
}

// everywhere returns the readings at n even instants of true time from the beginning of the trace to its end.
func (w *world) everywhere(n int) []reading {
	return w.even(epoch, clock.TimelineTime(epoch+int64(w.scenario.Span)), n)
}

// amongMessages returns them from the first stamp of host0 to its last.
func (w *world) amongMessages(n int) []reading {
	on := func(host clock.HostTime) clock.TimelineTime { return w.truth.Hosts[0].Clock.At(host, clock.Nearest) }
	return w.even(on(w.problem.A.First), on(w.problem.A.Last), n)
}

func (w *world) even(from, to clock.TimelineTime, n int) []reading {
	out := make([]reading, n)
	for i := range out {
		out[i] = w.at(from + clock.TimelineTime(clock.MulDiv(int64(to-from), int64(i), int64(n-1), clock.Nearest)))
	}
	return out
}

// errors returns how far an estimate of a's clock to b's is off, in ns, half the asymmetry removed: no method can see it.
func (w *world) errors(estimate clock.PairCurve, at []reading) []float64 {
	out := make([]float64, len(at))
	for i, r := range at {
		out[i] = float64(estimate.At(r.a, clock.Nearest)-r.b) - w.asymmetry
	}
	return out
}

// onTimeline returns a curve to the reference's clock as one to the timeline.
func onTimeline(c clock.PairCurve) clock.Curve {
	return clock.ConvertCurve[clock.HostTime, clock.TimelineTime](c)
}

// inversions returns how many messages arrive before they were sent under an estimate, beyond what the steps of the
// stamps explain.
func (w *world) inversions(estimate clock.PairCurve) int64 {
	maps := []clock.Map{{Mid: onTimeline(estimate)}, clock.Identity()}
	var n quality.Counts
	for i := range w.messages.Channels {
		n.Add(quality.Channel(&w.messages.Channels[i], w.messages.Clocks, maps, 0))
	}
	return n.BeyondGranularity
}

// seconds prints a span as people write it.
func seconds(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}
