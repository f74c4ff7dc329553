package match

import (
	"math"
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// candidates returns a finding of so many messages, one a millisecond, that take what took says.
func candidates(n int, took func(i int) int64) *finding {
	f := newFinding()
	for i := range n {
		at := clock.HostTime(int64(i) * 1_000_000)
		f.link.add(trace.Message{Sent: at, Received: at + clock.HostTime(took(i))})
	}
	f.to = n
	return f
}

func TestAPathFollowsClocksThatRunApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, jitter = 5000, 10_000
	for _, rate := range []float64{0, 1e-4, -1e-3} {
		p := newPath([]*finding{candidates(n, func(i int) int64 {
			return -5_000_000_000 + int64(rate*float64(i)*1e6) + r.Int64N(jitter)
		})})
		for _, s := range p.spans {
			if s.width() > 1.5*jitter || s.outside < 0.05 && s.width() < 0.7*jitter {
				t.Errorf("rate %v: the span without %v is %v ns wide, the delays %d", rate, s.outside, s.width(), jitter)
			}
		}
		all := &p.spans[0]
		for i := 100; i < n-100; i += 7 {
			at := clock.HostTime(int64(i) * 1_000_000)
			came := at + clock.HostTime(-5_000_000_000+int64(rate*float64(i)*1e6)+jitter/2)
			if d := p.distance(all, at, came); d != 0 {
				t.Fatalf("rate %v: the median at %d lies outside by %v", rate, i, d)
			}
			for _, by := range []clock.HostTime{-10 * jitter, 10 * jitter} {
				if d := p.distance(all, at, came+by); d < 6 || d > 14 {
					t.Fatalf("rate %v: what is 10 jitters off lies %v widths outside", rate, d)
				}
			}
		}
	}
}

func TestNothingIsKnownOfDelaysWhereAClockIsSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, jitter, set = 4000, 2000, 3_000_000
	step := n/2 + 7
	took := func(i int) int64 {
		if i >= step {
			return set + r.Int64N(jitter)
		}
		return r.Int64N(jitter)
	}
	p := newPath([]*finding{candidates(n, took)})
	narrow := &p.spans[2]
	for i := range n {
		at := clock.HostTime(int64(i) * 1_000_000)
		// Whatever a message near the step would have taken, none that it did not take may seem likely.
		for _, other := range []int64{set / 2, set / 6, 5 * set / 6} {
			if p.distance(narrow, at, at+clock.HostTime(other)) == 0 {
				t.Fatalf("message %d: a delay of %d is likely", i, other)
			}
		}
		if far := i < step-100 || i > step+100; far && p.distance(narrow, at, at+clock.HostTime(took(i))) > 1 {
			t.Fatalf("message %d: its delay is not likely", i)
		}
	}
}

func TestFewCandidatesTellNoCopiesApart(t *testing.T) {
	if p := newPath([]*finding{candidates(knotOf-1, func(int) int64 { return 5 })}); p == nil || len(p.spans) > 0 {
		t.Errorf("%+v", p)
	}
	if p := newPath([]*finding{candidates(minKnown-1, func(int) int64 { return 5 })}); p != nil {
		t.Errorf("%+v", p)
	}
	p := newPath([]*finding{candidates(knotOf, func(int) int64 { return 5 })})
	if d := p.distance(&p.spans[0], 0, 5); d != 0 {
		t.Errorf("the usual delay lies outside by %v", d)
	}
}

func TestCopiesAreToldApartWhereOneSendingAloneIsLikely(t *testing.T) {
	f := candidates(1000, func(i int) int64 { return int64(i*7919%10_000) + 50_000 })
	f.path = newPath([]*finding{f})
	f.apart = &f.path.spans[0]
	at := func(times ...clock.HostTime) (list [maxTimes]clock.HostTime) {
		copy(list[:], times)
		return list
	}
	const base = 500_000_000
	for name, c := range map[string]struct {
		sent, came []clock.HostTime
		want       int64
	}{
		"both of both":         {[]clock.HostTime{base, base + 100_000}, []clock.HostTime{base + 55_000, base + 155_000}, 2},
		"the second came":      {[]clock.HostTime{base, base + 100_000}, []clock.HostTime{base + 155_000}, 1},
		"one sending unseen":   {[]clock.HostTime{base + 100_000}, []clock.HostTime{base + 55_000, base + 155_000}, 1},
		"close":                {[]clock.HostTime{base, base + 8_000}, []clock.HostTime{base + 55_000}, 0},
		"twice by the network": {[]clock.HostTime{base}, []clock.HostTime{base + 52_000, base + 58_000}, 0},
		"later than any":       {[]clock.HostTime{base, base + 100_000}, []clock.HostTime{base + 190_000}, 0},
	} {
		k := &several{time: [2][maxTimes]clock.HostTime{at(c.sent...), at(c.came...)}, count: [2]uint8{uint8(len(c.sent)), uint8(len(c.came))}, received: uint32(len(c.came))}
		before := f.link.length()
		if got := f.addApart(k); got != c.want || f.link.length()-before != int(got) {
			t.Errorf("%s: %d messages, want %d", name, got, c.want)
		}
	}
	near := several{time: [2][maxTimes]clock.HostTime{at(base, base+8_000), at(base + 55_000)}, count: [2]uint8{2, 1}}
	far := several{time: [2][maxTimes]clock.HostTime{at(base, base+100_000), at(base + 55_000)}, count: [2]uint8{2, 1}}
	f.several = []several{near, far, {time: far.time, count: [2]uint8{1, 1}}}
	if n, nearest := f.path.separate(f, f.apart); n != 1 || nearest < 5 || math.IsInf(nearest, 0) {
		t.Errorf("%v keys are told apart, the nearest by %v widths", n, nearest)
	}
}
