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

// probed draws the messages of probes between two clocks that are right, as a recording of three seconds has them: four in 100 µs, fifty
// times a second. The stamps of the first quarter of a second are better known than those behind.
func probed(r *rand.Rand) []trace.Message {
	var out []trace.Message
	for x := 0.0; x < 2.8e9; x += 20e6 + 1e6*r.Float64() {
		for range 2 {
			at := x + 1e5*r.Float64()
			delay := 1200 + 30*r.ExpFloat64()
			if at > 0.25e9 {
				delay += 530
			}
			if r.IntN(3) > 0 {
				delay += 700 * r.ExpFloat64()
			}
			out = append(out, trace.Message{Sent: clock.HostTime(at), Received: clock.HostTime(at + delay)})
		}
	}
	return out
}

// unknown is a stretch at the beginning of the messages in which nothing bounds how a clock bends, though it does not bend.
var unknown = []envelope.Stretch{{From: -1000, To: 267e6, Wander: math.Inf(1)}}

// mostOff is how far off a curve may be there, ns: some round trips. Curves that ran away were off by milliseconds to hours.
const mostOff = 20_000

// farthest returns how far a curve that should be the identity leaves it, ns.
func farthest(c clock.PairCurve) (most int64) {
	for x := clock.HostTime(0); x < 2.8e9; x += 1e6 {
		most = max(most, clock.Sub(c.At(x, clock.Nearest), x), clock.Sub(x, c.At(x, clock.Nearest)))
	}
	return most
}

func TestCurveDoesNotRunAwayWhereNothingBoundsItsBends(t *testing.T) {
	none := 0
	for seed := range uint64(testneed.Cases(60)) {
		r := rand.New(rand.NewPCG(seed, 21))
		p := &pair.Problem{AB: pair.Messages{probed(r)}, BA: pair.Messages{probed(r)}}
		s, ok := envelope.Pair(p, unknown...)
		if !ok {
			none++
			continue
		}
		if off := farthest(s.Curve); off > mostOff {
			t.Errorf("seed %d: the curve is off by %d ns", seed, off)
		}
	}
	if none == testneed.Cases(60) {
		t.Error("no curve at all")
	}
}

func TestCurvesOfANetworkDoNotRunAwayWhereNothingBoundsTheirBends(t *testing.T) {
	none := 0
	for seed := range uint64(testneed.Cases(60)) {
		r := rand.New(rand.NewPCG(seed, 22))
		n := &envelope.Network{Sigma: []float64{1e-8, 1e-8, 1e-8}, Stretches: [][]envelope.Stretch{unknown, nil, nil}}
		for i := range 3 {
			n.Clocks = append(n.Clocks, trace.Clock{First: 0, Last: 2.8e9, Granularity: 1})
			n.Start = append(n.Start, clock.PairIdentity().Mid)
			for k := range 3 {
				if k != i {
					n.Channels = append(n.Channels, trace.Channel{From: i, To: k, Messages: probed(r)})
				}
			}
		}
		j, err := envelope.Joint(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		if j == nil {
			none++
			continue
		}
		for c := range j.Curves {
			if off := farthest(j.Curves[c]); off > mostOff {
				t.Errorf("seed %d: curve %d is off by %d ns", seed, c, off)
			}
		}
	}
	if none > testneed.Cases(60)/2 {
		t.Errorf("no curves at all in %d cases", none)
	}
}
