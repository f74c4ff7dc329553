package sim

import "time"

// Environment is a kind of network and traffic that has a name.
type Environment struct {
	Name     string
	Scenario Scenario
}

// Environments returns the eight of the accuracy study, E1 to E8, between them every pattern of conversation with short
// and long queues, congestion, asymmetry and coarse stamps:
//
//	two hosts, minima of 10 to 50 µs, a jitter of 20 µs, clocks off by up to 1 s and 50 ppm;
//	20 messages a second in each direction, or 10 in traces over 10,000 s
//
// The span, the clocks' wander and thermal swing, and the seed are left to the caller.
func Environments() []Environment {
	common := Scenario{
		Hosts: 2, Topology: Pair, Jitter: 20 * time.Microsecond,
		MinDelay:  [2]time.Duration{10 * time.Microsecond, 50 * time.Microsecond},
		MaxOffset: time.Second, MaxSkewPPM: 50, ThermalPeriod: 20 * time.Minute,
	}
	var all []Environment
	for _, e := range []struct {
		name                  string
		traffic               Pattern
		delay                 Distribution
		congested, asymmetric bool
		granularity           int64
	}{
		{"E1", Periodic, Exponential, false, false, 1},
		{"E2", Bursty, Gamma, false, false, 1},
		{"E3", RequestResponse, Weibull, false, true, 1000},
		{"E4", OneSided, Exponential, true, false, 1},
		{"E5", Periodic, Pareto, true, false, 1000},
		{"E6", Bursty, Pareto, false, true, 1},
		{"E7", RequestResponse, Gamma, true, false, 1000},
		{"E8", OneSided, Weibull, true, true, 1},
	} {
		s := common
		s.Traffic, s.Delay, s.Congested, s.Asymmetric, s.Granularity = e.traffic, e.delay, e.congested, e.asymmetric, e.granularity
		all = append(all, Environment{e.name, s})
	}
	return all
}
