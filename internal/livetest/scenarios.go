package livetest

import (
	"math/rand/v2"
	"strconv"
	"time"

	"meridian/align/live"
	"meridian/internal/sim"
)

// Two is two hosts whose clocks wander within the default assumption, and one of which is set now and then, forward and back.
func Two(seed uint64, span, period, between time.Duration, o live.Options) *Scenario {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &Scenario{Seed: seed, Options: o, Span: span}
	for i := range 2 {
		c := wandering(r, span)
		if i == 1 && between > 0 {
			for at := between; at+between/4 < span; at += between/2 + time.Duration(r.Int64N(int64(between))) {
				c.Steps = append(c.Steps, sim.Step{At: ns(at), By: step(r)})
			}
		}
		s.Hosts = append(s.Hosts, Host{Name: strconv.Itoa(i), Clock: c})
	}
	s.Links = []Link{{A: 0, B: 1, Period: period, There: 100 * time.Microsecond, Back: 130 * time.Microsecond, Jitter: 60 * time.Microsecond}}
	return s
}

// wandering returns a clock that keeps half of the default wander: a walk of 1e-9 per root of a second, and a swing.
func wandering(r *rand.Rand, span time.Duration) sim.Clock {
	return sim.Clock{
		OffsetNs: 1_700_000_000e9 + r.Int64N(1e15), SkewPPM: 100 * (r.Float64() - 0.5),
		Wave: sim.Wave{AmplitudePPM: 0.5, Period: time.Duration(8+r.IntN(20)) * time.Minute, Phase: r.Float64()},
		Walk: sim.NewWalk(r.Uint64(), 1e-3, time.Second, span+time.Hour),
	}
}

// step returns a step that messages tell from none: of 2 ms to 2 s either way.
func step(r *rand.Rand) int64 {
	by := 2e6 * float64(uint64(1)<<r.IntN(11))
	if r.IntN(2) == 0 {
		by = -by
	}
	return int64(by)
}

// Mesh is hosts of which each has links to the next two, with clocks that wander. All but the first are set now and then. In a first part of
// the span, come, some leave and come back, as new clocks, and the first one, which the timeline follows at the beginning, leaves for good at
// two thirds of it.
func Mesh(seed uint64, hosts int, span, come, period, between time.Duration, o live.Options) *Scenario {
	r := rand.New(rand.NewPCG(seed, 8))
	s := &Scenario{Seed: seed, Options: o, Span: span}
	if s.Options.Align.Reference == "" {
		s.Options.Align.Reference = "0"
	}
	for i := range hosts {
		c := wandering(r, span)
		h := Host{Name: strconv.Itoa(i), Clock: c}
		switch {
		case i == 0:
			h.Leave = come * 2 / 3
		case i%4 == 3: // comes late, leaves, and comes again
			h.Join, h.Leave, h.Said = come/10, come/2, i%8 == 3
		case i > 1:
			for at := between/2 + time.Duration(r.Int64N(int64(between))); at < span; at += between/2 + time.Duration(r.Int64N(int64(between))) {
				h.Clock.Steps = append(h.Clock.Steps, sim.Step{At: ns(at), By: step(r)})
			}
		}
		s.Hosts = append(s.Hosts, h)
	}
	for i := range hosts {
		for _, d := range []int{1, 2} {
			s.link(r, i, (i+d)%hosts, period)
		}
	}
	for i := 3; i < hosts; i += 4 {
		h := s.Hosts[i]
		h.Join, h.Leave, h.Clock = h.Leave+come/20, 0, wandering(r, span)
		s.Hosts = append(s.Hosts, h)
		for _, d := range []int{hosts - 2, hosts - 1, 1, 2} {
			s.link(r, len(s.Hosts)-1, (i+d)%hosts, period)
		}
	}
	return s
}

func (s *Scenario) link(r *rand.Rand, a, b int, period time.Duration) {
	least := time.Duration(50+r.IntN(200)) * time.Microsecond
	s.Links = append(s.Links, Link{A: a, B: b, Period: period, There: least, Back: least + time.Duration(r.IntN(50))*time.Microsecond, Jitter: least / 2})
}
