package online

import (
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
)

// exchangeAt is an exchange that takes 100 us each way at an instant of a local clock, with a remote clock that is ahead by offset.
func exchangeAt(local clock.HostTime, offset int64) Exchange {
	return Exchange{Sent: local, Received: local + 100_000 + clock.HostTime(offset), Replied: local + 101_000 + clock.HostTime(offset), Returned: local + 201_000}
}

func each(t *testing.T, f func(t *testing.T, s Synchroniser)) {
	for _, method := range Methods() {
		t.Run(method, func(t *testing.T) {
			s, err := New(method, Options{})
			if err != nil {
				t.Fatal(err)
			}
			f(t, s)
		})
	}
}

func holds(t *testing.T, s Synchroniser, at clock.HostTime, offset int64) Reading {
	t.Helper()
	r := s.At(at)
	if math.IsNaN(r.Skew) || r.Bounded && (r.Low > offset || r.High < offset || r.Offset < r.Low || r.Offset > r.High) {
		t.Fatalf("%+v at %d, where the offset is %d", r, at, offset)
	}
	return r
}

func TestBoundsHoldAtTheEndsOfTime(t *testing.T) {
	each(t, func(t *testing.T, s Synchroniser) {
		base := clock.HostTime(math.MaxInt64 - 3_000_000_000)
		s.Exchange(Exchange{Sent: base - 10_000_000_000, Received: base, Replied: base, Returned: base + 1000})
		for _, at := range []clock.HostTime{base + 1_000_000_000, base + 2_000_000_000} {
			s.Exchange(Exchange{Sent: at, Received: at + 1000, Replied: at + 2000, Returned: at + 3000})
			holds(t, s, at+3000, 0)
		}
		holds(t, s, base+2_900_000_000, 0)
	})
}

func TestOffsetsOfAllTimeContradictEachOther(t *testing.T) {
	each(t, func(t *testing.T, s Synchroniser) {
		const far = 1 << 61
		s.Exchange(exchangeAt(0, far))
		if !s.Exchange(exchangeAt(1_000_000_000, -far)) {
			t.Fatal("a step of 146 years is not noticed")
		}
		if r := holds(t, s, 1_001_000_000, -far); !r.Bounded {
			t.Errorf("%+v: the new piece is not bounded", r)
		}
	})
}

func TestALocalClockThatIsSetBackByMoreThanTheWindowIsNoticed(t *testing.T) {
	each(t, func(t *testing.T, s Synchroniser) {
		for i := range clock.HostTime(100) {
			s.Exchange(exchangeAt(i*100_000_000, 0))
		}
		const hour = 3_600_000_000_000
		for i := range clock.HostTime(2 * maxOld) {
			at := i*100_000_000 - hour
			s.Exchange(exchangeAt(at, hour))
			if r := holds(t, s, at+201_000, hour); i > maxOld && (!r.Bounded || r.Steps != 1) {
				t.Fatalf("%+v after %d exchanges", r, i)
			}
		}
	})
}

func TestALateExchangeIsNoStep(t *testing.T) {
	each(t, func(t *testing.T, s Synchroniser) {
		for i := range clock.HostTime(1000) {
			if i == 900 {
				s.Exchange(exchangeAt(0, 0)) // 90 s late, and again
				s.Exchange(exchangeAt(0, 0))
			}
			s.Exchange(exchangeAt(i*100_000_000, 0))
		}
		if r := holds(t, s, 100_000_000_000, 0); r.Steps != 0 || !r.Bounded {
			t.Errorf("%+v", r)
		}
	})
}

func TestAStepWithinAnExchangePartsIt(t *testing.T) {
	const step = 5_000_000
	each(t, func(t *testing.T, s Synchroniser) {
		for i := range clock.HostTime(100) {
			s.Exchange(exchangeAt(i*100_000_000, 0))
		}
		x := exchangeAt(100*100_000_000, 0)
		x.Replied += step // the remote clock was set forward between question and answer
		if !s.Exchange(x) {
			t.Fatal("the step is not noticed")
		}
		for i := range clock.HostTime(20) {
			at := (101 + i) * 100_000_000
			if s.Exchange(exchangeAt(at, step)) {
				t.Fatal("a second step is noticed")
			}
			if r := holds(t, s, at+201_000, step); i > 0 && (math.Abs(float64(r.Offset-step)) > 10_000 || r.MinRTT != 200_000) {
				t.Fatalf("%+v after %d exchanges; the offset is %d and the round trip 200 us", r, i, step)
			}
		}
	})
}

func TestAMessageFromBeforeAStepThatComesLateDoesNotBringBackWhatWas(t *testing.T) {
	const step = 83_000_000
	each(t, func(t *testing.T, s Synchroniser) {
		const second = 1_000_000_000
		s.Exchange(exchangeAt(0, 0))
		for _, at := range []clock.HostTime{100 * second, 102 * second} { // the step was in a gap that is longer than the window
			s.Exchange(exchangeAt(at, step))
		}
		s.Exchange(exchangeAt(60*second, 0))
		holds(t, s, 102*second+300_000, step)
		for _, at := range []clock.HostTime{104 * second, 106 * second} {
			s.Exchange(exchangeAt(at, step))
			holds(t, s, at+201_000, step)
		}
		if r := s.At(107 * second); !r.Bounded {
			t.Errorf("%+v", r)
		}
	})
}

func TestMemoryIsBoundedInWhateverOrderMessagesCome(t *testing.T) {
	corners := func(p *Strict) (n int) {
		for _, h := range []*hull{&p.ceiling, &p.floor} {
			n += cap(h.c)
			for i := range h.parts {
				n += cap(h.parts[i].c)
			}
			n += len(h.parts)
		}
		return n
	}
	const most = 6 * hullParts * 2 * partCorners
	for name, at := range map[string]func(i int) clock.HostTime{
		"falling": func(i int) clock.HostTime { return clock.HostTime(-i) * 1000 },
		"rising":  func(i int) clock.HostTime { return clock.HostTime(i) * 1_000_000 }, // all equally late: all are corners
	} {
		s, err := New("", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40_000 {
			s.Exchange(exchangeAt(at(i), 0))
		}
		if n := corners(s.(*mean).edge.strict); n > most {
			t.Errorf("%s: %d corners, of which %d are expected at most", name, n, most)
		}
	}
}

func TestEstimatesAreNumbersWhereOneWayIsFarNoisierThanTheOther(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		s, err := New("", Options{})
		if err != nil {
			t.Fatal(err)
		}
		noisy, quiet := math.Pow(10, 4+4*r.Float64()), math.Pow(10, 4*r.Float64())
		for i := range 400 {
			at := clock.HostTime(float64(i) * 5e9 * (1 + r.Float64()/10))
			there, back := clock.HostTime(500+noisy*r.ExpFloat64()), clock.HostTime(500+quiet*r.ExpFloat64())
			truth := clock.HostTime(float64(at) * 100e-6)
			s.Exchange(Exchange{Sent: at, Received: at + there + truth, Replied: at + there + truth, Returned: at + there + back})
			holds(t, s, at+there+back, int64(float64(at+there+back)*100e-6))
		}
	}
}
