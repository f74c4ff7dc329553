package align_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// world generates hosts that send each other messages for some minutes.
func world(t *testing.T, s sim.Scenario) trace.Problem {
	t.Helper()
	s.Start, s.Rate, s.Jitter, s.MinDelay = 1_790_000_000_000_000_000, 10, 20*time.Microsecond, [2]time.Duration{10 * time.Microsecond, 50 * time.Microsecond}
	s.MaxOffset, s.MaxSkewPPM = time.Second, 50
	p, _, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// besides returns two problems as one: the hosts of both, of which none of one sends to any of the other.
func besides(p, q trace.Problem) *trace.Problem {
	n := len(p.Clocks)
	both := trace.Problem{Clocks: slices.Clone(p.Clocks), Channels: slices.Clone(p.Channels)}
	for _, c := range q.Clocks {
		c.Name, c.Host = "other "+c.Name, "other "+c.Host
		both.Clocks = append(both.Clocks, c)
	}
	for _, c := range q.Channels {
		c.From, c.To = c.From+n, c.To+n
		both.Channels = append(both.Channels, c)
	}
	return &both
}

// bent returns a problem in which the clock of the first host is set forward by a span at half time, and the clock of the second
// gains on itself by 100 ppm from then on for a tenth of it.
func bent(p trace.Problem, by int64) trace.Problem {
	first, last := p.Clocks[0].First, p.Clocks[0].Last
	half := first + clock.HostTime(int64(last-first)/2)
	shift := func(c int, at clock.HostTime) clock.HostTime {
		switch {
		case at < half:
		case c == 0:
			return at + clock.HostTime(by)
		case c == 1:
			return at + min(clock.HostTime(int64(at-half)/10_000), clock.HostTime(int64(last-first)/100_000))
		}
		return at
	}
	q := trace.Problem{Clocks: slices.Clone(p.Clocks)}
	for i := range q.Clocks {
		q.Clocks[i].Last = shift(i, q.Clocks[i].Last)
	}
	for _, c := range p.Channels {
		messages := slices.Clone(c.Messages)
		for i := range messages {
			messages[i].Sent, messages[i].Received = shift(c.From, messages[i].Sent), shift(c.To, messages[i].Received)
		}
		q.Channels = append(q.Channels, trace.Channel{From: c.From, To: c.To, Messages: messages})
	}
	return q
}

// TestBoundsDoNotDependOnUnrelatedHosts adds hosts that share no message with those of a problem: quiet ones, with longer traces, with
// clocks that wander much, that bend and that were set.
func TestBoundsDoNotDependOnUnrelatedHosts(t *testing.T) {
	t.Parallel()
	others := map[string]trace.Problem{
		"quiet":  world(t, sim.Scenario{Hosts: 2, Topology: sim.Pair, Span: 30 * time.Second, Wander: 1e-9, Seed: 7}),
		"many":   world(t, sim.Scenario{Hosts: 5, Topology: sim.Full, Span: 30 * time.Second, Wander: 1e-9, Seed: 8}),
		"longer": world(t, sim.Scenario{Hosts: 2, Topology: sim.Pair, Span: 3 * time.Minute, Wander: 1e-9, Seed: 9}),
		"wild":   world(t, sim.Scenario{Hosts: 3, Topology: sim.Full, Span: 30 * time.Second, Wander: 1e-6, Seed: 10}),
	}
	others["bent"] = bent(others["quiet"], 0)
	others["set by 60 µs"] = bent(others["quiet"], 60_000)
	others["set by a second"] = bent(others["many"], 1_000_000_000)
	for _, hosts := range []int{2, 4} {
		p := world(t, sim.Scenario{Hosts: hosts, Topology: sim.Chain, Span: 30 * time.Second, Wander: 1e-9, Seed: 3})
		alone, err := align.Solve(context.Background(), &p, align.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range others {
			t.Run(fmt.Sprintf("%d hosts, %s", hosts, name), func(t *testing.T) {
				s, err := align.Solve(context.Background(), besides(p, q), align.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for c := range p.Clocks {
					m, want := &s.Maps[c], &alone.Maps[c]
					if s.Reference(c) != alone.Reference(c) {
						t.Fatalf("clock %d follows %d, alone %d", c, s.Reference(c), alone.Reference(c))
					}
					if !slices.Equal(m.Low, want.Low) || !slices.Equal(m.High, want.High) {
						t.Errorf("clock %d is bounded by %d ns at its beginning, alone by %d", c, width(m, p.Clocks[c].First), width(want, p.Clocks[c].First))
					}
					if !slices.Equal(m.Mid, want.Mid) {
						t.Errorf("the estimate of clock %d differs", c)
					}
				}
			})
		}
	}
}

func width(m *clock.Map, at clock.HostTime) int64 {
	low, high, _, _ := m.Bounds(at)
	return int64(high - low)
}
