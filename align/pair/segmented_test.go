package pair

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func byHull(p *Problem) (Estimate, error) { return Hull(p), nil }

// bent returns exchanges of a clock whose rate changes from ppm to -ppm halfway.
func bent(ppm float64, n int, step int64) (*Problem, func(clock.HostTime) clock.HostTime) {
	random := rand.New(rand.NewPCG(6, 1))
	half := int64(n) * step / 2
	f := func(x clock.HostTime) clock.HostTime {
		d := float64(x - since1970)
		rise := math.Min(d, float64(half)) - math.Max(d-float64(half), 0)
		return x + 2_000_000_000 + clock.HostTime(math.Round(rise*ppm/1e6))
	}
	p := &Problem{A: trace.Clock{First: since1970, Last: clock.HostTime(since1970 + 2*half)}}
	var there, back []trace.Message
	for i := range int64(n) {
		t1 := clock.HostTime(since1970 + i*step)
		t4 := t1 + 500_000 + clock.HostTime(random.ExpFloat64()*30_000)
		there = append(there, trace.Message{Sent: t1, Received: f(t1 + 100_000 + clock.HostTime(random.ExpFloat64()*30_000))})
		back = append(back, trace.Message{Sent: f(t4 - 100_000), Received: t4 + clock.HostTime(random.ExpFloat64()*30_000)})
	}
	p.AB, p.BA = Messages{there}, Messages{back}
	return p, f
}

func TestOneSegmentIsThePlainEstimate(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		e, plain := must(Segmented(p, math.MaxInt64/4, byHull)), Hull(p)
		if e.Fit != plain.Fit || e.Skew != plain.Skew || !slices.Equal(e.Map.Mid, plain.Map.Mid) ||
			!slices.Equal(e.Map.Low, plain.Map.Low) || !slices.Equal(e.Map.High, plain.Map.High) {
			t.Fatalf("%+v, plain %+v", e, plain)
		}
	})
}

func TestSegmentsFollowAClockThatBendsAndBoundIt(t *testing.T) {
	p, f := bent(20, 4000, 50_000_000)
	if e := Hull(p); e.Fit != Fallback {
		t.Fatalf("a line passes: %v", e.Fit)
	}
	e := must(Segmented(p, 20_000_000_000, byHull)) // ten segments, the bend between two
	if e.Fit != Exact {
		t.Fatal(e.Fit)
	}
	for x := p.A.First; x < p.A.Last; x += 12_345_678 {
		low, high, _, _ := e.Map.Bounds(x)
		if f(x) < low-1 || f(x) > high+1 {
			t.Fatalf("at %d: truth %d outside [%d, %d]", x-since1970, f(x), int64(low-f(x)), int64(high-f(x)))
		}
		if d := distance(e.Map.At(x), f(x)); d > 25_000 {
			t.Fatalf("at %d: %d ns off", x-since1970, d)
		}
		if mid := e.Map.At(x); mid < low-1 || mid > high+1 {
			t.Fatalf("at %d: estimate outside its bounds", x-since1970)
		}
	}
	for m := range p.AB.All() {
		if e.Map.At(m.Sent) > m.Received+2 {
			t.Fatalf("%v inverted by %d ns", m, int64(e.Map.At(m.Sent)-m.Received))
		}
	}
	for m := range p.BA.All() {
		if e.Map.At(m.Received) < m.Sent-2 {
			t.Fatalf("%v inverted by %d ns", m, int64(m.Sent-e.Map.At(m.Received)))
		}
	}
}

func TestSegmentsOfWhateverMessagesJoinToCurvesThatNeverRunBack(t *testing.T) {
	several := 0
	testseed.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		p := &Problem{A: trace.Clock{First: 0, Last: 10_000}}
		var there, back []trace.Message
		for range rapid.IntRange(10, 300).Draw(t, "n") {
			x := clock.HostTime(random.Int64N(10_000))
			there = append(there, trace.Message{Sent: x, Received: x + clock.HostTime(random.Int64N(500))})
			x = clock.HostTime(random.Int64N(10_000))
			back = append(back, trace.Message{Received: x, Sent: x - clock.HostTime(random.Int64N(500)) + clock.HostTime(100*random.Int64N(2))})
		}
		p.AB, p.BA = Messages{there}, Messages{back}
		length := rapid.Int64Range(1, 6_000).Draw(t, "length")
		for name, estimate := range estimators {
			e := must(Segmented(p, length, estimate))
			for _, c := range []clock.PairCurve{e.Map.Mid, e.Map.Low, e.Map.High} {
				if c != nil && c.Check() != nil {
					t.Fatalf("%s: %v", name, c.Check())
				}
			}
		}
		total := 0
		for _, part := range p.segments(length) {
			several++
			total += part.AB.Len() + part.BA.Len()
		}
		if total != 0 && total != p.AB.Len()+p.BA.Len() {
			t.Fatalf("segments hold %d of %d messages", total, p.AB.Len()+p.BA.Len())
		}
	})
	if several == 0 {
		t.Fatal("no trace had segments")
	}
}

func TestSegmentWithTooFewMessagesHasItsNeighboursLine(t *testing.T) {
	p, f := bent(0, 1000, 100_000_000)
	for _, m := range []Messages{p.AB, p.BA} { // 30 s to 60 s hold one exchange
		m[0] = slices.Delete(m[0], 301, 600)
	}
	parts := p.segments(10_000_000_000)
	if len(parts) != 7 || parts[3].A.First > since1970+31e9 || parts[3].A.Last < since1970+69e9 {
		t.Fatalf("%d segments", len(parts))
	}
	e := must(Segmented(p, 10_000_000_000, byHull))
	if d := distance(e.Map.At(since1970+45e9), f(since1970+45e9)); d > 50_000 {
		t.Errorf("%d ns off where there are no messages", d)
	}
}

func TestSegmentsThatContradictEachOtherHaveNoBounds(t *testing.T) {
	p, _ := bent(0, 1000, 100_000_000)
	for i := range p.AB[0] { // b's clock is set back by 10 ms
		if i >= 500 {
			p.AB[0][i].Received -= 10_000_000
			p.BA[0][i].Sent -= 10_000_000
		}
	}
	e := must(Segmented(p, 10_000_000_000, byHull))
	if e.Fit != Fallback || e.Map.Low != nil || e.Map.High != nil {
		t.Errorf("%v", e.Fit)
	}
	if err := e.Map.Mid.Check(); err != nil {
		t.Error(err)
	}
}

func TestErrorOfASegmentIsReturned(t *testing.T) {
	p, _ := bent(0, 1000, 100_000_000)
	wrong := errors.New("wrong")
	if _, err := Segmented(p, 10_000_000_000, func(*Problem) (Estimate, error) { return Estimate{}, wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

func TestThereAreNoMoreSegmentsThanMessagesFor(t *testing.T) {
	p := &Problem{A: trace.Clock{Granularity: 1}, B: trace.Clock{Granularity: 1}}
	var there, back []trace.Message
	for i := range clock.HostTime(40) {
		there = append(there, trace.Message{Sent: i * 1e9, Received: i*1e9 + 1000})
		back = append(back, trace.Message{Sent: i*1e9 + 5e8, Received: i*1e9 + 5e8 + 1000})
	}
	p.AB, p.BA = Messages{there}, Messages{back[:11]}
	p.A.First, p.A.Last = 0, 40e9
	calls := 0
	if _, err := Segmented(p, 1, func(p *Problem) (Estimate, error) {
		calls++
		return Hull(p), nil
	}); err != nil || calls > 5 {
		t.Errorf("%d segments of 11 messages back, %v", calls, err)
	}
	p.BA = nil
	if parts := p.segments(1); parts != nil {
		t.Errorf("%d segments without messages back", len(parts))
	}
}
