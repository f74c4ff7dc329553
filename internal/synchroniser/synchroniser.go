// Package synchroniser tells, while it runs, how the clocks of other hosts stand. It joins internal/probe, which exchanges
// datagrams, to align/online, which estimates.
//
//	probe.Client --Sample--> host: estimator on the free clocks --> Reading of the free clocks
//	                         |                                        |
//	                         '--> offsets of the system clocks -------+--> State: readable at any time
//
// The estimator works on free clocks, which nobody steers (CLOCK_MONOTONIC_RAW): a daemon that steers the system clock does not
// bend them. Readings of both clocks at each end lead to the system clocks:
//
//	offset of the system clocks = offset of the free clocks + (system - free) there - (system - free) here
//
// The last term is read at the instant that is asked for. The one before comes with each answer, is as old as the answer, and is carried on at
// the rate that two answers a second apart show. The bound grows with its age by [Options.Steering], an assumption that each answer
// checks: a system clock there that was steered by more, or set, is counted, and what its offset was before is not used again.
//
// [Synchroniser.State] takes no lock that an estimator holds: what is known after each exchange is published whole. [Synchroniser.At] asks the
// estimator for another instant, and waits some microseconds at most.
package synchroniser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"meridian/align/online"
	"meridian/clock"
	"meridian/internal/probe"
)

// Options say what is asked and how it is estimated.
type Options struct {
	Probe  probe.Options
	Method string // of align/online, default [DefaultMethod]
	Online online.Options
	// Also are methods that are fed with the same exchanges, for comparison.
	Also []string
	// Steering is by how much the rate of a system clock there changes within a second, and between two answers, at most, ppm.
	// Default 10.
	Steering float64
	// Silence is for how long a host answers nothing before its state says so. Default 5 s or eight rounds.
	Silence time.Duration
	// Each is called after each sample, in the goroutine of Run, with the host's number.
	Each func(host int, s probe.Sample)
}

// DefaultMethod is the method that keeps an estimate within a strict bound.
const DefaultMethod = online.Default

// BriskMethod is the rounds of BRISK over all hosts.
const BriskMethod = "brisk"

// PairMethods returns the names of the methods for two clocks, the default first.
func PairMethods() []string {
	all := []string{DefaultMethod}
	for _, m := range online.Methods() {
		if m != DefaultMethod {
			all = append(all, m)
		}
	}
	return all
}

// Methods returns the names of all methods, the default first.
func Methods() []string { return append(PairMethods(), BriskMethod) }

const (
	defaultSteering = 10
	defaultSilence  = 5 * time.Second
	silentRounds    = 8
)

// Target is a host to ask.
type Target struct {
	Name    string // for people
	Address string // host:port
}

// Synchroniser asks hosts and keeps what it knows of their clocks.
type Synchroniser struct {
	options Options
	client  *probe.Client
	clock   probe.Clock
	hosts   []*host

	brisk *Brisk         // nil without
	every time.Duration  // how long its rounds are
	round clock.HostTime // when the latest ended; of Run alone
}

// New opens the socket. Nothing is sent before Run.
func New(ctx context.Context, o Options, targets ...Target) (*Synchroniser, error) {
	if o.Probe.Clock == nil {
		o.Probe.Clock = probe.System()
	}
	if o.Method == "" {
		o.Method = DefaultMethod
	}
	if o.Steering <= 0 {
		o.Steering = defaultSteering
	}
	if o.Silence <= 0 {
		o.Silence = defaultSilence
		if o.Probe.Rate > 0 {
			o.Silence = max(o.Silence, time.Duration(silentRounds/o.Probe.Rate*float64(time.Second)))
		}
	}
	s := &Synchroniser{options: o, clock: o.Probe.Clock, every: briskRound}
	if o.Method == BriskMethod {
		var err error
		if s.brisk, err = NewBrisk(len(targets), briskThreshold); err != nil {
			return nil, fmt.Errorf("synchroniser: %w", err)
		}
		s.options.Method = DefaultMethod
	}
	addresses := make([]string, 0, len(targets))
	for _, t := range targets {
		h, err := newHost(&s.options, t)
		if err != nil {
			return nil, err
		}
		s.hosts, addresses = append(s.hosts, h), append(addresses, t.Address)
	}
	var err error
	s.client, err = probe.Dial(ctx, o.Probe, addresses...)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run asks until the context is done. It is called once.
func (s *Synchroniser) Run(ctx context.Context) error {
	err := s.client.Run(ctx, func(x probe.Sample) {
		h := s.hosts[x.Host]
		before := h.state.Load()
		h.take(x, s.clock.Read())
		s.briskTake(x)
		s.client.Feedback(x.Host, h.feedback(before))
		if s.options.Each != nil {
			s.options.Each(x.Host, x)
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("synchroniser: %w", err)
	}
	return nil
}

// Close closes the socket of a synchroniser that is not run.
func (s *Synchroniser) Close() error { return s.client.Close() }

// Quiet begins or ends a quiet window, in which nothing is sent. It may be called at any time.
func (s *Synchroniser) Quiet(on bool) { s.client.Quiet(on) }

// Stats counts the datagrams. It may be called at any time.
func (s *Synchroniser) Stats() probe.Stats { return s.client.Stats() }

// Rate returns how many exchanges per second a host is asked for now.
func (s *Synchroniser) Rate(host int) float64 { return s.client.Rate(host) }

// SetRate sets the most exchanges per second a host is asked for. What is known of its clock stays. It may be called at any time.
func (s *Synchroniser) SetRate(host int, most float64) error {
	return s.client.SetRate(host, most, most/leastShare)
}

// leastShare is the share of the greatest rate that the least one is, as where no least rate is given ([probe.Options]).
const leastShare = 8

// Hosts returns how many hosts are asked.
func (s *Synchroniser) Hosts() int { return len(s.hosts) }

// State returns what was known of a host when its newest sample had come. It may be called at any time.
func (s *Synchroniser) State(host int) State {
	h := s.hosts[host]
	state := *h.state.Load()
	s.age(&state, s.clock.Read().Free)
	return state
}

// At returns what is known of a host now. It may be called at any time.
func (s *Synchroniser) At(host int) State {
	h := s.hosts[host]
	h.mu.Lock()
	now := s.clock.Read() // not before the lock: a sample that comes meanwhile is of a later instant, at which no bound reaches back
	state := h.at(h.estimators[0], now, s.clock.Steering())
	h.mu.Unlock()
	s.age(&state, now.Free)
	s.briskSay(host, &state)
	return state
}

// By returns what every method makes of a host's exchanges now: first that of [Options.Method], then those of [Options.Also].
func (s *Synchroniser) By(host int) []State {
	h := s.hosts[host]
	h.mu.Lock()
	defer h.mu.Unlock()
	now, steering := s.clock.Read(), s.clock.Steering()
	all := make([]State, len(h.estimators))
	for i, e := range h.estimators {
		all[i] = h.at(e, now, steering)
		s.age(&all[i], now.Free)
	}
	return all
}

// age marks a host that has been silent for too long.
func (s *Synchroniser) age(state *State, now clock.HostTime) {
	if state.Answered != 0 && clock.Sub(now, state.Answered) > int64(s.options.Silence) {
		state.Silent = true
	}
}
