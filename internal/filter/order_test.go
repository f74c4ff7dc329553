package filter

import (
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// orders is what the filter and the viewer are both held to. An event is [clock, instant].
type orders struct {
	Clocks []struct {
		Step           int64
		Below, Above   clock.TimelineTime
		Set, Unbounded bool
		Component      int
	}
	Step  int64 // of stamps that stayed as they were recorded
	Pairs []struct {
		What   string
		A, B   [2]clock.TimelineTime
		Answer string
		Margin *int64
	}
}

func TestTheOrderOfAPairIsThatOfTheViewer(t *testing.T) {
	text, err := os.ReadFile("testdata/order.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples orders
	if err := json.Unmarshal(text, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples.Pairs) < 20 {
		t.Fatalf("%d examples", len(examples.Pairs))
	}
	for _, p := range examples.Pairs {
		// All clocks are of one host, so that only the clocks can tell the stamps apart.
		l := world()
		o := Options{Pairs: []Pair{{Name: "p", Begin: "ust:begin", End: "ust:end", Key: []string{"id"}}}}
		for _, c := range examples.Clocks {
			m := clock.Map{Mid: clock.Curve{{}}}
			if !c.Unbounded {
				m.Low, m.High = clock.Curve{{Y: -c.Below}}, clock.Curve{{Y: c.Above}}
			}
			l.Maps = append(l.Maps, trace.HostMap{Map: &m})
		}
		o.Clock = func(_, number int) Clock {
			if number < 0 {
				return Clock{Step: examples.Step}
			}
			c := &examples.Clocks[number]
			return Clock{Step: c.Step, Component: c.Component, Set: c.Set}
		}
		f := New(l, o)
		f.To(&kept{schema: l})
		for i, end := range [][2]clock.TimelineTime{p.A, p.B} {
			r := record(clock.HostTime(end[1]), 0, 2+i, trace.OfInt(1))
			r.Map, r.Bounded, r.Low, r.High = int(end[0]), false, end[1], end[1]
			if r.Map >= 0 && !examples.Clocks[r.Map].Unbounded {
				r.Bounded, r.Low, r.High = true, end[1]-examples.Clocks[r.Map].Below, end[1]+examples.Clocks[r.Map].Above+clock.TimelineTime(max(examples.Clocks[r.Map].Step, 1)-1)
			}
			if err := f.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		result := f.Results()[0]
		if result.Longest == nil || result.Count != 1 {
			t.Fatalf("%s: %+v", p.What, result)
		}
		got := result.Longest.Order
		if got.Answer != p.Answer || (got.Margin == nil) != (p.Margin == nil) || p.Margin != nil && *got.Margin != *p.Margin {
			text, _ := json.Marshal(got)
			t.Errorf("%s: %s", p.What, text)
		}
		if (result.OrderOpen == 1) != (p.Answer == "unknown") {
			t.Errorf("%s: %d orders are open", p.What, result.OrderOpen)
		}
	}
}

// Whatever the clocks truly showed: an order that is said to be certain is the true one, and so is the interval of a
// duration. Two clocks that wander within their bounds stamp two instants, cut down to their steps.
func TestACertainOrderIsTheTrueOneWhateverTheStep(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		type host struct {
			step         int64
			below, above clock.TimelineTime
			off          int64
		}
		hosts := make([]host, 2)
		l := world()
		for i := range hosts {
			h := &hosts[i]
			h.step = rapid.SampledFrom([]int64{1, 10, 1000}).Draw(t, "step")
			h.below, h.above = clock.TimelineTime(rapid.Int64Range(0, 50).Draw(t, "below")), clock.TimelineTime(rapid.Int64Range(0, 50).Draw(t, "above"))
			h.off = rapid.Int64Range(int64(-h.below), int64(h.above)).Draw(t, "off") // the true time less what the map says
			l.Maps = append(l.Maps, trace.HostMap{Host: i, Map: &clock.Map{Mid: clock.Curve{{}}, Low: clock.Curve{{Y: -h.below}}, High: clock.Curve{{Y: h.above}}}})
		}
		f := New(l, Options{
			Pairs: []Pair{{Name: "p", Begin: "ust:begin", End: "ust:end", Key: []string{"id"}}},
			Clock: func(host, number int) Clock { return Clock{Step: hosts[host].step} },
		})
		f.To(&kept{schema: l})
		var truth [2]clock.HostTime
		for i := range truth {
			truth[i] = clock.HostTime(10_000 + rapid.Int64Range(0, 3000).Draw(t, "instant"))
			n := rapid.IntRange(0, 1).Draw(t, "host")
			h := hosts[n]
			showed := truth[i] - clock.HostTime(h.off)
			stamp := showed - clock.HostTime(int64(showed)%h.step)
			r := record(stamp, 2*n, 2+i, trace.OfInt(1))
			r.Map, r.Low, r.High = n, clock.TimelineTime(stamp)-h.below, clock.TimelineTime(stamp)+h.above+clock.TimelineTime(h.step-1)
			if err := f.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		x := f.Results()[0].Longest
		if d := int64(truth[1] - truth[0]); x.Order.Answer == "yes" && d <= 0 || x.Order.Answer == "no" && d >= 0 || d < x.LowNs || d > x.HighNs {
			t.Fatalf("truly %d apart: %+v, %s", d, x, x.Order.Answer)
		}
	})
}

func TestOrderOfStampsThatAreNotAStepApartIsOpen(t *testing.T) {
	stampAt := func(recorded, step int64, host, number int) stamp {
		return stamp{time: clock.TimelineTime(recorded), recorded: clock.HostTime(recorded), low: clock.TimelineTime(recorded - 5), high: clock.TimelineTime(recorded + 5), bounded: true, host: host, number: number, clock: Clock{Step: step}}
	}
	for _, c := range []struct {
		a, b   stamp
		answer string
		margin int64
	}{
		{stampAt(100, 10, 0, 0), stampAt(110, 10, 0, 0), "yes", 10},
		{stampAt(100, 10, 0, 0), stampAt(109, 10, 0, 0), "unknown", -1},
		{stampAt(109, 10, 0, 0), stampAt(100, 10, 0, 0), "unknown", -1},
		{stampAt(107, 10, 0, 0), stampAt(100, 10, 0, 0), "unknown", -3},
		{stampAt(110, 10, 0, 0), stampAt(100, 10, 0, 0), "no", 10},
		{stampAt(100, 0, 0, 0), stampAt(101, 0, 0, 0), "yes", 1},
		{stampAt(100, 0, 0, 0), stampAt(100, 0, 0, 0), "unknown", -1},
		// Of two clocks, by bounds of 5 ns to either side: which touch at 10 ns.
		{stampAt(100, 1, 0, 0), stampAt(110, 1, 1, 1), "unknown", 0},
		{stampAt(100, 1, 0, 0), stampAt(111, 1, 1, 1), "yes", 1},
		{stampAt(110, 1, 0, 0), stampAt(100, 1, 1, 1), "unknown", 0},
		{stampAt(111, 1, 0, 0), stampAt(100, 1, 1, 1), "no", 1},
		{stampAt(107, 1, 0, 0), stampAt(100, 1, 1, 1), "unknown", -3},
		{stampAt(100, 1, 0, 0), stampAt(111, 1, 0, 1), "yes", 1},        // two maps of one host
		{stampAt(100, 1, 0, 0), stampAt(105, 1, 1, 0), "unknown", -5},   // two hosts of one map
		{stampAt(100, 1, 0, -1), stampAt(105, 1, 0, -1), "unknown", -5}, // stamps as they were recorded
	} {
		got := c.a.order(&c.b)
		if got.Answer != c.answer || got.Margin == nil || *got.Margin != c.margin {
			t.Errorf("%d to %d of step %d: %s by %v, want %s by %d", c.a.recorded, c.b.recorded, c.a.clock.Step, got.Answer, got.Margin, c.answer, c.margin)
		}
	}
}

func TestDurationByOneClockIsKnownToItsStepAndByTwoToTheirBounds(t *testing.T) {
	a := stamp{recorded: 100, low: 90, high: 120, bounded: true, clock: Clock{Step: 10}}
	b := stamp{recorded: 130, low: 125, high: 160, bounded: true, clock: Clock{Step: 10}}
	if low, high, ok := a.between(&b, 30); low != 21 || high != 39 || !ok {
		t.Errorf("by one clock: %d to %d", low, high)
	}
	b.host = 1
	if low, high, ok := a.between(&b, 30); low != 5 || high != 70 || !ok {
		t.Errorf("by two: %d to %d", low, high)
	}
	b.clock.Component = 1
	if _, _, ok := a.between(&b, 30); ok {
		t.Error("what is between two components was bounded")
	}
}

// The bounds of a record hold its event; a stamp that no map moved reaches to the clock's next step.
func TestAStampOfNoMapReachesToItsNextStep(t *testing.T) {
	l := world()
	l.Maps = []trace.HostMap{{Map: &clock.Map{Mid: clock.Curve{{}}, Low: clock.Curve{{Y: -50}}, High: clock.Curve{{Y: 50}}}}}
	for _, c := range []struct {
		step      int64
		number    int
		bounded   bool
		low, high int64 // of a stamp of 100 whose event was from 95 to 105
		known     bool
	}{
		{0, 0, true, 95, 105, true}, {1, 0, true, 95, 105, true}, {101, 0, true, 95, 105, true},
		{101, -1, false, 100, 200, true}, {1, -1, false, 100, 100, true},
		{101, 0, false, 95, 105, false},
	} {
		f := New(l, Options{Clock: func(int, int) Clock { return Clock{Step: c.step} }})
		r := record(100, 0, 0)
		r.Map, r.Bounded = c.number, c.bounded
		s := f.stampOf(r)
		if s.low != clock.TimelineTime(c.low) || s.bounded != c.known || s.bounded && s.high != clock.TimelineTime(c.high) {
			t.Errorf("step %d, map %d: from %d to %d, %v; want %d to %d", c.step, c.number, s.low, s.high, s.bounded, c.low, c.high)
		}
	}
}
