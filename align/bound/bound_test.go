package bound

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/corpus"
	"meridian/internal/testseed"
	"meridian/trace"
)

// drawn is a problem whose offset is known and keeps the assumption: a parabola with steps of less than epsilon.
type drawn struct {
	problem    pair.Problem
	assumption Assumption
	offset     func(t float64) float64 // of b against a, t ns after the origin
	origin     clock.HostTime
	span       int64
}

func draw(t *rapid.T) drawn {
	d := drawn{
		origin: clock.HostTime(rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000}).Draw(t, "origin")),
		span:   rapid.SampledFrom([]int64{1_000, 1_000_000_000, 3_600_000_000_000}).Draw(t, "span"),
		assumption: Assumption{
			Wander:  rapid.SampledFrom([]float64{0, 3, 30, 1000}).Draw(t, "wander"),
			Epsilon: rapid.SampledFrom([]float64{0, 100}).Draw(t, "epsilon"),
			MaxSkew: rapid.SampledFrom([]float64{0, 20_000}).Draw(t, "greatest skew"),
		},
	}
	base := rapid.Float64Range(-1e9, 1e9).Draw(t, "base")
	skew := rapid.Float64Range(-1e-4, 1e-4).Draw(t, "skew")
	bend := rapid.Float64Range(-1, 1).Draw(t, "bend") * d.assumption.curvature()
	step := rapid.Float64Range(0, 0.99).Draw(t, "step") * d.assumption.Epsilon
	d.offset = func(x float64) float64 {
		up := float64(int64(math.Floor(x/float64(d.span)*7)) & 1)
		return base + skew*x + bend*x*x/2 + step*up
	}
	steps, least := rapid.SampledFrom([]int64{0, 1, 1000}), rapid.SampledFrom([]int64{0, 0, 500})
	d.problem.A.Granularity, d.problem.B.Granularity = steps.Draw(t, "a's step"), steps.Draw(t, "b's step")
	d.problem.MinAB, d.problem.MinBA = least.Draw(t, "least there"), least.Draw(t, "least back")
	delays := rapid.SampledFrom([]float64{10, 1e5, 1e7}).Draw(t, "delays")
	d.problem.A.First, d.problem.A.Last = d.origin, d.origin+clock.HostTime(d.span)
	for range rapid.IntRange(1, 30).Draw(t, "n") {
		// On a grid: what lies a nanosecond apart and is carried on for seconds carries float64's last digits too.
		x := rapid.Int64Range(0, 100).Draw(t, "x") * (d.span / 100)
		y := d.origin + clock.HostTime(x) + clock.HostTime(math.Floor(d.offset(float64(x))))
		delay := clock.HostTime(rapid.Float64Range(0, delays).Draw(t, "delay"))
		if rapid.Bool().Draw(t, "there") {
			d.problem.AB = append(d.problem.AB, []trace.Message{{Sent: d.origin + clock.HostTime(x), Received: y + clock.HostTime(d.problem.MinAB) + delay}})
		} else {
			d.problem.BA = append(d.problem.BA, []trace.Message{{Sent: y - clock.HostTime(d.problem.MinBA) - delay, Received: d.origin + clock.HostTime(x)}})
		}
	}
	return d
}

// constraint is side*(v + slope*x) <= side*limit.
type constraint struct{ x, limit, side float64 }

// extremes solves one instant by brute force: of all points (v, y) where two constraints meet, those that break none.
func (d *drawn) extremes(t clock.HostTime) (low, high float64) {
	k, e := d.assumption.curvature(), d.assumption.Epsilon
	base := int64(d.offset(0)) // float64 keeps the last digits of small numbers only
	rate := MaxRate
	if d.assumption.MaxSkew > 0 {
		rate = d.assumption.MaxSkew / 1e6
	}
	floor := float64(max(d.problem.A.Granularity, 1)) // over a step of a's stamps the offset may fall
	if floor > 1 {
		floor *= 1 + rate
	}
	var all []constraint
	for m := range d.problem.AB.All() {
		x := float64(m.Sent - t)
		all = append(all, constraint{x, float64(int64(m.Received-m.Sent)-base) + float64(max(d.problem.B.Granularity, 1)-d.problem.MinAB) + e + k*x*x/2, 1})
	}
	for m := range d.problem.BA.All() {
		x := float64(m.Received - t)
		all = append(all, constraint{x, float64(int64(m.Sent-m.Received)-base) - floor + float64(d.problem.MinBA) - e - k*x*x/2, -1})
	}
	low, high = math.Inf(1), math.Inf(-1)
	consider := func(v, y float64) {
		for _, c := range all {
			if c.side*(v+y*c.x-c.limit) > 1e-6+1e-14*(math.Abs(c.limit)+math.Abs(y*c.x)+math.Abs(v)) {
				return
			}
		}
		low, high = min(low, v), max(high, v)
	}
	for i, c := range all {
		for _, y := range []float64{-rate, rate} {
			consider(c.limit-y*c.x, y)
		}
		if c.x == 0 {
			consider(c.limit, 0)
		}
		for _, o := range all[:i] {
			if c.x == o.x {
				continue
			}
			y := (c.limit - o.limit) / (c.x - o.x)
			if math.Abs(y) <= rate {
				consider(c.limit-y*c.x, y)
			}
		}
	}
	return low + float64(base), high + float64(base)
}

func TestBoundsAreTheExtremesOverAllLinesThatKeepTheAssumption(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		d := draw(t)
		c := New(&d.problem, d.assumption)
		for _, at := range []clock.HostTime{d.origin, d.origin + clock.HostTime(d.span/3), d.origin + clock.HostTime(d.span), d.origin + clock.HostTime(2*d.span)} {
			low, high, lowOK, highOK, ok := c.At(at)
			if !ok {
				t.Fatalf("at %d: messages of a clock within the assumption contradict it", int64(at-d.origin))
			}
			if lowOK != (len(d.problem.BA) > 0) || highOK != (len(d.problem.AB) > 0) {
				t.Fatalf("bounded %v %v with %d and %d messages", lowOK, highOK, len(d.problem.BA), len(d.problem.AB))
			}
			least, most := d.extremes(at)
			slack := 2 + 1e-9*float64(d.span)
			x := float64(at - c.middle)
			tightest, loosest := most, least // a greatest rate, and tangents elsewhere, may say more
			_, tangents := c.tangents(c.segment(x), x)
			if truth := d.offset(float64(at - d.origin)); tangents > 1 || c.segments[0].highest.at(x)+float64(c.base) < most || c.segments[0].lowest.at(x)+float64(c.base) > least {
				tightest, loosest = truth, truth
			}
			if highOK && (float64(high-at) < tightest-slack || float64(high-at) > most+slack) {
				t.Fatalf("at %d: high %d, brute force %.3f", int64(at-d.origin), int64(high-at), most)
			}
			if lowOK && (float64(low-at) > loosest+slack || float64(low-at) < least-slack) {
				t.Fatalf("at %d: low %d, brute force %.3f", int64(at-d.origin), int64(low-at), least)
			}
		}
	})
}

func TestCurvesHoldTheTruthBetweenTheirKnotsToo(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		d := draw(t)
		c := New(&d.problem, d.assumption)
		first, last := d.origin-clock.HostTime(d.span), d.origin+clock.HostTime(3*d.span)
		low, high, ok := c.Curves(first, last)
		if !ok {
			t.Fatal("messages of a clock within the assumption contradict it")
		}
		for range 40 {
			x := rapid.Int64Range(-d.span, 3*d.span).Draw(t, "instant")
			truth := d.origin + clock.HostTime(x) + clock.HostTime(math.Round(d.offset(float64(x))))
			if low != nil {
				if v := low.At(d.origin+clock.HostTime(x), clock.Down); v > truth+1 {
					t.Fatalf("%d ns after the origin: low is %d above the truth", x, int64(v-truth))
				}
			}
			if high != nil {
				if v := high.At(d.origin+clock.HostTime(x), clock.Up); v < truth-1 {
					t.Fatalf("%d ns after the origin: high is %d below the truth", x, int64(truth-v))
				}
			}
		}
		for _, curve := range []clock.PairCurve{low, high} {
			if curve != nil && curve.Check() != nil {
				t.Fatal(curve.Check())
			}
		}
	})
}

func TestLeastWanderIsTheSmallestThatTheMessagesAllow(t *testing.T) {
	// The offset bends by 500 ppb per second under delays of nothing: any smaller wander contradicts it.
	var p pair.Problem
	const bend = 500e-18
	for i := range int64(200) {
		x := clock.HostTime(i * 100_000_000)
		y := x + clock.HostTime(bend*float64(x)*float64(x)/2)
		p.AB = append(p.AB, []trace.Message{{Sent: x, Received: y + 1}})
		p.BA = append(p.BA, []trace.Message{{Sent: y - 1, Received: x}})
	}
	got := Least(&p, 0)
	if got < 450 || got > 510 {
		t.Errorf("least wander %g ppb/s of a clock that bends by 500", got)
	}
	p.AB = append(p.AB, []trace.Message{{Sent: 1000, Received: -1_000_000_000}}, []trace.Message{{Sent: 1001, Received: 1_000_000_000_000}})
	p.BA = append(p.BA, []trace.Message{{Sent: 1_000_000_000, Received: 1000}})
	if got := Least(&p, 0); !math.IsInf(got, 1) {
		t.Errorf("least wander %g ppb/s of messages that contradict each other at one instant", got)
	}
}

func TestWalksKeepTheAssumptionMadeOfThem(t *testing.T) {
	for _, sigma := range []float64{1e-10, 1e-9, 1e-8} {
		a := FromWalk(sigma, 5, 100)
		for s := 0.01; s < 1e4; s *= 1.1 {
			walk := 5 * sigma * 1e9 / math.Sqrt(3) * math.Pow(s, 1.5)
			if parabola := a.Epsilon + a.Wander*s*s/2; parabola < walk*(1-1e-9) {
				t.Errorf("sigma %g after %g s: %g ns of the walk, %g assumed", sigma, s, walk, parabola)
			}
		}
	}
	if a := FromWalk(1e-9, 5, 100); a.Wander < 0.83 || a.Wander > 0.84 {
		t.Errorf("a wander of %g ppb/s for a walk of 1e-9", a.Wander)
	}
}

func BenchmarkCurves(b *testing.B) {
	p := benchmarkProblem(100_000)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			New(p, Default)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200_000, "ns/message")
	})
	c := New(p, Default)
	b.Run("bound", func(b *testing.B) {
		t := clock.HostTime(0)
		for b.Loop() {
			t = clock.HostTime(int64(t+12_345_678_901) % 1_000_000_000_000)
			c.At(t)
		}
	})
}

// benchmarkProblem returns as many exchanges of quiet clocks, one every 10 ms.
func benchmarkProblem(exchanges int64) *pair.Problem {
	var there, back []trace.Message
	for i := range exchanges {
		x := clock.HostTime(i * 10_000_000)
		there = append(there, trace.Message{Sent: x, Received: x + 30_000 + clock.HostTime(i*7919%40_000)})
		back = append(back, trace.Message{Sent: x, Received: x + 30_000 + clock.HostTime(i*6133%40_000)})
	}
	return &pair.Problem{AB: pair.Messages{there}, BA: pair.Messages{back}}
}

// BenchmarkBounds is all that the bounds of a pair cost: where its clocks bend, the corridor and its curves.
func BenchmarkBounds(b *testing.B) {
	steered := talk{there: 30e3, back: 30e3, jitter: 20e3, perSecond: 10, to: 14400}
	for name, p := range map[string]*pair.Problem{
		"quiet 100000 exchanges": benchmarkProblem(100_000),
		"quiet 4 h":              steered.problem(make(steeredClock, steered.to+2), rand.New(rand.NewPCG(1, 2))),
		"steered 4 h":            steered.problem(corpus.ChronydOffsets(b, "lan")[1], rand.New(rand.NewPCG(11, 0))),
	} {
		first, last := New(p, Default).Extent()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(p, Default, Bends(p, Default)...).Curves(first, last)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.AB.Len()+p.BA.Len()), "ns/message")
		})
	}
}

func TestBoundsNeverRunTowardsEachOtherBeyondTheirEnds(t *testing.T) {
	const second = int64(1_000_000_000)
	p := &pair.Problem{}
	for x := clock.HostTime(0); x <= clock.HostTime(60*second); x += clock.HostTime(10 * second) {
		p.AB = append(p.AB, []trace.Message{{Sent: x, Received: x + 50_000}})
		p.BA = append(p.BA, []trace.Message{{Sent: x, Received: x + 50_000}})
	}
	c := New(p, Default)
	// However far they reach: the last of ever longer pieces may be of any length.
	for reach := clock.HostTime(20 * second); reach < clock.HostTime(200*second); reach += 37_000_001 {
		low, high, ok := c.Curves(-reach, clock.HostTime(60*second)+reach)
		if !ok {
			t.Fatal("linear clocks contradict the assumption")
		}
		m := clock.PairMap{Low: low, High: high}
		width := func(x clock.HostTime) int64 {
			l, h, _, _ := m.Bounds(x)
			return int64(h - l)
		}
		for _, end := range []clock.HostTime{-reach, clock.HostTime(60*second) + reach} {
			beyond := end + clock.HostTime(60*second)
			if end < 0 {
				beyond = end - clock.HostTime(60*second)
			}
			if w, further := width(end), width(beyond); further < w {
				t.Fatalf("%d ns wide at %d, where they end, and %d ns at %d", w, end, further, beyond)
			}
		}
	}
}

func TestBoundsNeverRunTowardsEachOtherBeyondAStretchInWhichAClockBends(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		d := draw(t)
		c := New(&d.problem, d.assumption)
		if c.Empty() {
			return
		}
		first, last := c.Extent()
		at := func(name string) clock.HostTime { // often an end of the messages
			return clock.Add(first, clock.Sub(last, first)*int64(rapid.IntRange(0, 4).Draw(t, name))/4)
		}
		var stretches []Stretch
		for range rapid.IntRange(1, 2).Draw(t, "stretches") {
			s := Stretch{From: at("from"), To: at("to"), Steep: rapid.Bool().Draw(t, "steep")}
			s.From, s.To = min(s.From, s.To), max(s.From, s.To)
			s.Wander = rapid.SampledFrom([]float64{math.Inf(1), 2*d.assumption.Wander + 1, 1e5}).Draw(t, "bends")
			stretches = append(stretches, s)
		}
		c = New(&d.problem, d.assumption, stretches...)
		reach := 1 + int64(rapid.Float64Range(0, 4).Draw(t, "reach")*float64(d.span))
		ends := [2]clock.HostTime{clock.Add(first, -reach), clock.Add(last, reach)}
		low, high, ok := c.Curves(ends[0], ends[1])
		if !ok || low == nil || high == nil {
			return
		}
		m := clock.PairMap{Low: low, High: high}
		width := func(x clock.HostTime) int64 {
			l, h, _, _ := m.Bounds(x)
			return clock.Sub(h, l)
		}
		for i, end := range ends {
			beyond := clock.Add(end, int64(2*i-1)*100*d.span)
			if w, further := width(end), width(beyond); further < w {
				t.Fatalf("%d ns wide at %d, where they end, and %d ns at %d", w, end, further, beyond)
			}
		}
	})
}
