package envelope_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/trace"
)

// slewed is a clock that is 0 off but for a slew: by 40 µs within two seconds, as a daemon does that corrects an offset, and half
// of it back a minute later.
func slewed(x float64) float64 {
	ramp := func(from, long, by float64) float64 { return by * min(max((x-from*1e9)/(long*1e9), 0), 1) }
	return ramp(100, 2, 40_000) - ramp(160, 2, 20_000)
}

// slewStretches are the times around the slews.
var slewStretches = []envelope.Stretch{{From: 96e9, To: 106e9, Wander: 50_000}, {From: 156e9, To: 166e9, Wander: 50_000}}

const slewSpan = 300e9 // ns

// slewMessages draws messages of one second's mean distance between two clocks, one or both of them right.
func slewMessages(r *rand.Rand, from, to func(x float64) float64) []trace.Message {
	var out []trace.Message
	for x := r.ExpFloat64() * 2e8; x < slewSpan; x += r.ExpFloat64() * 2e8 {
		arrived := x + 30_000 + 10_000*r.ExpFloat64()
		out = append(out, trace.Message{Sent: clock.HostTime(x + from(x)), Received: clock.HostTime(arrived + to(arrived))})
	}
	return out
}

func right(float64) float64 { return 0 }

// slewErrors returns the root mean square of a curve's error and the share of instants within two deviations, in the
// stretches and outside.
func slewErrors(curve clock.PairCurve, d []pair.Deviation, truth func(a clock.HostTime) float64) (rms, within [2]float64) {
	var n [2]float64
	next := 0
	for x := 2e9; x < slewSpan-2e9; x += 1e8 {
		a := clock.HostTime(x)
		i := 1
		for _, s := range slewStretches {
			if a >= s.From && a <= s.To {
				i = 0
			}
		}
		for next+1 < len(d)-1 && d[next+1].Host < a {
			next++
		}
		miss := float64(curve.At(a, clock.Nearest)) - truth(a)
		n[i]++
		rms[i] += miss * miss
		if math.Abs(miss) <= 2*max(d[next].Ns, d[next+1].Ns) {
			within[i]++
		}
	}
	for i := range rms {
		rms[i], within[i] = math.Sqrt(rms[i]/n[i]), within[i]/n[i]
	}
	return rms, within
}

func TestClockIsFollowedThroughItsSlews(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	p := &pair.Problem{AB: pair.Messages{slewMessages(r, right, slewed)}, BA: pair.Messages{slewMessages(r, slewed, right)}}
	truth := func(a clock.HostTime) float64 { return float64(a) + slewed(float64(a)) }
	s, ok := envelope.Pair(p, slewStretches...)
	if !ok {
		t.Fatal("no curve")
	}
	rms, within := slewErrors(s.Curve, s.Deviation, truth)
	if rms[0] > 6000 || rms[1] > 1000 {
		t.Errorf("error %.0f ns in the slews and %.0f ns outside", rms[0], rms[1])
	}
	if within[0] < 0.85 || within[1] < 0.85 {
		t.Errorf("within two deviations %.0f%% in the slews and %.0f%% outside", 100*within[0], 100*within[1])
	}
	if len(s.Routes) > 0 {
		t.Errorf("routes that did not change: %+v", s.Routes)
	}
	blind, ok := envelope.Pair(p)
	if !ok {
		t.Fatal("no curve")
	}
	if worse, _ := slewErrors(blind.Curve, blind.Deviation, truth); worse[1] < 2*rms[1] {
		t.Errorf("without the stretches the error outside of them is %.0f ns, with them %.0f ns: they tell nothing", worse[1], rms[1])
	}
}

func TestClocksOfANetworkAreFollowedThroughTheirSlews(t *testing.T) {
	// Three clocks, all talk to all; the second is slewed.
	r := rand.New(rand.NewPCG(2, 3))
	clocks := []func(float64) float64{right, slewed, right}
	n := &envelope.Network{Sigma: []float64{1e-9, 1e-9, 1e-9}, Stretches: [][]envelope.Stretch{nil, slewStretches, nil}}
	for i := range clocks {
		n.Clocks = append(n.Clocks, trace.Clock{First: 0, Last: slewSpan, Granularity: 1})
		start := clock.PairIdentity().Mid
		if i == 1 { // near enough
			start = clock.PairCurve{{X: 0, Y: 0}, {X: 100e9, Y: 100e9}, {X: 102e9, Y: 102e9 - 40_000}, {X: 160e9, Y: 160e9 - 40_000},
				{X: 162e9, Y: 162e9 - 20_000}, {X: 300e9, Y: 300e9 - 20_000}}
		}
		n.Start = append(n.Start, start)
		for k := range clocks {
			if k != i {
				n.Channels = append(n.Channels, trace.Channel{From: i, To: k, Messages: slewMessages(r, clocks[i], clocks[k])})
			}
		}
	}
	j, err := envelope.Joint(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	rms, within := slewErrors(j.Curves[1], j.Deviation[1], func(a clock.HostTime) float64 { return float64(a) - slewed(float64(a)) })
	if rms[0] > 6000 || rms[1] > 1000 {
		t.Errorf("error %.0f ns in the slews and %.0f ns outside", rms[0], rms[1])
	}
	if within[0] < 0.8 {
		t.Errorf("within two deviations %.0f%% in the slews", 100*within[0])
	}
	if len(j.Routes) > 0 {
		t.Errorf("routes that did not change: %+v", j.Routes)
	}
	rms, _ = slewErrors(j.Curves[2], j.Deviation[2], func(a clock.HostTime) float64 { return float64(a) })
	if rms[0] > 1000 || rms[1] > 1000 {
		t.Errorf("a clock that was not slewed is off by %.0f ns in the slews and %.0f ns outside", rms[0], rms[1])
	}
}

func TestWanderAboveWhatQuartzDoesIsFound(t *testing.T) {
	// Waves of 29 µs in a minute, and of 9.5 µs in 20 s: less than delays vary.
	for _, period := range []float64{60e9, 20e9} {
		wave := func(x float64) float64 { return 3e-6 * period / (2 * math.Pi) * math.Sin(2*math.Pi*x/period) }
		r := rand.New(rand.NewPCG(3, 3))
		p := &pair.Problem{AB: pair.Messages{slewMessages(r, right, wave)}, BA: pair.Messages{slewMessages(r, wave, right)}}
		s, ok := envelope.Pair(p)
		if !ok {
			t.Fatal("no curve")
		}
		if s.Sigma < 1e-7 {
			t.Errorf("wander %g per square root of a second", s.Sigma)
		}
		if rms, _ := slewErrors(s.Curve, s.Deviation, func(a clock.HostTime) float64 { return float64(a) + wave(float64(a)) }); rms[1] > 2000 {
			t.Errorf("error %.0f ns of a wave of %.0f", rms[1], wave(period/4))
		}
	}
}

func TestAnyStretchesLeaveACurve(t *testing.T) {
	for seed := range uint64(testneed.Cases(20)) {
		r := rand.New(rand.NewPCG(seed, 11))
		p := &pair.Problem{AB: pair.Messages{slewMessages(r, right, slewed)}, BA: pair.Messages{slewMessages(r, slewed, right)}}
		few := 16 + r.IntN(500)
		for _, way := range []pair.Messages{p.AB, p.BA} {
			r.Shuffle(len(way[0]), func(i, k int) { way[0][i], way[0][k] = way[0][k], way[0][i] })
			way[0] = way[0][:min(few, len(way[0]))]
			if at := clock.HostTime(r.Float64() * slewSpan); seed%2 == 0 { // a route that changes
				for i := range way[0] {
					if way[0][i].Received > at {
						way[0][i].Received += 300_000
					}
				}
			}
		}
		var stretches []envelope.Stretch
		for range 1 + r.IntN(4) {
			from := clock.HostTime((1.2*r.Float64() - 0.1) * slewSpan)
			s := envelope.Stretch{From: from, To: from + clock.HostTime(r.ExpFloat64()*slewSpan/3), Wander: math.Pow(10, 1+8*r.Float64())}
			if r.IntN(4) == 0 {
				s.Wander = math.Inf(1)
			}
			stretches = append(stretches, s)
		}
		s, ok := envelope.Pair(p, stretches...)
		if !ok {
			t.Fatalf("seed %d: no curve", seed)
		}
		if err := s.Curve.Check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, d := range s.Deviation {
			if !(d.Ns > 0) || math.IsInf(d.Ns, 0) {
				t.Fatalf("seed %d: deviation %v", seed, d)
			}
		}
	}
}
