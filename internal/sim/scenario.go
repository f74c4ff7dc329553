package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"meridian/clock"
)

// Scenario describes hosts, their clocks, the network between them and what they send. The zero value is two hosts with
// perfect clocks that send each other 20 messages a second for two minutes, over links without any delay.
type Scenario struct {
	Hosts    int // named host0, host1, ...; 0 is 2
	Topology Topology
	Degree   int // of Random: links a host has in the mean; 0 is 4, or as many as there are other hosts

	Start   clock.TimelineTime // true time, ns, at which it begins
	Span    time.Duration      // 0 is 2 min
	Traffic Pattern
	// Rate is how many messages a second a link carries in each direction in the mean: for RequestResponse exchanges,
	// for Broadcast broadcasts of each host, for Collective operations. 0 is 20, or 10 where the span is over 10,000 s.
	Rate float64

	Delay     Distribution
	Jitter    time.Duration    // mean of the delays' random part; 0 is none
	MinDelay  [2]time.Duration // a link's minimum is drawn from between these
	Congested bool             // each direction of a link is now and then overloaded for some 15 s
	// Asymmetric draws the minimum for each direction apart, and jitters from half to one and a half of Jitter. Otherwise
	// both directions are alike.
	Asymmetric bool
	Routes     []Route

	Granularity   int64         // step of the stamps in ns, which are cut down to it; 0 is 1 ns
	MaxOffset     time.Duration // clocks are off by up to this much at Start
	MaxSkewPPM    float64       // and run too fast or too slow by up to this much
	Wander        float64       // random walk of frequency: fractional, per square root of a second; 1e-9 is a good crystal's
	Thermal       float64       // amplitude of the swing of frequency with the temperature, fractional
	ThermalPeriod time.Duration // 0 is 20 min
	Steps         []HostStep

	Seed uint64
}

// HostStep is a step of one host's clock.
type HostStep struct {
	Host int
	Step
}

// Route is a change of the way that messages take: those that From sends to To from the true instant At on take By ns
// more at least, or less.
type Route struct {
	From, To int
	At       clock.TimelineTime
	By       int64
}

// What a scenario may ask for; more is a mistake or does not fit into memory.
const (
	mostHosts    = 4096
	mostMessages = 1e8
	mostSeconds  = 2e7 // of all hosts' clocks together
	mostPairs    = 1e6 // of hosts, where any two may have a link
)

// complete returns the scenario with its defaults, or says what is wrong with it.
func (s Scenario) complete() (Scenario, error) {
	if s.Hosts == 0 {
		s.Hosts = 2
	}
	if s.Span == 0 {
		s.Span = 2 * time.Minute
	}
	if s.Rate == 0 {
		s.Rate = 20
		if s.Span > 10_000*time.Second {
			s.Rate = 10
		}
	}
	if s.ThermalPeriod == 0 {
		s.ThermalPeriod = 20 * time.Minute
	}
	s.Granularity = max(s.Granularity, 1)
	if s.Degree == 0 {
		s.Degree = min(4, s.Hosts-1)
	}
	for _, wrong := range []struct {
		is   bool
		what string
	}{
		{s.Hosts < 2 || s.Hosts > mostHosts, fmt.Sprintf("%d hosts; want 2 to %d", s.Hosts, mostHosts)},
		{s.Topology > Random, "an unknown topology"},
		{s.Topology == Pair && s.Hosts != 2, fmt.Sprintf("a pair has 2 hosts, not %d", s.Hosts)},
		{s.Topology == Random && s.Hosts > 2 && (s.Degree < 2 || s.Degree >= s.Hosts),
			fmt.Sprintf("degree %d; a random network of %d hosts has 2 to %d", s.Degree, s.Hosts, s.Hosts-1)},
		{(s.Topology >= Full || s.Traffic == Collective) && s.Hosts*(s.Hosts-1)/2 > mostPairs,
			fmt.Sprintf("%d hosts have too many links", s.Hosts)},
		{s.Traffic > Collective, "an unknown traffic pattern"},
		{s.Delay > Pareto, "an unknown delay distribution"},
		{s.Span < 0 || float64(s.Hosts)*s.Span.Seconds() > mostSeconds,
			fmt.Sprintf("%d hosts for %v; at most %g host-seconds can be simulated", s.Hosts, s.Span, mostSeconds)},
		{!(s.Rate > 0) || math.IsInf(s.Rate, 0), fmt.Sprintf("a rate of %g messages a second", s.Rate)},
		{s.Jitter < 0 || s.Jitter > time.Hour, fmt.Sprintf("a jitter of %v; want 0 to 1 h", s.Jitter)},
		{s.MinDelay[0] < 0 || s.MinDelay[1] < s.MinDelay[0] || s.MinDelay[1] > time.Hour,
			fmt.Sprintf("minimum delays from %v to %v; want 0 to 1 h, the lower first", s.MinDelay[0], s.MinDelay[1])},
		{s.Granularity > 1e12, fmt.Sprintf("a granularity of %d ns", s.Granularity)},
		{s.MaxOffset < 0, fmt.Sprintf("an offset of up to %v", s.MaxOffset)},
		{!(s.MaxSkewPPM >= 0), fmt.Sprintf("a skew of up to %g ppm", s.MaxSkewPPM)},
		{!(s.Wander >= 0), fmt.Sprintf("a wander of %g", s.Wander)},
		{!(s.Thermal >= 0), fmt.Sprintf("a thermal swing of %g", s.Thermal)},
		{s.ThermalPeriod < time.Second, fmt.Sprintf("a thermal period of %v; want 1 s or more", s.ThermalPeriod)},
		// Far from where int64 ends, steps and delays included.
		{s.Start > clock.Limit/2 || s.Start < -clock.Limit/2 || int64(s.MaxOffset) > clock.Limit/8,
			"a time so far from 1970 that clocks cannot show it"},
	} {
		if wrong.is {
			return s, errors.New("sim: " + wrong.what)
		}
	}
	for _, step := range s.Steps {
		if step.Host < 0 || step.Host >= s.Hosts {
			return s, fmt.Errorf("sim: a step of host %d; hosts are 0 to %d", step.Host, s.Hosts-1)
		}
	}
	return s, nil
}

// Streams of random numbers: each clock, link and sender has its own, so that one more of them, or another setting of
// one, leaves the others as they were.
const (
	clockStream = uint64(iota+1) << 32
	edgeStream
	senderStream
	topologyStream
)

func (s *Scenario) random(stream uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, stream+uint64(i)))
}

// makeClocks draws the hosts' clocks.
func (s *Scenario) makeClocks() ([]Clock, error) {
	clocks := make([]Clock, s.Hosts)
	for i := range clocks {
		random := s.random(clockStream, i)
		c := Clock{Origin: s.Start}
		c.SkewPPM = (2*random.Float64() - 1) * s.MaxSkewPPM
		phase, seed := random.Float64(), random.Uint64()
		c.OffsetNs = int64(math.Floor((2*random.Float64() - 1) * float64(s.MaxOffset)))
		if s.Thermal > 0 {
			c.Wave = Wave{AmplitudePPM: s.Thermal * 1e6, Period: s.ThermalPeriod, Phase: phase}
		}
		if s.Wander > 0 {
			c.Walk = NewWalk(seed, s.Wander*1e6, time.Second, s.Span+12*time.Second)
		}
		clocks[i] = c
	}
	for _, step := range s.Steps {
		clocks[step.Host].Steps = append(clocks[step.Host].Steps, step.Step)
	}
	for i := range clocks {
		slices.SortStableFunc(clocks[i].Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
		if err := clocks[i].Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", hostName(i), err)
		}
	}
	return clocks, nil
}

func hostName(i int) string { return fmt.Sprintf("host%d", i) }
