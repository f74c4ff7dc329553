package align_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/trace"
)

// slewedOnce is clocks the second of which is slewed forward once, at a rate in ns per ns, by so many ns.
func slewedOnce(seed uint64, clocks int, span, gap, rate, by float64) *trace.Problem {
	r := rand.New(rand.NewPCG(seed, 31))
	from := span * (0.3 + 0.4*r.Float64())
	show := func(c int, x float64) clock.HostTime {
		if c == 1 {
			x += min(max((x-from)*rate, 0), by)
		}
		return clock.HostTime(x)
	}
	p := &trace.Problem{}
	for i := range clocks {
		name := string(rune('a' + i))
		p.Clocks = append(p.Clocks, trace.Clock{Name: name, Host: name, Granularity: 1, Last: clock.HostTime(span + by + 1e6)})
		for k := range clocks {
			if k == i {
				continue
			}
			c := trace.Channel{From: i, To: k}
			for x := 0.0; x < span; x += gap * 2 * r.Float64() {
				arrived := x + 20_000 + 5_000*r.ExpFloat64()
				c.Messages = append(c.Messages, trace.Message{Sent: show(i, x), Received: show(k, arrived)})
			}
			p.Channels = append(p.Channels, c)
		}
	}
	return p
}

// TestEstimatesStayInsideTheirBoundsBeyondTheTrace looks where slews leave a curve free: what it does at its end, it would do for ever.
func TestEstimatesStayInsideTheirBoundsBeyondTheTrace(t *testing.T) {
	for seed := range uint64(testneed.Cases(6)) {
		for _, c := range []struct{ span, gap, rate, by float64 }{
			{60e9, 1e7, 500e-6, 1e6}, {4e9, 2e7, 0.08, 1e6}, {4e9, 2e7, 500e-6, 1e5}, {20e9, 1e7, 0.08, 1e8},
		} {
			for clocks := 2; clocks <= 3; clocks++ {
				s, err := align.Solve(context.Background(), slewedOnce(seed, clocks, c.span, c.gap, c.rate, c.by), align.Options{Reference: "a"})
				if err != nil {
					t.Fatal(err)
				}
				for i := range s.Maps {
					checkInside(t, seed, &s.Maps[i], clock.HostTime(c.span))
				}
			}
		}
	}
}

// checkInside fails a test whose estimate leaves its bounds at some corner, during the trace or beyond its end.
func checkInside(t *testing.T, seed uint64, m *clock.Map, end clock.HostTime) {
	t.Helper()
	hosts := []clock.HostTime{-1_000e9, -100e9, -1e9, 0, end, end + 1e9, end + 100e9, end + 1_000e9}
	for _, of := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range of {
			hosts = append(hosts, k.X)
		}
	}
	for _, h := range hosts {
		low, high, lowOK, highOK := m.Bounds(h)
		if at := m.At(h); lowOK && highOK && low <= high && (at < low-1 || at > high+1) {
			t.Errorf("seed %d: at %d the estimate is %d ns outside of its bounds", seed, h, max(low-at, at-high))
			return
		}
	}
}
