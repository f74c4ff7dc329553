package filter

import (
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

// orders is what the filter and the viewer are both held to. An event is [clock, instant].
type orders struct {
	Clocks []struct {
		Step, Below, Above int64
		Set, Unbounded     bool
		Component          int
	}
	Step  int64 // of stamps that stayed as they were recorded
	Pairs []struct {
		What   string
		A, B   [2]int64
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
		f.To(&kept{legend: l})
		for i, end := range [][2]int64{p.A, p.B} {
			r := record(end[1], 0, 2+i, trace.OfInt(1))
			r.Map, r.Bounded, r.Low, r.High = int(end[0]), false, end[1], end[1]
			if r.Map >= 0 && !examples.Clocks[r.Map].Unbounded {
				r.Bounded, r.Low, r.High = true, end[1]-examples.Clocks[r.Map].Below, end[1]+examples.Clocks[r.Map].Above
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
	rapid.Check(t, func(t *rapid.T) {
		type host struct{ step, below, above, off int64 }
		hosts := make([]host, 2)
		l := world()
		for i := range hosts {
			h := &hosts[i]
			h.step = rapid.SampledFrom([]int64{1, 10, 1000}).Draw(t, "step")
			h.below, h.above = rapid.Int64Range(0, 50).Draw(t, "below"), rapid.Int64Range(0, 50).Draw(t, "above")
			h.off = rapid.Int64Range(-h.below, h.above).Draw(t, "off") // the true time less what the map says
			l.Maps = append(l.Maps, trace.HostMap{Host: i, Map: &clock.Map{Mid: clock.Curve{{}}, Low: clock.Curve{{Y: -h.below}}, High: clock.Curve{{Y: h.above}}}})
		}
		f := New(l, Options{
			Pairs: []Pair{{Name: "p", Begin: "ust:begin", End: "ust:end", Key: []string{"id"}}},
			Clock: func(host, number int) Clock { return Clock{Step: hosts[host].step} },
		})
		f.To(&kept{legend: l})
		var truth [2]int64
		for i := range truth {
			truth[i] = 10_000 + rapid.Int64Range(0, 3000).Draw(t, "instant")
			n := rapid.IntRange(0, 1).Draw(t, "host")
			h := hosts[n]
			showed := truth[i] - h.off
			stamp := showed - showed%h.step
			r := record(stamp, 2*n, 2+i, trace.OfInt(1))
			r.Map, r.Low, r.High = n, stamp-h.below, stamp+h.above
			if err := f.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		x := f.Results()[0].Longest
		if d := truth[1] - truth[0]; x.Order.Answer == "yes" && d <= 0 || x.Order.Answer == "no" && d >= 0 || d < x.LowNs || d > x.HighNs {
			t.Fatalf("truly %d apart: %+v, %s", d, x, x.Order.Answer)
		}
	})
}
