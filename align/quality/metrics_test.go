package quality

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// shifted is the map of a clock that is ahead by a constant, with bounds at the given distances.
func shifted(ahead int64, below, above clock.TimelineTime) clock.Map {
	line := func(by clock.TimelineTime) clock.Curve { return clock.Curve{{X: 0, Y: by - clock.TimelineTime(ahead)}} }
	return clock.Map{Mid: line(0), Low: line(-below), High: line(above)}
}

func TestDifferentialDelayIsLargestLessSmallestReceptionOnTheTimeline(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		maps := []clock.Map{shifted(0, 0, 0), shifted(5000, 1, 1), shifted(-300, 1, 1)}
		ahead := []int64{0, 5000, -300}
		var broadcasts []trace.Broadcast
		var delays []float64
		signed := make(map[[2]int][]float64) // the later clock's reception less the earlier's
		for range rapid.IntRange(0, 20).Draw(t, "broadcasts") {
			var b trace.Broadcast
			var truly []clock.HostTime
			var by [3]clock.HostTime
			seen := [3]bool{}
			for n := range 3 {
				if rapid.Bool().Draw(t, "received") {
					at := clock.HostTime(rapid.Int64Range(1e18, 1e18+1000).Draw(t, "at"))
					truly = append(truly, at)
					by[n], seen[n] = at, true
					b.Receptions = append(b.Receptions, trace.Stamp{Clock: n, Time: at + clock.HostTime(ahead[n])})
				}
			}
			broadcasts = append(broadcasts, b)
			if len(truly) > 1 {
				delays = append(delays, float64(slices.Max(truly)-slices.Min(truly)))
			}
			for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
				if seen[pair[0]] && seen[pair[1]] {
					signed[pair] = append(signed[pair], float64(by[pair[1]]-by[pair[0]]))
				}
			}
		}
		checkDifferential(t, Broadcasts(broadcasts, maps), delays)
		checkDifferential(t, Between(broadcasts, maps, 0, 2), signed[[2]int{0, 2}])
		all := BetweenAll(broadcasts, maps)
		if len(all) != len(signed) || !slices.IsSortedFunc(all, func(p, q PairDifferential) int { return 3*(p.X-q.X) + p.Y - q.Y }) {
			t.Fatalf("%d pairs of receivers, not %d in their order: %+v", len(all), len(signed), all)
		}
		for _, d := range all {
			checkDifferential(t, d.Differential, signed[[2]int{d.X, d.Y}])
		}
	})
}

func checkDifferential(t *rapid.T, d Differential, values []float64) {
	if d.Broadcasts != int64(len(values)) {
		t.Fatalf("%d broadcasts, not %d", d.Broadcasts, len(values))
	}
	if len(values) == 0 {
		if d != (Differential{}) {
			t.Fatalf("%+v of nothing", d)
		}
		return
	}
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	deviation := math.Sqrt(squares / max(float64(len(values)-1), 1))
	if float64(d.Min) != slices.Min(values) || float64(d.Max) != slices.Max(values) ||
		math.Abs(d.Mean-mean) > 1e-6 || math.Abs(d.Deviation-deviation) > 1e-6 {
		t.Fatalf("%+v of %v, mean %v, deviation %v", d, values, mean, deviation)
	}
}

// TestDifferentialDelayIsNegativeWhereTheSecondHostHearsEarlier is the example of Poirier (2010, section 3.4.2): a broadcast
// stamped at 85.8 s on A was stamped 24.1 µs earlier on B, and stands at (85.8, -2.41e-5) in figure 3.6.
func TestDifferentialDelayIsNegativeWhereTheSecondHostHearsEarlier(t *testing.T) {
	maps := []clock.Map{clock.Identity(), clock.Identity()}
	b := []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: 1, Time: 85_800_000_000 - 24_100}, {Clock: 0, Time: 85_800_000_000}}}}
	if d := Between(b, maps, 0, 1); d.Broadcasts != 1 || d.Min != -24_100 || d.Max != -24_100 || d.Mean != -24_100 || d.Deviation != 0 {
		t.Errorf("%+v", d)
	}
	if d := BetweenAll(b, maps); len(d) != 1 || d[0].X != 0 || d[0].Y != 1 || d[0].Mean != -24_100 {
		t.Errorf("%+v", d)
	}
}

func TestAccuracyIsTheMapsErrorOverAllStamps(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		m := clock.Map{
			Mid: clock.Curve{{X: 0, Y: 0}, {X: 1000, Y: 1010}},
			Low: clock.Curve{{X: 0, Y: -100}, {X: 400, Y: 390}, {X: 1000, Y: 700}},
			High: clock.Curve{{X: 0, Y: clock.TimelineTime(rapid.Int64Range(0, 400).Draw(t, "high"))},
				{X: 1000, Y: clock.TimelineTime(rapid.Int64Range(1010, 2000).Draw(t, "high end"))}},
		}
		var p trace.Problem
		var bounds []int64
		for range rapid.IntRange(0, 4).Draw(t, "channels") {
			c := trace.Channel{From: rapid.IntRange(0, 2).Draw(t, "from"), To: rapid.IntRange(0, 2).Draw(t, "to")}
			for range rapid.IntRange(0, 5).Draw(t, "messages") {
				x := trace.Message{Sent: clock.HostTime(rapid.Int64Range(0, 1000).Draw(t, "sent")), Received: clock.HostTime(rapid.Int64Range(0, 1000).Draw(t, "received"))}
				c.Messages = append(c.Messages, x)
				if c.From == 1 {
					e, _ := m.Error(x.Sent)
					bounds = append(bounds, e)
				}
				if c.To == 1 {
					e, _ := m.Error(x.Received)
					bounds = append(bounds, e)
				}
			}
			p.Channels = append(p.Channels, c)
		}
		a := AccuracyOf(&p, &m, 1)
		open := AccuracyOf(&p, &clock.Map{Mid: m.Mid, Low: m.Low}, 1)
		if a.Events != int64(len(bounds)) || a.Unbounded != 0 || open.Unbounded != a.Events || open.Events != 0 {
			t.Fatalf("%+v and %+v of %d stamps", a, open, len(bounds))
		}
		if len(bounds) == 0 {
			return
		}
		mean := 0.0
		for _, b := range bounds {
			mean += float64(b) / float64(len(bounds))
		}
		// The maps round bounds outwards, a cursor to the nearest.
		if slices.Min(bounds)-a.Best > 1 || slices.Max(bounds)-a.Worst > 1 || math.Abs(mean-a.Mean) > 1.001 {
			t.Fatalf("%+v of %v", a, bounds)
		}
		sum := a
		sum.Add(Accuracy{Events: a.Events, Best: 0, Worst: 5000, Mean: a.Mean + 10})
		if sum.Best != 0 || sum.Worst != 5000 || math.Abs(sum.Mean-a.Mean-5) > 1e-6 {
			t.Fatalf("%+v", sum)
		}
	})
}

func TestRoundTripIsThatOfTheQuickestExchangeWhateverTheOffset(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		offset := rapid.Int64Range(-1e18, 1e18).Draw(t, "offset") // of b against a
		draw := func(name string, sentBy, receivedBy int64) (stamped, truly []trace.Message) {
			for range rapid.IntRange(0, 12).Draw(t, name) {
				s := clock.HostTime(rapid.Int64Range(0, 100_000).Draw(t, "sent"))
				m := trace.Message{Sent: s, Received: s + clock.HostTime(rapid.Int64Range(10, 20_000).Draw(t, "delay"))}
				truly = append(truly, m)
				stamped = append(stamped, trace.Message{Sent: m.Sent + clock.HostTime(sentBy), Received: m.Received + clock.HostTime(receivedBy)})
			}
			return stamped, truly
		}
		there, thereTruly := draw("there", 0, offset)
		back, backTruly := draw("back", offset, 0)
		// Brute force: every message with the last that was received before it was sent. Several exchanges may be equally
		// quick at worst; then any will do.
		var quick []int64
		worst := int64(math.MaxInt64)
		exchanges := func(first, second []trace.Message) {
			for _, b := range second {
				latest := -1
				for i, a := range first {
					if a.Received <= b.Sent && (latest < 0 || a.Received > first[latest].Received) {
						latest = i
					}
				}
				if latest < 0 {
					continue
				}
				a := first[latest]
				way := int64(a.Received-a.Sent) + int64(b.Received-b.Sent)
				most := way + int64(b.Received-a.Sent)/driftPerNs
				if most < worst {
					quick, worst = nil, most
				}
				if most == worst {
					quick = append(quick, way)
				}
			}
		}
		unique := func(m []trace.Message, stamp stampBy) bool {
			seen := make(map[clock.HostTime]bool)
			for _, x := range m {
				if seen[stamp.of(&x)] {
					return false
				}
				seen[stamp.of(&x)] = true
			}
			return true
		}
		if !unique(there, byReceived) || !unique(back, byReceived) {
			return // which of two that come at once begins an exchange is left open
		}
		exchanges(thereTruly, backTruly)
		exchanges(backTruly, thereTruly)
		got, ok := RoundTrip(there, back)
		if ok != (len(quick) > 0) || (ok && !slices.Contains(quick, got)) {
			t.Fatalf("round trip %d, %v; want one of %v", got, ok, quick)
		}
		cut := func(m []trace.Message) [][]trace.Message {
			i := rapid.IntRange(0, len(m)).Draw(t, "cut")
			return [][]trace.Message{m[:i], nil, m[i:]}
		}
		if parts, also := RoundTripOf(cut(there), cut(back)); parts != got || also != ok {
			t.Fatalf("in blocks the round trip is %d, %v, and in one %d, %v", parts, also, got, ok)
		}
	})
}

func TestQuickestExchangeIsNotOneThatDriftMadeQuick(t *testing.T) {
	// b runs 100 ppm fast: over a pause of ten seconds that hides a millisecond of the way.
	const ppm = 1e-4
	b := func(at float64) clock.HostTime { return clock.HostTime(at * (1 + ppm)) }
	there := []trace.Message{{Sent: 0, Received: b(2e6)}, {Sent: 20e9, Received: b(20e9 + 1e6)}}
	back := []trace.Message{{Sent: b(10e9), Received: 10e9 + 2e6}, {Sent: b(20e9 + 1.1e6), Received: 20e9 + 2.1e6}}
	got, ok := RoundTrip(there, back)
	if !ok || math.Abs(float64(got)-2e6) > 1000 {
		t.Errorf("round trip %d, want 2 ms", got)
	}
	if _, ok := RoundTrip(there, nil); ok {
		t.Error("a round trip one way")
	}
}

func TestMessagesAreSortedHoweverFarTheyOvertakeEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, reach := range []int64{0, 3, 50, 5000, 1 << 40} {
		var m []trace.Message
		for i := range int64(3000) {
			m = append(m, trace.Message{Sent: clock.HostTime(i), Received: clock.HostTime(i + r.Int64N(reach+1))})
		}
		want := slices.Clone(m)
		slices.SortFunc(want, func(x, y trace.Message) int {
			return cmp.Or(cmp.Compare(x.Received, y.Received), cmp.Compare(x.Sent, y.Sent))
		})
		got := slices.Concat(ordered([][]trace.Message{m[:1000], m[1000:]}, byReceived)...)
		if !slices.IsSortedFunc(got, func(x, y trace.Message) int { return cmp.Compare(x.Received, y.Received) }) {
			t.Errorf("overtaking by up to %d: not in order", reach)
		}
		slices.SortFunc(got, func(x, y trace.Message) int {
			return cmp.Or(cmp.Compare(x.Received, y.Received), cmp.Compare(x.Sent, y.Sent))
		})
		if !slices.Equal(got, want) {
			t.Errorf("overtaking by up to %d: other messages", reach)
		}
	}
}
