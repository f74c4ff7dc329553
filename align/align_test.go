package align_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/internal/testneed"
	"meridian/trace"
)

const epoch = 1_790_000_000_000_000_000

var (
	quick = sim.Delay{Min: 50 * time.Microsecond, Jitter: 20 * time.Microsecond}
	slow  = sim.Delay{Min: 5 * time.Millisecond, Jitter: 3 * time.Millisecond, Distribution: sim.HeavyTail}
)

// linearHosts returns n linear clocks, seconds and tens of ppm apart.
func linearHosts(n int) []sim.Clock {
	hosts := make([]sim.Clock, n)
	for i := range hosts {
		hosts[i] = sim.Clock{Origin: epoch, OffsetNs: int64(i*i) * 1_234_567_891, SkewPPM: float64(17*i%90 - 40)}
	}
	return hosts
}

func solve(t *testing.T, traffic sim.Traffic, o align.Options) (*align.Solution, *trace.Problem) {
	t.Helper()
	p, _ := traffic.Generate()
	s, err := align.Solve(context.Background(), &p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, &p
}

// checkTruth demands that the true time of every stamp lies within its bounds, and returns the worst error.
func checkTruth(t *testing.T, traffic sim.Traffic, s *align.Solution, p *trace.Problem) int64 {
	t.Helper()
	worst := int64(0)
	check := func(c int, stamp clock.HostTime) {
		reference := s.Reference(c)
		truth := traffic.On(reference, c, stamp)
		low, high, lowOK, highOK := s.Maps[c].Bounds(stamp)
		if !lowOK || !highOK {
			t.Fatalf("clock %d is unbounded", c)
		}
		// The stamp and the inverse of its clock are each rounded to a nanosecond.
		if truth < low-2 || truth > high+2 {
			t.Fatalf("clock %d at %d: truth %d outside [%d %d]", c, stamp, truth, int64(low-truth), int64(high-truth))
		}
		worst = max(worst, max(int64(s.Maps[c].At(stamp)-truth), int64(truth-s.Maps[c].At(stamp))))
	}
	for _, ch := range p.Channels {
		for _, m := range ch.Messages {
			check(ch.From, m.Sent)
			check(ch.To, m.Received)
		}
	}
	return worst
}

func TestChainsOfAnyLengthStayWithinTheirBounds(t *testing.T) {
	for _, n := range []int{2, 4, 5, 9} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n > 5 {
				testneed.Long(t, "aligns nine hosts")
			}
			traffic := sim.Traffic{Hosts: linearHosts(n), Start: epoch, Span: 100 * time.Second, Seed: uint64(n)}
			for i := range n - 1 {
				traffic.Links = append(traffic.Links, sim.Link{From: i, To: i + 1, Period: 20 * time.Millisecond, Delay: quick, Back: &quick})
			}
			s, p := solve(t, traffic, align.Options{})
			if len(s.References) != 1 {
				t.Fatalf("%d components in a chain", len(s.References))
			}
			if want := n / 2; n > 2 && s.References[0] != want && s.References[0] != (n-1)/2 {
				t.Errorf("reference %d, want the middle of the chain", s.References[0])
			}
			if worst := checkTruth(t, traffic, s, p); worst > int64(n)*50_000 {
				t.Errorf("worst error %d ns over links of 50 µs", worst)
			}
			if s.Quality.Inversions > 0 {
				t.Errorf("%d inversions of linear clocks in a chain", s.Quality.Inversions)
			}
		})
	}
}

func TestDetourOverSureLinksBeatsAnUnsureDirectOne(t *testing.T) {
	traffic := sim.Traffic{Hosts: linearHosts(4), Start: epoch, Span: 60 * time.Second, Seed: 3, Links: []sim.Link{
		{From: 0, To: 3, Period: 50 * time.Millisecond, Delay: slow, Back: &slow},
		{From: 0, To: 1, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
		{From: 1, To: 2, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
		{From: 2, To: 3, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
	}}
	s, p := solve(t, traffic, align.Options{Reference: "host0"})
	if s.Parent[3] != 2 {
		t.Errorf("clock 3 hangs on %d, want the detour over 2", s.Parent[3])
	}
	if worst := checkTruth(t, traffic, s, p); worst > 500_000 {
		t.Errorf("worst error %d ns: that of the direct link", worst)
	}
	if !s.Hosts[3].Bounded || s.Hosts[3].Spread.Worst > 500_000 {
		t.Errorf("bound %d ns over the detour", s.Hosts[3].Spread.Worst)
	}
}

func TestIslandsAreAlignedEachWithinItself(t *testing.T) {
	traffic := sim.Traffic{Hosts: linearHosts(6), Start: epoch, Span: 60 * time.Second, Seed: 4, Links: []sim.Link{
		{From: 0, To: 3, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
		{From: 4, To: 1, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
		{From: 1, To: 5, Period: 50 * time.Millisecond, Delay: quick, Back: &quick},
	}}
	s, p := solve(t, traffic, align.Options{Reference: "host5"})
	if want := []int{0, 1, 2, 0, 1, 1}; !slices.Equal(s.Component, want) {
		t.Fatalf("components %v, want %v", s.Component, want)
	}
	if s.References[1] != 5 || s.References[2] != 2 {
		t.Errorf("references %v: 5 was chosen and 2 is alone", s.References)
	}
	checkTruth(t, traffic, s, p)
}

func TestSkewThatTheSpanCannotDetermineIsReportedAsUndetermined(t *testing.T) {
	for _, c := range []struct {
		span       time.Duration
		determined bool
	}{{100 * time.Millisecond, false}, {100 * time.Second, true}} {
		traffic := sim.Traffic{Hosts: linearHosts(2), Start: epoch, Span: c.span, Seed: 5, Links: []sim.Link{
			{From: 0, To: 1, Period: c.span / 100, Delay: quick, Back: &quick},
		}}
		s, p := solve(t, traffic, align.Options{})
		h := s.Hosts[1-s.References[0]]
		if h.Determined != c.determined {
			t.Errorf("span %v: determined %v, interval %.1f..%.1f ppm", c.span, h.Determined, h.SkewLow, h.SkewHigh)
		}
		truth := (1+traffic.Hosts[1].SkewPPM/1e6)/(1+traffic.Hosts[0].SkewPPM/1e6)*1e6 - 1e6
		if s.References[0] == 1 {
			truth = 1e12/(1e6+truth) - 1e6
		}
		if truth < h.SkewLow-1e-6 || truth > h.SkewHigh+1e-6 {
			t.Errorf("span %v: skew %.3f outside [%.3f %.3f]", c.span, truth, h.SkewLow, h.SkewHigh)
		}
		if c.determined && math.Abs(h.Skew-truth) > 2 {
			t.Errorf("span %v: skew %.3f, truth %.3f", c.span, h.Skew, truth)
		}
		checkTruth(t, traffic, s, p)
	}
}

func TestClocksThatAreNotLinearLeaveNoInversion(t *testing.T) {
	t.Parallel()
	hosts := linearHosts(2)
	hosts[1].Wave = sim.Wave{AmplitudePPM: 8, Period: 7 * time.Minute}
	traffic := sim.Traffic{Hosts: hosts, Start: epoch, Span: 20 * time.Minute, Seed: 6, Links: []sim.Link{
		{From: 0, To: 1, Period: 20 * time.Millisecond, Delay: quick, Back: &quick},
	}}
	s, p := solve(t, traffic, align.Options{})
	if s.Pairs[0].Estimate.Fit != pair.Fallback {
		t.Fatalf("fit %v: the wave of 8 ppm shows through delays of 50 µs", s.Pairs[0].Estimate.Fit)
	}
	if s.Quality.BeyondGranularity > 0 {
		t.Errorf("%d inversions", s.Quality.BeyondGranularity)
	}
	checkTruth(t, traffic, s, p)
}

func TestStraightEstimatesAreExactAtEpochNanoseconds(t *testing.T) {
	fixed := sim.Delay{Min: 100 * time.Microsecond}
	for _, start := range []clock.TimelineTime{0, epoch} {
		hosts := []sim.Clock{{Origin: start}, {Origin: start, OffsetNs: -7_000_000_000, SkewPPM: 4350}}
		traffic := sim.Traffic{Hosts: hosts, Start: start, Span: 46 * time.Second, Seed: 7, Links: []sim.Link{
			{From: 0, To: 1, Period: 100 * time.Millisecond, Delay: fixed, Back: &fixed},
		}}
		for _, method := range []string{"envelope", "hull", "corridor", "regression", "regression-filtered", "lts", "two-point"} {
			s, p := solve(t, traffic, align.Options{Method: method, Reference: "host0"})
			worst := int64(0)
			for _, ch := range p.Channels {
				for _, m := range ch.Messages {
					stamp := m.Sent
					if ch.From == 0 {
						stamp = m.Received
					}
					worst = max(worst, max(int64(s.Maps[1].At(stamp)-traffic.On(0, 1, stamp)), int64(traffic.On(0, 1, stamp)-s.Maps[1].At(stamp))))
				}
			}
			if worst > 1000 {
				t.Errorf("%s from %d: worst error %d ns with equal delays both ways and 200 ms of deviation", method, start, worst)
			}
		}
	}
}

func TestUnknownMethodAndReferenceAreNamedWithWhatThereIs(t *testing.T) {
	p := &trace.Problem{Clocks: []trace.Clock{{Name: "web"}, {Name: "db"}}}
	for _, o := range []align.Options{{Method: "magic"}, {Reference: "cache"}} {
		if _, err := align.Solve(context.Background(), p, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestHostsWithTwoClocksAreBoundedThroughBoth(t *testing.T) {
	// db sees web's sent packets by one clock and answers to another: each direction alone bounds nothing.
	hosts := []sim.Clock{
		{Origin: epoch, SkewPPM: 12},                               // web
		{Origin: epoch, OffsetNs: 37_000_000_000, SkewPPM: -8},     // web/rx
		{Origin: epoch, OffsetNs: -2_500_000_000, SkewPPM: 35},     // db
		{Origin: epoch, OffsetNs: 1_000_000_000_000, SkewPPM: -31}, // cache, behind db
	}
	turn := sim.Delay{Min: 5 * time.Microsecond, Jitter: 20 * time.Microsecond}
	traffic := sim.Traffic{Hosts: hosts, Start: epoch, Span: 90 * time.Second, Seed: 8, Links: []sim.Link{
		{From: 0, To: 2, Period: 20 * time.Millisecond, Delay: quick},
		{From: 2, To: 1, Period: 20 * time.Millisecond, Delay: quick},
		{From: 1, To: 0, Period: 20 * time.Millisecond, Delay: turn},
		{From: 0, To: 1, Period: 20 * time.Millisecond, Delay: sim.Delay{Min: 120 * time.Microsecond, Jitter: 20 * time.Microsecond}},
		{From: 2, To: 3, Period: 20 * time.Millisecond, Delay: quick, Back: &quick},
	}}
	p, _ := traffic.Generate()
	p.Clocks[0].Host, p.Clocks[1].Host, p.Clocks[1].Name = "web", "web", "web/rx"
	s, err := align.Solve(context.Background(), &p, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.References) != 1 || s.Quality.BeyondGranularity > 0 {
		t.Errorf("%d components, %d inversions", len(s.References), s.Quality.BeyondGranularity)
	}
	if worst := checkTruth(t, traffic, s, &p); worst > 200_000 {
		t.Errorf("worst error %d ns", worst)
	}
}
