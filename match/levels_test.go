package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestWhatPacketsTakeIsCutWhereItStaysElsewhere(t *testing.T) {
	const minute = 60_000_000_000
	const jitter = 50_000
	steady := func(int) int64 { return 0 }
	from := func(begin int, by int64) func(int) int64 {
		return func(i int) int64 {
			if i >= begin {
				return by
			}
			return 0
		}
	}
	only := func(by int64, places ...int) func(int) int64 {
		return func(i int) int64 {
			if slices.Contains(places, i) {
				return by
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		at   func(i int) int64
		want []int
	}{
		"steady":                      {steady, []int{100}},
		"set after seven":             {from(7, minute), []int{7, 100}},
		"set back after seven":        {from(7, -minute), []int{7, 100}},
		"set before the last three":   {from(97, minute), []int{97, 100}},
		"three before":                {from(3, minute), []int{3, 100}},
		"two before":                  {from(2, minute), []int{100}},
		"two behind":                  {from(98, minute), []int{100}},
		"by less than what is far":    {from(50, minFar/4), []int{100}},
		"a few that took longer":      {only(minute, 0, 10, 11, 50, 99), []int{100}},
		"three in a row, then back":   {only(minute, 50, 51, 52), []int{50, 53, 100}},
		"three that do not agree":     {func(i int) int64 { return only(minute, 50, 51, 52)(i) * int64(i) }, []int{100}},
		"set twice":                   {func(i int) int64 { return from(20, minute)(i) - from(60, 2*minute)(i) }, []int{20, 60, 100}},
		"one late behind a step":      {func(i int) int64 { return from(20, minute)(i) + only(minute, 21)(i) }, []int{22, 100}},
		"one late as the clock steps": {func(i int) int64 { return from(20, minute)(i) + only(minute, 20)(i) }, []int{21, 100}},
	} {
		for _, ppm := range []int64{0, 400, -400} {
			r := rand.New(rand.NewPCG(1, 2))
			var sample []knot
			for i := range 100 {
				at := int64(i)*300_000_000 + r.Int64N(200_000_000)
				sample = append(sample, knot{at: at, took: -5_000_000 + at/1_000_000*ppm + r.Int64N(jitter) + c.at(i)})
			}
			if got := cutAtLevels(sample); !slices.Equal(got, c.want) {
				t.Errorf("%s, %d ppm: levels end at %v, want %v", name, ppm, got, c.want)
			}
		}
	}
	if got := cutAtLevels([]knot{{took: 5}}); !slices.Equal(got, []int{1}) {
		t.Errorf("one: %v", got)
	}
}

// Where packets were missed, those on one side of a step must not be left out as far from the usual: they show the step.
func TestPacketsOnBothSidesOfAStepAreMatchedWherePacketsWereMissed(t *testing.T) {
	for _, before := range []int{7, 93, 400} {
		for _, set := range []int64{1_500_000_000, 60_000_000_000} {
			r := rand.New(rand.NewPCG(3, 4))
			w := newWorld(0)
			const all = 800
			want := [2]int{}
			for i := range all {
				side := 0
				if i >= min(before, all-before) {
					side, w.offset = 1, set
				}
				at := clock.HostTime(i) * 50_000_000
				for _, fromA := range []bool{true, false} {
					p := trace.Packet{Kind: trace.Datagram, Time: at, Digest: r.Uint32(), Length: 64, ID: uint16(r.Uint32())}
					if i%50 == 3 { // the sender's capture or the other misses it
						w.record(fromA == (i%100 == 3), protocolUDP, addrA, addrB, p)
						continue
					}
					at = w.pass(fromA, protocolUDP, p, 100_000+r.Int64N(20_000)) + 50_000
					want[side]++
				}
			}
			ab, ba, _, warnings := w.match(t, Options{})
			got := [2]int{}
			for _, m := range slices.Concat(ab, ba) {
				if d := int64(max(m.Received, m.Sent) - min(m.Received, m.Sent)); d > set/2 {
					got[1]++
				} else {
					got[0]++
				}
			}
			if got[0] < want[0]*9/10 || got[1] < want[1]*9/10 {
				t.Errorf("set by %d after %d: %v messages before and behind, of %v: %q", set, before, got, want, warnings)
			}
		}
	}
}
