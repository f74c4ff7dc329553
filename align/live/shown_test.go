package live_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/live"
	"meridian/clock"
	"meridian/trace"
)

// exchanges gives a timeline exchanges of two clocks, b being off by a wave, and calls check after every round.
func exchanges(t *testing.T, l *live.Timeline, n int, every time.Duration, check func(seen clock.HostTime)) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	a, b := l.Clock("a", "a", 1), l.Clock("b", "b", 1)
	onB := func(x int64) clock.HostTime { return clock.HostTime(5e9 + x + x/20_000) }
	for i := range n {
		x := 1e9 + int64(i)*every.Nanoseconds()
		d, e := int64(1e5*(1+r.ExpFloat64())), int64(1e5*(1+r.ExpFloat64()))
		l.Add(a, b, trace.Message{Sent: clock.HostTime(x), Received: onB(x + d)})
		l.Add(b, a, trace.Message{Sent: onB(x + d + 1000), Received: clock.HostTime(x + d + 1000 + e)})
		changed, err := l.Advance(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if changed != nil {
			check(onB(x + d + 1000))
		}
	}
}

func TestWhatWasShownStays(t *testing.T) {
	l, err := live.New(live.Options{Interval: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		at clock.HostTime
		live.Place
	}
	var all []shown
	var frontier clock.HostTime
	var before *live.Maps
	exchanges(t, l, 200, 100*time.Millisecond, func(seen clock.HostTime) {
		m := l.Maps()
		for _, c := range []int{0, 1} {
			for _, r := range m.Runs(c) {
				for _, curve := range []clock.Curve{r.Map.Mid, r.Map.Low, r.Map.High} {
					if err := curve.Check(); err != nil && curve != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, s := range all {
			if p := m.Place(1, s.at); far(p.At, s.At) || far(p.Low, s.Low) || far(p.High, s.High) || !p.Bounded {
				t.Fatalf("at %d: %+v was shown, and now it is %+v", s.at, s.Place, p)
			}
		}
		if before != nil && len(all) > 0 {
			// The estimate goes on from where it was.
			if was, is := before.Place(1, frontier+1), m.Place(1, frontier+1); far(was.At, is.At) {
				t.Errorf("at %d the estimate jumps by %d ns", frontier+1, is.At-was.At)
			}
		}
		if p := m.Place(1, seen); p.Bounded {
			if p.At < p.Low || p.At > p.High {
				t.Errorf("at %d the estimate is not within its bounds: %+v", seen, p)
			}
			all = append(all, shown{seen, p})
		}
		// Bounds widen ahead, and end.
		last := live.Place{}
		for ahead := clock.HostTime(0); ahead < 12e9; ahead += 1e9 {
			p := m.Place(1, seen+ahead)
			if len(all) > 1 && p.Bounded != (ahead <= 10e9) {
				t.Errorf("%v ahead: bounded %t", time.Duration(ahead), p.Bounded)
			}
			if ahead > 3e9 && p.Bounded && p.High-p.Low < last.High-last.Low {
				t.Errorf("%v ahead the bounds get narrower", time.Duration(ahead))
			}
			last = p
		}
		before, frontier = m, seen
	})
	if len(all) < 8 {
		t.Fatalf("%d rounds only", len(all))
	}
}

// far reports whether two instants differ by more than roundings.
func far(a, b clock.TimelineTime) bool { return a-b > 2 || b-a > 2 }

// Of any number of messages the same number is kept.
func TestMessagesOfAWindowAreThinned(t *testing.T) {
	for _, every := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		l, err := live.New(live.Options{Interval: 2 * time.Second, Align: align.Options{Method: "two-point"}, Window: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		width := clock.TimelineTime(0)
		exchanges(t, l, int(6*time.Second/every), every, func(seen clock.HostTime) {
			p := l.Maps().Place(1, seen+1e6) // of this round
			if width = p.High - p.Low; !p.Bounded {
				width = 1 << 40
			}
		})
		if width > 250_000 { // a round trip of the least delays is 200 µs, and two messages each way may be false
			t.Errorf("%v between messages: bounds are %d ns wide", every, width)
		}
	}
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for name, o := range map[string]live.Options{
		"negative window": {Window: -1},
		"short window":    {Window: time.Millisecond},
		"long interval":   {Interval: 1000 * time.Hour},
		"unknown method":  {Align: align.Options{Method: "guess"}},
	} {
		if _, err := live.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLoneClockIsItsOwnTimeline(t *testing.T) {
	l, err := live.New(live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := l.Clock("a", "a", 1)
	l.Seen(c, 42)
	if p := l.Maps().Place(c, 42); !p.Bounded || p.At != 42 || p.Low != 42 || p.High != 42 {
		t.Errorf("at 42 a lone clock is at %+v", p)
	}
}

func TestRestartedHostIsANewClock(t *testing.T) {
	l, err := live.New(live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := l.Clock("a", "a", 1)
	again := l.Clock("a", "a", 1)
	m := l.Maps()
	if again == first || m.Clocks() != 2 || m.Place(first, 1).Component == m.Place(again, 1).Component {
		t.Errorf("clocks %d and %d, components %d and %d", first, again, m.Place(first, 1).Component, m.Place(again, 1).Component)
	}
	if n := len(m.Changes); n != 1 || m.Changes[0].Kind != live.Restarted || m.Changes[0].Clock != again || m.Changes[0].Other != first {
		t.Errorf("changes: %+v", m.Changes)
	}
}
