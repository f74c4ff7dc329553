package bound

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/corpus"
	"meridian/trace"
)

// steeredClock is the offset of a clock that a daemon steers, ns, at every second of true time. Between them it is straight.
type steeredClock []float64

// chronydClock reads the offsets of a client of a real chronyd: client 1 or 2 of a network.
func chronydClock(t testing.TB, network string, client int) steeredClock {
	f, err := os.Open(corpus.Trace(t, "../disciplined/"+network+".offset.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out steeredClock
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		var v [3]float64
		if _, err := fmt.Sscan(lines.Text(), &v[0], &v[1], &v[2]); err != nil {
			t.Fatal(err)
		}
		out = append(out, v[client]*1e9)
	}
	if lines.Err() != nil || len(out) < 2 {
		t.Fatal(len(out), lines.Err())
	}
	return out
}

func (c steeredClock) at(x float64) float64 {
	s := x / 1e9
	i := min(max(int(s), 0), len(c)-2)
	return c[i] + (c[i+1]-c[i])*(s-float64(i))
}

// talk is messages between a true clock and another one.
type talk struct {
	there, back float64 // least delays, ns
	jitter      float64 // mean of what queues add, ns
	perSecond   float64
	from, to    int // seconds of true time
}

// problem draws messages at random instants.
func (k *talk) problem(c steeredClock, r *rand.Rand) *pair.Problem {
	var ab, ba []trace.Message
	for x := float64(k.from) * 1e9; x < float64(k.to)*1e9; x += r.ExpFloat64() * 1e9 / k.perSecond {
		if r.IntN(2) == 0 {
			d := k.there + k.jitter*r.ExpFloat64()
			ab = append(ab, trace.Message{Sent: clock.HostTime(x), Received: clock.HostTime(x + d + c.at(x+d))})
		} else {
			d := k.back + k.jitter*r.ExpFloat64()
			ba = append(ba, trace.Message{Sent: clock.HostTime(x - d + c.at(x-d)), Received: clock.HostTime(x)})
		}
	}
	return &pair.Problem{A: trace.Clock{Granularity: 1}, B: trace.Clock{Granularity: 1}, AB: pair.Messages{ab}, BA: pair.Messages{ba}}
}

// TestClocksThatChronydSteersStayWithinTheirBounds asks two clients of a real chronyd, from its start on and in steady state.
func TestClocksThatChronydSteersStayWithinTheirBounds(t *testing.T) {
	lan, wan := talk{there: 30e3, back: 30e3, jitter: 20e3}, talk{there: 5e6, back: 5e6, jitter: 1e6}
	unequal := talk{there: 15e3, back: 45e3, jitter: 20e3}
	for _, test := range []struct {
		network  string
		client   int
		talk     talk
		rate     float64
		from, to int
		widest   float64 // median width in least round trips
		long     bool
	}{
		{"lan", 1, lan, 10, 0, 1800, 1.1, false},
		{"lan", 1, lan, 10, 0, 14400, 1.06, true},
		{"lan", 2, lan, 1, 0, 14400, 1.2, true},
		{"lan", 2, lan, 100, 0, 1200, 1.06, true},
		{"lan", 2, unequal, 10, 0, 14400, 1.06, true},
		{"lan", 1, unequal, 10, 7200, 10800, 1.06, true},
		{"wan", 1, wan, 10, 0, 14400, 1.02, true},
		{"wan", 2, wan, 1, 0, 14400, 1.03, true},
	} {
		if test.long && testing.Short() {
			continue
		}
		test.talk.perSecond, test.talk.from, test.talk.to = test.rate, test.from, test.to
		t.Run(fmt.Sprintf("%s %d, %g a second, %d to %d s", test.network, test.client, test.rate, test.from, test.to), func(t *testing.T) {
			c := chronydClock(t, test.network, test.client)
			r := rand.New(rand.NewPCG(11, uint64(test.from)))
			p := test.talk.problem(c, r)
			low, high, ok := New(p, Default, Bends(p, Default)...).Curves(clock.HostTime(test.from)*1e9, clock.HostTime(test.to)*1e9)
			if !ok {
				t.Fatal("the messages contradict what they show")
			}
			var widths []int64
			for range 20_000 {
				at := clock.HostTime((float64(test.from) + 2 + r.Float64()*float64(test.to-test.from-4)) * 1e9)
				truth := at + clock.HostTime(c.at(float64(at)))
				l, h := low.At(at, clock.Down), high.At(at, clock.Up)
				if truth < l-1 || truth > h+1 {
					t.Fatalf("at %v the truth is %d ns below or %d ns above its bounds", at, l-truth, truth-h)
				}
				widths = append(widths, int64(h-l))
			}
			slices.Sort(widths)
			if w := float64(widths[len(widths)/2]) / (test.talk.there + test.talk.back); w > test.widest {
				t.Errorf("the median interval is %.3f least round trips wide", w)
			}
		})
	}
}
