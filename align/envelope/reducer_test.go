package envelope

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestReducerKeepsTheLeastDelayOfEveryWindowUnderAnyLine(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		span := rapid.SampledFrom([]int64{100, 1_000_000_000, 14_400_000_000_000}).Draw(t, "span")
		origin := clock.HostTime(rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000}).Draw(t, "origin"))
		ordered := rapid.Bool().Draw(t, "ordered")
		r := NewReducer(rapid.SampledFrom([]int{0, 10, n}).Draw(t, "announced"))
		var all []trace.Message
		for i := range n {
			x := random.Int64N(span)
			if ordered {
				x = span * int64(i) / int64(n)
			}
			m := trace.Message{Received: origin + clock.HostTime(x)}
			m.Sent = m.Received - clock.HostTime(random.Int64N(100_000)) - 7_000_000
			all = append(all, m)
			r.Add(m)
		}
		r.finish()
		least := func(messages []trace.Message, rate float64) float64 {
			v := math.Inf(1)
			for _, m := range messages {
				v = min(v, float64(m.Received-m.Sent)-rate*float64(m.Received-r.start))
			}
			return v
		}
		count := int64(0)
		rate := rapid.Float64Range(-1e-3, 1e-3).Draw(t, "rate")
		within := make([][]trace.Message, len(r.windows))
		for _, m := range all {
			i := (int64(m.Received-r.start) + int64(r.before)) / r.width
			within[i] = append(within[i], m)
		}
		for i, w := range r.windows {
			count += w.count
			if int(w.count) != len(within[i]) {
				t.Fatalf("window %d counts %d messages of %d", i, w.count, len(within[i]))
			}
			if w.count == 0 {
				continue
			}
			if got, want := least(w.corners, rate), least(within[i], rate); math.Abs(got-want) > 1e-3 {
				t.Fatalf("window %d: least delay %g of the corners, %g of all", i, got, want)
			}
		}
		if count != int64(n) || len(r.sample) != min(n, sampleSize) {
			t.Fatalf("%d messages counted, %d sampled, of %d", count, len(r.sample), n)
		}
	})
}

func TestReducersMemoryDoesNotGrowWithTheMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: two million messages")
	}
	random := rand.New(rand.NewPCG(1, 2))
	r := NewReducer(0)
	corners := func() (n int) {
		for _, w := range r.windows {
			n += cap(w.corners)
		}
		return n
	}
	x := clock.HostTime(0)
	var early int
	for i := range 2_000_000 {
		x += clock.HostTime(random.Int64N(10_000_000))
		r.Add(trace.Message{Sent: x, Received: x + 10_000 + clock.HostTime(20_000*random.ExpFloat64())})
		if i == 600_000 {
			early = corners()
		}
	}
	if late := corners(); late > 2*early || late > maxWindows*2*cornerBuffer {
		t.Errorf("room for %d corners after 600,000 messages, %d after 2 million", early, late)
	}
}

func TestLawDescribesTheLeastOfManyDelays(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []float64{6, 40} {
		delays := make([]float64, 20000)
		for i := range delays {
			delays[i] = 15_000 + 20_000*random.ExpFloat64()
		}
		e := edge{sample: [2][]float64{make([]float64, len(delays)), delays}}
		m := &model{curves: curves{column: []int{-1, -1}, knots: 3, step: 1e5}}
		sorted := m.residuals(&e, len(delays), 1, nil)
		l := fitLaw(leastOf(sorted, n))
		// The least of n exponential delays is exponential with an n-th of their mean.
		mean, deviation := l.zero+l.mean(), l.deviation()
		if want := 15_000 + 20_000/n; math.Abs(mean-want) > 0.1*20_000/n {
			t.Errorf("least of %g: mean %.0f, want %.0f", n, mean, want)
		}
		if want := 20_000 / n; math.Abs(deviation/want-1) > 0.25 {
			t.Errorf("least of %g: deviation %.0f, want %.0f", n, deviation, want)
		}
		again := l.refit(leastOf(sorted, n))
		if again != l {
			t.Errorf("refitted to the same values it is %+v, was %+v", again, l)
		}
	}
}

// A window whose messages all are corners is the worst there is.
func TestAWindowOfCornersAloneIsReducedInTheEnd(t *testing.T) {
	r := NewReducer(0)
	r.width = 1 << 40
	convex := func(x int64) trace.Message { // received at x, after a delay that grows with x squared
		return trace.Message{Received: clock.HostTime(x), Sent: clock.HostTime(x - x*x)}
	}
	for x := range int64(1000) {
		r.Add(convex(x))
	}
	if w := &r.windows[0]; len(w.corners) < 1000 {
		t.Fatalf("%d corners of 1000 that are convex", len(w.corners))
	}
	for x := range int64(100_000) { // none of them on the hull
		m := convex(x % 1000)
		m.Sent -= 1000
		r.Add(m)
	}
	if w := &r.windows[0]; len(w.corners) > 2000 {
		t.Errorf("%d messages are held of 1000 corners", len(w.corners))
	}
	r.finish()
	if w := &r.windows[0]; len(w.corners) != 1000 {
		t.Errorf("%d corners, want 1000", len(w.corners))
	}
}
