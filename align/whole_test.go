package align_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"meridian/align"
	"meridian/align/sampled"
	"meridian/clock"
	"meridian/trace"
)

// shows is what one of several linear clocks shows at an instant of the first: clock i is i seconds and 10 i ppm ahead.
func shows(i int, at int64) clock.HostTime {
	return clock.HostTime(epoch + at + int64(i)*(1_000_000_000+at/100_000))
}

// The methods that place all clocks themselves know the reference's time from events that are no messages.
func TestBroadcastsPlaceAllThatHeardThem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	p := &trace.Problem{}
	for i := range 5 {
		p.Clocks = append(p.Clocks, trace.Clock{Name: fmt.Sprint("host", i), Host: fmt.Sprint("host", i), Granularity: 1, First: shows(i, 0), Last: shows(i, 100e9)})
	}
	for at := int64(0); at <= 100e9; at += 1e9 {
		var b, apart trace.Broadcast
		for i := range 3 {
			b.Receptions = append(b.Receptions, trace.Stamp{Clock: i, Time: shows(i, at+int64(random.ExpFloat64()*1000))})
		}
		apart.Receptions = []trace.Stamp{{Clock: 3, Time: shows(3, at)}, {Clock: 4, Time: shows(4, at)}}
		p.Broadcasts = append(p.Broadcasts, b, apart)
	}
	for _, reference := range []int{0, 2} {
		s, err := align.Solve(context.Background(), p, align.Options{Method: "broadcast", Reference: p.Clocks[reference].Name})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{reference, reference, reference, 3, 3} {
			if got := s.Reference(i); got != want {
				t.Errorf("host%d follows host%d instead of host%d", i, got, want)
				continue
			}
			for _, at := range []int64{0, 33e9, 100e9} {
				truth := clock.TimelineTime(shows(want, at))
				if off := int64(s.Maps[i].At(shows(i, at)) - truth); off < -2000 || off > 2000 {
					t.Errorf("host%d is %d ns off at %d", i, off, at)
				}
			}
			// Skew is against the clock that is followed.
			want := (1 + float64(i)*1e-5) / (1 + float64(want)*1e-5)
			if skew := s.Hosts[i].Skew; math.Abs(skew-(want-1)*1e6) > 0.1 {
				t.Errorf("host%d runs by %g ppm", i, skew)
			}
			if s.Hosts[i].Bounded && s.Parent[i] != i {
				t.Errorf("host%d is bounded by broadcasts, which bound nothing", i)
			}
		}
	}
	p.Broadcasts = nil
	if _, err := align.Solve(context.Background(), p, align.Options{Method: "broadcast"}); err == nil || !strings.Contains(err.Error(), "needs broadcasts") {
		t.Error(err)
	}
}

func TestSamplesPlaceClocksOnTheReferenceWithinTheirErrors(t *testing.T) {
	p := sampledClocks()
	for mode, bounded := range map[sampled.Mode]bool{sampled.Between: true, sampled.Both: true, sampled.Before: false, sampled.After: false} {
		s, err := align.Solve(context.Background(), p, align.Options{Method: "sampled", Samples: mode})
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Clocks {
			for _, at := range []int64{0, 55e9, 100e9} {
				low, high, lowOK, highOK := s.Maps[i].Bounds(shows(i, at))
				if i > 0 && (lowOK && highOK) != bounded {
					t.Errorf("%v: host%d is bounded: %t and %t", mode, i, lowOK, highOK)
				}
				if truth := clock.TimelineTime(shows(0, at)); lowOK && truth < low || highOK && truth > high {
					t.Errorf("%v: host%d: truth %d outside [%d %d]", mode, i, truth, int64(low-truth), int64(high-truth))
				}
			}
		}
		if bounded && !strings.Contains(s.Assumption, "linear from one sample") {
			t.Errorf("%v: the bounds assume %q", mode, s.Assumption)
		}
	}
}

// sampledClocks is a reference and two clocks with a sample every ten seconds.
func sampledClocks() *trace.Problem {
	p := &trace.Problem{}
	for i := range 3 {
		p.Clocks = append(p.Clocks, trace.Clock{Name: fmt.Sprint("host", i), Host: fmt.Sprint("host", i), Granularity: 1, First: shows(i, 0), Last: shows(i, 100e9)})
	}
	for at := int64(0); at <= 100e9; at += 10e9 {
		for i := 1; i < 3; i++ {
			p.Samples = append(p.Samples, trace.Sample{Clock: i, Against: 0, Host: shows(i, at), Reference: shows(0, at) + clock.HostTime(at/1e9%7*100-300), Error: 500})
		}
	}
	return p
}

// A sampled clock may be steered: then its samples are moved to the free clock, and their errors grow by that of the way there.
func TestSamplesOfASteeredClockGrowByTheErrorOfItsFreeOne(t *testing.T) {
	p := sampledClocks()
	const e = 700
	free := &clock.PairMap{}
	for _, at := range []int64{-1e9, 40e9, 101e9} {
		k := clock.PairKnot{X: shows(1, at), Y: shows(1, at) + 5_000_000_000}
		free.Mid = append(free.Mid, k)
		free.Low = append(free.Low, clock.PairKnot{X: k.X, Y: k.Y - e})
		free.High = append(free.High, clock.PairKnot{X: k.X, Y: k.Y + e})
	}
	p.Clocks[1].Free = free
	s, err := align.Solve(context.Background(), p, align.Options{Method: "sampled"})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 55e9, 100e9} {
		low, high, lowOK, highOK := s.Maps[1].Bounds(shows(1, at))
		if truth := clock.TimelineTime(shows(0, at)); !lowOK || !highOK || truth < low || truth > high {
			t.Errorf("truth %d outside [%d %d]", truth, int64(low-truth), int64(high-truth))
		}
		if width := int64(high - low); width < 2*(500+e) || width > 2*(500+2*e)+100 {
			t.Errorf("bounds %d ns apart", width)
		}
	}
}

func TestSamplesThatCannotPlaceAClockAreRefused(t *testing.T) {
	for want, change := range map[string]func(p *trace.Problem){
		"needs samples":      func(p *trace.Problem) { p.Samples = nil },
		"has samples itself": func(p *trace.Problem) { p.Samples[0].Against = 2 },
		"host1":              func(p *trace.Problem) { p.Samples[0].Reference += 1e9 * 60 },
	} {
		p := sampledClocks()
		change(p)
		if _, err := align.Solve(context.Background(), p, align.Options{Method: "sampled"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
