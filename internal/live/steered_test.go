package live

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/steering"
	"meridian/internal/testneed"
	"meridian/order"
	"meridian/trace"
)

// swinging is a clock that the kernel steers by 300 ppm one way and the other, every 700 ms: 3 s ahead at the origin.
func swinging(t int64) int64 {
	const every = 700_000_000
	d := t - origin
	whole, part := d/every, d%every
	off := 0.0
	if whole%2 == 1 {
		off = swing(0) * every
	}
	return t + 3_000_000_000 + int64(math.Round(off+swing(whole)*float64(part)))
}

func swing(n int64) float64 {
	if n%2 == 1 {
		return -300e-6
	}
	return 300e-6
}

// slewed is swinging, and 5000 ppm faster from 3.1 s to 3.5 s, which no word of the kernel tells.
func slewed(t int64) int64 { return swinging(t) + min(max(t-origin-3_100_000_000, 0), 400_000_000)/200 }

// swung makes two hosts that exchange messages, the second of which stamps by a clock that is steered and has readings of a counter that is
// 30 ppm fast, until some second, which are wrong by up to off. Messages take delay to twice that. It returns what the first one's clock showed at each stamp of the second.
func swung(shows func(t int64) int64, seconds, until int, off, delay int64, seed uint64) (hosts [2]host, truth map[clock.HostTime]int64) {
	r := rand.New(rand.NewPCG(seed, 7))
	var a, b []trace.TimelineEvent
	truth = make(map[clock.HostTime]int64)
	add := func(list *[]trace.TimelineEvent, at int64, class int, flow uint64, role trace.Role) {
		if list == &b {
			stamp := shows(at)
			truth[clock.HostTime(stamp)] = at
			at = stamp
		}
		*list = append(*list, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Class: class, Flow: flow, Role: role}, Time: clock.TimelineTime(at), Map: -1,
			Values: []trace.Value{trace.OfInt(int64(len(*list)))}})
	}
	flow := uint64(0)
	for t := int64(origin); t < origin+int64(seconds)*1e9; t += 1_000_000 {
		add(&a, t, 0, 0, trace.NoRole)
		add(&b, t+500_000, 0, 0, trace.NoRole)
		if t%10_000_000 == 0 {
			sent := t + r.Int64N(100_000)
			received := sent + delay + r.Int64N(delay)
			add(&a, sent, 1, flow+1, trace.Sends)
			add(&b, received, 1, flow+1, trace.Receives)
			add(&b, received+10_000, 1, flow+2, trace.Sends)
			add(&a, received+10_000+delay+r.Int64N(delay), 1, flow+2, trace.Receives)
			flow += 2
		}
		// The recorder stores a reading each second, and those around a change of the rate.
		d := t - origin
		if part := d % 700_000_000; d > int64(until)*1e9 || d%1e9 != 0 && part != 5_000_000 && part != 695_000_000 {
			continue
		}
		stamp, read := shows(t), d+r.Int64N(2*off+1)-off
		x := steering.Reading{Counter: 1e12 + uint64(float64(read)*(1+30e-6)), Error: uint64(off) + 2, Ns: stamp - origin,
			Kernel: steering.Kernel{Known: true, Tick: 10_000, Freq: int64(math.Round(swing(d/700_000_000) * 65536e6))}}
		if d == 0 {
			x.Counter = 1e12
		}
		add(&b, t, 2, 0, trace.NoRole)
		b[len(b)-1].Values = x.Values("tsc", nil)
	}
	sort := func(x, y trace.TimelineEvent) int { return int(x.Event.Time - y.Event.Time) }
	slices.SortStableFunc(a, sort)
	slices.SortStableFunc(b, sort)
	return [2]host{{name: "a", events: a}, {name: "b", events: b, more: []trace.Class{steering.Class()}}}, truth
}

// TestEventsOfASteeredClockAreWithinTrueBounds has a clock whose rate changes by 600 ppm all the time: the assumption of alignment does not hold
// for it, but for the counter that its readings lead to.
func TestEventsOfASteeredClockAreWithinTrueBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		most       int
		off, delay int64
	}{{0, 40, 20_000}, {3, 40, 20_000}, {0, 3_000, 200}}
	for _, test := range tests[:testneed.Cases(len(tests))] { // the bounds are those of the messages, and those of the readings
		const seconds = 6
		hosts, truth := swung(swinging, seconds, seconds, test.off, test.delay, 1)
		s, got := followBeside(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, test.most)
		bounded, tight, of := 0, 0, 0
		for _, x := range got {
			if s.Schema().Hosts[x.host] != "b" {
				if x.bounded && (x.low != x.high || int64(x.at) != int64(x.stamp)) {
					t.Fatalf("the reference's event at %d is at %d", x.stamp, x.at)
				}
				continue
			}
			of++
			if !x.bounded {
				continue
			}
			bounded++
			want := truth[x.stamp]
			if int64(x.low) > want+1 || int64(x.high) < want-1 {
				t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, want, x.low, x.high)
			}
			if x.high.Sub(x.low) < 1_000_000 {
				tight++
			}
		}
		if bounded < of*3/4 || tight < bounded*2/5 {
			t.Errorf("of %d events of the steered clock %d are bounded, %d of them within 0.5 ms", of, bounded, tight)
		}
		if o := s.Outcome(); len(o.Unaligned) > 0 {
			t.Errorf("outcome %+v", o)
		}
	}
}

// TestEventsWithoutReadingsHaveNoBoundsAndAWarningSaysSo has readings that stop after 3 of 7 s.
func TestEventsWithoutReadingsHaveNoBoundsAndAWarningSaysSo(t *testing.T) {
	const seconds, until = 7, 3
	hosts, truth := swung(swinging, seconds, until, 40, 20_000, 2)
	s, got, warnings := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 0)
	bounded := 0
	for _, x := range got {
		if s.Schema().Hosts[x.host] != "b" || !x.bounded {
			continue
		}
		bounded++
		want := truth[x.stamp]
		if want > origin+until*1e9+2_100_000_000 {
			t.Fatalf("the event at %d s, long after the last reading, has bounds", (want-origin)/1e9)
		}
		if want <= origin+until*1e9 && (int64(x.low) > want+1 || int64(x.high) < want-1) {
			t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, want, x.low, x.high)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "no readings of its clocks come any more") || bounded == 0 {
		t.Errorf("%d events have bounds, warnings: %q", bounded, warnings)
	}
}

// TestASlewThatNoReadingFollowedIsToldAndHurtsNoLaterBound has a clock that gains 2 ms between two readings.
func TestASlewThatNoReadingFollowedIsToldAndHurtsNoLaterBound(t *testing.T) {
	const seconds = 6
	hosts, truth := swung(slewed, seconds, seconds, 40, 20_000, 3)
	s, got, warnings := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 0)
	later := 0
	for _, x := range got {
		want := truth[x.stamp]
		between := want > origin+3_000_000_000 && want < origin+3_500_000_000 // the readings around the slew
		if s.Schema().Hosts[x.host] != "b" || !x.bounded || between {
			continue
		}
		if int64(x.low) > want+1 || int64(x.high) < want-1 {
			t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, want, x.low, x.high)
		}
		if want > origin+4_000_000_000 {
			later++
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "slewed by more than 500 ppm") || later < 1000 {
		t.Errorf("%d later events have bounds, warnings: %q", later, warnings)
	}
	if o := s.Outcome(); len(o.Set) != 1 || o.Set[0].String() != "b" {
		t.Errorf("outcome %+v", o)
	}
}

// TestAClockWithOneReadingIsAlignedAsItIsAndAWarningSaysSo has a recorder that reads the clocks once.
func TestAClockWithOneReadingIsAlignedAsItIsAndAWarningSaysSo(t *testing.T) {
	const seconds = 5
	hosts := talk(seconds, 4)
	x := steering.Reading{Counter: 1, Ns: 3_000_000_000}
	hosts[1].more = []trace.Class{steering.Class()}
	e := hosts[1].events[0]
	e.Class, e.Values = 2, x.Values("tsc", nil)
	hosts[1].events = slices.Insert(hosts[1].events, 0, e)
	s, got, warnings := followWarned(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 200 * time.Millisecond}}, 0)
	bounded := 0
	for _, x := range got {
		if s.Schema().Hosts[x.host] != "b" || !x.bounded {
			continue
		}
		bounded++
		if want := invertB(int64(x.stamp)); int64(x.low) > want+1 || int64(x.high) < want-1 {
			t.Fatalf("the event at %d: truth %d is outside of %d to %d", x.stamp, want, x.low, x.high)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "do not come") || bounded == 0 {
		t.Errorf("%d events have bounds, warnings: %q", bounded, warnings)
	}
}
