package bound

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/corpus"
	"meridian/trace"
)

// steeredClock is the offset of a clock that a daemon steers, ns, at every second of true time. Between them it is straight.
type steeredClock []float64

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
			c := steeredClock(corpus.ChronydOffsets(t, test.network)[test.client])
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

// A trace that begins while its clock is slewed leaves a single segment, which holds no message of the slew.
func TestSlewsAtTheEndsOfATraceAreInNoSegment(t *testing.T) {
	for name, at := range map[string]func(x float64) float64{
		"first": func(x float64) float64 { return 10e6 * math.Exp(-x/1e9) },
		"last":  func(x float64) float64 { return 10e6 * math.Exp((x-600e9)/1e9) },
	} {
		c := make(steeredClock, 602)
		for i := range c {
			c[i] = at(float64(i) * 1e9)
		}
		k := talk{there: 5e6, back: 5e6, jitter: 1e6, perSecond: 100, from: 0, to: 600}
		p := k.problem(c, rand.New(rand.NewPCG(6, 0)))
		corridor := New(p, Default, Bends(p, Default)...)
		if len(corridor.segments) != 1 || math.IsInf(corridor.segments[0].from, -1) == (name == "first") {
			t.Fatalf("%s: %d segments", name, len(corridor.segments))
		}
		for x := 3e9; x < 597e9; x += 1e9 / 7 {
			low, high, _, _, ok := corridor.At(clock.HostTime(x))
			if truth := clock.HostTime(x + c.at(x)); !ok || low > truth+1 || high < truth-1 {
				t.Fatalf("%s: at %.3f s the truth lies %d ns above the lower bound and %d ns below the upper one", name, x/1e9, truth-low, high-truth)
			}
		}
	}
}

var everySteered = flag.Bool("every-steered", false, "ask every hour of clocks that are steered, over all delays and rates")

// daemonClock is a clock that a daemon corrects at every poll, with a sample a hundred times finer than the real ones have: it slews
// what it measured at a rate that pays it within a fifteenth of the poll, at 83,333 ppm at most, and corrects the frequency.
func daemonClock(seed uint64, seconds int, offset float64) steeredClock {
	r := rand.New(rand.NewPCG(seed, 99))
	poll := float64(int(16) << r.IntN(3))
	out := make(steeredClock, seconds+2)
	x, skew, frequency, left, rate := offset, 20e3*r.NormFloat64(), 0.0, 0.0, 0.0 // ns, ns/s
	for i := range out {
		out[i] = x
		if i%int(poll) == 0 {
			left = -x + 2e3*r.NormFloat64()
			if left = min(max(left, -5e8), 5e8); i > 0 {
				frequency += left / poll / 4
			}
			rate = math.Copysign(min(max(math.Abs(left)/(poll/15), 1), 83_333e3), left)
		}
		pay := math.Copysign(min(math.Abs(rate), math.Abs(left)), left)
		left -= pay
		x += skew + frequency + pay
		skew += r.NormFloat64()
	}
	return out
}

// TestEveryHourOfSteeredClocks is the whole of the test above: make steered runs it.
func TestEveryHourOfSteeredClocks(t *testing.T) {
	hours, rates := 4, []float64{1, 10, 100}
	if !*everySteered { // make steered asks all
		hours, rates = 1, []float64{10}
	}
	type clocked struct {
		name string
		steeredClock
	}
	clocks := []clocked{}
	for _, network := range []string{"lan", "wan"} {
		for client := 1; client <= 2; client++ {
			clocks = append(clocks, clocked{fmt.Sprintf("chronyd %s %d", network, client), steeredClock(corpus.ChronydOffsets(t, network)[client])})
		}
	}
	for seed := range uint64(4) {
		clocks = append(clocks, clocked{fmt.Sprintf("daemon %d", seed), daemonClock(seed, 14_400, 1e6*math.Pow(10, float64(seed)/2))})
	}
	delays := []struct {
		name string
		talk
	}{
		{"LAN 30:30 us", talk{there: 30e3, back: 30e3, jitter: 20e3}}, {"LAN 15:45 us", talk{there: 15e3, back: 45e3, jitter: 20e3}},
		{"cloud 300:300 us", talk{there: 300e3, back: 300e3, jitter: 100e3}}, {"cloud 150:450 us", talk{there: 150e3, back: 450e3, jitter: 100e3}},
		{"WAN 5:5 ms", talk{there: 5e6, back: 5e6, jitter: 1e6}}, {"WAN 2.5:7.5 ms", talk{there: 2.5e6, back: 7.5e6, jitter: 1e6}},
	}
	if !*everySteered {
		clocks, delays = clocks[:1], delays[1:3]
	}
	asked, outside := map[float64]int{}, map[float64]int{}
	largest := map[float64]int64{}
	for _, d := range delays {
		for _, rate := range rates {
			var widths []float64
			out, n := 0, 0
			for k, c := range clocks {
				for hour := range hours {
					talk := d.talk
					talk.perSecond, talk.from, talk.to = rate, hour*3600, (hour+1)*3600
					r := rand.New(rand.NewPCG(uint64(k), uint64(hour)))
					p := talk.problem(c.steeredClock, r)
					low, high, ok := New(p, Default, Bends(p, Default)...).Curves(clock.HostTime(talk.from)*1e9, clock.HostTime(talk.to)*1e9)
					if !ok {
						t.Errorf("%s, %s, %g a second, hour %d: no bounds", c.name, d.name, rate, hour)
						continue
					}
					for range 5000 {
						at := clock.HostTime((float64(talk.from) + 2 + r.Float64()*float64(talk.to-talk.from-4)) * 1e9)
						truth := at + clock.HostTime(c.at(float64(at)))
						l, h := low.At(at, clock.Down), high.At(at, clock.Up)
						n++
						if by := max(int64(l-truth), int64(truth-h)); by > 1 {
							out++
							largest[rate] = max(largest[rate], by)
							t.Logf("outside by %d ns: %s, %s, %g a second, at %v", by, c.name, d.name, rate, at)
						}
						widths = append(widths, float64(h-l)/(talk.there+talk.back))
					}
				}
			}
			slices.Sort(widths)
			asked[rate], outside[rate] = asked[rate]+n, outside[rate]+out
			t.Logf("%-17s %4g/s: %d of %d instants outside; median width %.3f least round trips, 99%% below %.2f", d.name, rate, out, n, widths[n/2], widths[n*99/100])
			if rate == 10 && widths[n/2] > 1.2 {
				t.Errorf("%s: the median interval is %.3f least round trips wide", d.name, widths[n/2])
			}
		}
	}
	for rate, n := range asked {
		if rate > 1 && outside[rate] > 0 || outside[rate] > n/100_000 || largest[rate] > 5000 {
			t.Errorf("%g a second: %d of %d instants outside, by up to %d ns", rate, outside[rate], n, largest[rate])
		}
	}
}
