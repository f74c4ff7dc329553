package align

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/trace"
)

// steeredHosts is two hosts with messages both ways. The clock of b runs free at 12 ppm, but its stamps are of one that the kernel
// slews by turns, and its Free has an error of e. Truth is a's clock.
func steeredHosts(seed uint64, e int64) (p *trace.Problem, stamp func(truth int64) clock.HostTime) {
	random := rand.New(rand.NewPCG(seed, 7))
	const origin, second = 1_700_000_000_000_000_000, 1_000_000_000
	free := func(truth int64) int64 { return origin + 5_000_000 + truth + truth/1_000_000*12 }
	var m clock.PairMap
	stamped, from := free(0)-40_000, free(0)
	for k := range int64(61) {
		m.Mid = append(m.Mid, clock.PairKnot{X: clock.HostTime(stamped), Y: clock.HostTime(from)})
		span := free((k+1)*second) - free(k*second)
		from += span
		stamped += span + span/1_000_000*(random.Int64N(401)-200)
	}
	// The estimate is off by up to e, but its bounds hold. In every other ten seconds the error is small.
	errors := make([]int64, len(m.Mid))
	for i, k := range m.Mid {
		errors[i] = e
		if i/10%2 == 1 {
			errors[i] = min(e, 100)
		}
		m.Low = append(m.Low, clock.PairKnot{X: k.X, Y: k.Y - clock.HostTime(errors[i])})
		m.High = append(m.High, clock.PairKnot{X: k.X, Y: k.Y + clock.HostTime(errors[i])})
	}
	exact := m.Mid.Inverse()
	stamp = func(truth int64) clock.HostTime { return exact.At(clock.HostTime(free(truth)), clock.Nearest) }
	shifted := make(clock.PairCurve, len(m.Mid))
	for i, k := range m.Mid {
		shifted[i] = clock.PairKnot{X: k.X, Y: k.Y + clock.HostTime(random.Int64N(2*errors[i]+1)-errors[i])}
	}
	m.Mid = shifted
	p = &trace.Problem{Clocks: []trace.Clock{{Name: "a", Host: "a", Granularity: 1}, {Name: "b", Host: "b", Granularity: 1, Free: &m}}}
	ab, ba := trace.Channel{From: 0, To: 1}, trace.Channel{From: 1, To: 0}
	for at := int64(second / 10); at < 59*second; at += random.Int64N(second / 10) {
		delay := 20_000 + int64(random.ExpFloat64()*5_000)
		if random.IntN(2) == 0 {
			ab.Messages = append(ab.Messages, trace.Message{Sent: clock.HostTime(origin + at), Received: stamp(at + delay)})
		} else {
			ba.Messages = append(ba.Messages, trace.Message{Sent: stamp(at), Received: clock.HostTime(origin + at + delay)})
		}
	}
	p.Channels = []trace.Channel{ab, ba}
	return p, stamp
}

// TestStampsOfASteeredClockAreBoundedByTheFreeOne aligns stamps that no smooth clock explains: their clock is slewed by up to 200 ppm,
// and its free clock is known to 300 ns.
func TestStampsOfASteeredClockAreBoundedByTheFreeOne(t *testing.T) {
	const origin, second = 1_700_000_000_000_000_000, 1_000_000_000
	for seed := range uint64(12) {
		e := []int64{1, 300, 80_000}[seed%3]
		p, stamp := steeredHosts(seed, e)
		s, err := Solve(context.Background(), p, Options{Reference: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Quality.Inversions > 0 {
			t.Errorf("seed %d: %d inversions", seed, s.Quality.Inversions)
		}
		m := &s.Maps[1]
		var width int64
		const instants = 1000
		for i := range int64(instants) {
			at := second + i*57*second/instants
			low, high, lowOK, highOK := m.Bounds(stamp(at))
			if truth := clock.TimelineTime(origin + at); !lowOK || !highOK || truth < low-1 || truth > high+1 {
				t.Fatalf("seed %d: truth %d is not within %d and %d", seed, truth, low, high)
			}
			width += int64(high - low)
		}
		// Both messages of a round trip and the event itself are known to e.
		if mean := width / instants; mean > 2*(45_000+4*e) {
			t.Errorf("seed %d: the bounds are %d ns apart", seed, mean)
		}
		x := &s.Pairs[0]
		for i := range int64(instants) {
			at := second + i*57*second/instants
			low, high, _, _ := x.Estimate.Map.Bounds(clock.HostTime(origin + at))
			if b := stamp(at); b < low-2 || b > high+2 {
				t.Fatalf("seed %d: b shows %d and not from %d to %d", seed, b, low, high)
			}
		}
		if first := x.Estimate.First; first < clock.HostTime(origin) || first > clock.HostTime(origin+second) {
			t.Errorf("seed %d: the first message is at %d", seed, first)
		}
	}
}

func TestMapsToFreeClocksAreChecked(t *testing.T) {
	for want, change := range map[string]func(m *clock.PairMap){
		"no knots":         func(m *clock.PairMap) { m.Low = nil },
		"runs back":        func(m *clock.PairMap) { m.High[3].Y = m.High[2].Y - 1 },
		"does not follow":  func(m *clock.PairMap) { m.Mid[3].X = m.Mid[2].X },
		"within ±2^62 ns":  func(m *clock.PairMap) { m.Mid[60].Y = clock.HostTime(clock.Limit + 1) },
		"outside its boun": func(m *clock.PairMap) { m.Mid[5].Y += 500 },
	} {
		p, _ := steeredHosts(1, 300)
		change(p.Clocks[1].Free)
		if _, err := Solve(context.Background(), p, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Where the host with the steered clock stands in the problem must not matter, nor which of both is followed.
func TestASteeredClockIsBoundedWhereverItStandsAndWhenItWasSet(t *testing.T) {
	t.Parallel()
	const origin, second, by = 1_700_000_000_000_000_000, 1_000_000_000, 3_000_000_000
	for _, setBy := range []int64{0, by} {
		p, stamp := steeredHosts(5, 300)
		p.Clocks[0], p.Clocks[1] = p.Clocks[1], p.Clocks[0]
		set := func(at int64) clock.HostTime { // what a shows
			if at >= 30*second {
				at += setBy
			}
			return clock.HostTime(origin + at)
		}
		for n := range p.Channels {
			c := &p.Channels[n]
			c.From, c.To = 1-c.From, 1-c.To
			for k := range c.Messages {
				m := &c.Messages[k]
				if c.From == 1 {
					m.Sent = set(int64(m.Sent - origin))
				} else {
					m.Received = set(int64(m.Received - origin))
				}
			}
		}
		s, err := Solve(context.Background(), p, Options{Reference: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(s.Steps) > 0; found != (setBy != 0) {
			t.Fatalf("%d steps of a clock that was set by %d ns", len(s.Steps), setBy)
		}
		for i := range int64(1000) {
			at := second + i*57*second/1000
			if setBy != 0 && at > 29*second && at < 31*second {
				continue // which piece a stamp belongs to is known to the next message
			}
			// The timeline is the free clock of the one that is followed.
			low, high, lowOK, highOK := s.Maps[1].Bounds(set(at))
			if truth := clock.TimelineTime(origin + 5_000_000 + at + at/1_000_000*12); !lowOK || !highOK || truth < low-1 || truth > high+1 {
				t.Fatalf("set by %d, %d s: truth outside [%d %d], %t %t", setBy, at/second, int64(low-truth), int64(high-truth), lowOK, highOK)
			}
		}
		x := &s.Pairs[0]
		if x.A != 0 {
			t.Fatalf("the pair is of %d and %d", x.A, x.B)
		}
		if first := x.Estimate.First; first < stamp(0) || first > stamp(second) {
			t.Errorf("the first message is at %d", first)
		}
	}
}

// TestStampsThatAreKnownBetterForAWhileShowNoSlew aligns hosts of one machine whose recorders knew the clocks to 100 ns at first and to 1 µs
// when the machine became busy: round trips by what the stamps may mean are longer from there on, and no clock bent.
func TestStampsThatAreKnownBetterForAWhileShowNoSlew(t *testing.T) {
	const from, busy, to = 0, 250_000_000, 3_000_000_000
	for seed := range uint64(testneed.Cases(20)) {
		random := rand.New(rand.NewPCG(seed, 8))
		p := &trace.Problem{}
		for _, name := range []string{"a", "b", "c"} {
			m := clock.PairMap{Mid: clock.PairCurve{{X: from, Y: from}, {X: to, Y: to}}}
			for _, k := range [][2]int64{{from, 100}, {busy, 100}, {busy + 1000, 900}, {to, 950}} {
				m.Low = append(m.Low, clock.PairKnot{X: clock.HostTime(k[0]), Y: clock.HostTime(k[0] - k[1])})
				m.High = append(m.High, clock.PairKnot{X: clock.HostTime(k[0] - 2), Y: clock.HostTime(k[0] + k[1])})
			}
			p.Clocks = append(p.Clocks, trace.Clock{Name: name, Host: name, Granularity: 1, First: from, Last: to, Free: &m})
		}
		for a := range p.Clocks {
			for b := range p.Clocks {
				if a == b {
					continue
				}
				c := trace.Channel{From: a, To: b}
				for at := int64(1_000_000); at < to-1_000_000; at += 20_000_000 {
					for range 3 {
						sent := at + random.Int64N(400_000)
						c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(sent), Received: clock.HostTime(sent + 270 + int64(random.ExpFloat64()*200))})
					}
				}
				p.Channels = append(p.Channels, c)
			}
		}
		s, err := Solve(context.Background(), p, Options{Reference: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s.Pairs {
			if len(x.Stretches) > 0 {
				t.Errorf("seed %d: clocks that nobody steers were slewed: %+v", seed, x.Stretches)
			}
		}
		for i := range s.Maps {
			if low, high, _, _ := s.Maps[i].Bounds(to / 2); low > to/2 || high < to/2 || high-low > 12_000 {
				t.Errorf("seed %d: clock %d is known to %d and %d ns", seed, i, int64(low-to/2), int64(high-to/2))
			}
		}
	}
}

// TestTruthThatMovesInsideOfWhatStampsMayMeanShowsNoSlew aligns hosts whose clocks are known to 20 µs, with the truth now here and now there inside
// of what a stamp may mean: round trips are lengthened by less than that may be, and differently each time.
func TestTruthThatMovesInsideOfWhatStampsMayMeanShowsNoSlew(t *testing.T) {
	const to, e = 30_000_000_000, 20_000
	for seed := range uint64(testneed.Cases(20)) {
		random := rand.New(rand.NewPCG(seed, 9))
		p := &trace.Problem{}
		for _, name := range []string{"a", "b"} {
			var m clock.PairMap
			for at := int64(0); at <= to+2_020_000_000; at += 12_000_000 {
				off := random.Int64N(e/2+1) - e/4
				m.Mid = append(m.Mid, clock.PairKnot{X: clock.HostTime(at), Y: clock.HostTime(at + off)})
				m.Low = append(m.Low, clock.PairKnot{X: clock.HostTime(at), Y: clock.HostTime(at + off - e)})
				m.High = append(m.High, clock.PairKnot{X: clock.HostTime(at), Y: clock.HostTime(at + off + e)})
			}
			p.Clocks = append(p.Clocks, trace.Clock{Name: name, Host: name, Granularity: 1, Last: to, Free: &m})
		}
		gap := int64(5_000_000 << random.IntN(6))
		for a := range p.Clocks {
			c := trace.Channel{From: a, To: 1 - a}
			for at := int64(1_000_000); at < to-1_000_000; at += random.Int64N(2 * gap) {
				c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(at), Received: clock.HostTime(at + 1_000 + int64(random.ExpFloat64()*1_000))})
			}
			p.Channels = append(p.Channels, c)
		}
		s, err := Solve(context.Background(), p, Options{Reference: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s.Pairs[0].Stretches {
			if math.IsInf(x.Wander, 1) || x.Steep {
				t.Errorf("seed %d: clocks that nobody steers were slewed: %+v", seed, x)
			}
		}
		for at := clock.HostTime(0); at <= to; at += to / 100 {
			// The timeline is the free clock of a: it shows what a's stamps may mean.
			low, high, lowOK, highOK := s.Maps[1].Bounds(at)
			if truth := clock.TimelineTime(at); !lowOK || !highOK || low > truth || high < truth || high-low > 30*e {
				t.Fatalf("seed %d: at %d b is known to %d and %d ns", seed, at, int64(low-truth), int64(high-truth))
			}
		}
	}
}
