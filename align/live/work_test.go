package live_test

import (
	"context"
	"errors"
	"testing"

	"meridian/align/live"
	"meridian/clock"
	"meridian/trace"
)

// pairOf returns a timeline of two clocks, and what gives it exchanges from an instant to another.
func pairOf(t *testing.T) (l *live.Timeline, a, b int, talk func(b int, from, to int64)) {
	l, err := live.New(live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, b = l.Clock("a", "a", 1), l.Clock("b", "b", 1)
	return l, a, b, func(b int, from, to int64) {
		for x := from; x < to; x += 50_000_000 {
			l.Add(a, b, trace.Message{Sent: clock.HostTime(x), Received: clock.HostTime(7e9 + x + 100_000)})
			l.Add(b, a, trace.Message{Sent: clock.HostTime(7e9 + x + 200_000), Received: clock.HostTime(x + 300_000)})
		}
	}
}

func TestWhatWasShownWhileARoundWasSolvedStays(t *testing.T) {
	l, _, b, talk := pairOf(t)
	talk(b, 1e9, 10e9)
	if _, err := l.Round(context.Background()); err != nil {
		t.Fatal(err)
	}
	talk(b, 10e9, 12e9)
	k := l.Prepare(true)
	talk(b, 12e9, 14e9)
	last := clock.HostTime(7e9 + 14e9)
	l.Seen(b, last)
	before := l.Maps()
	k.Solve(context.Background())
	changed, err := l.Apply(k)
	if err != nil || len(changed) != 2 {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	for x := clock.HostTime(7e9 + 11e9); x <= last; x += 10_000_000 {
		if was, is := before.Place(b, x), l.Maps().Place(b, x); far(was.At, is.At) || far(was.Low, is.Low) || far(was.High, is.High) || !is.Bounded {
			t.Fatalf("at %d: %+v was shown, and now it is %+v", x, was, is)
		}
	}
	if was, is := before.Place(b, last+1), l.Maps().Place(b, last+1); far(was.At, is.At) {
		t.Errorf("the estimate jumps by %d ns", is.At-was.At)
	}
}

func TestRoundThatIsContradictedWhileItIsSolvedShowsNoBounds(t *testing.T) {
	l, a, b, talk := pairOf(t)
	talk(b, 1e9, 10e9)
	if _, err := l.Round(context.Background()); err != nil {
		t.Fatal(err)
	}
	talk(b, 10e9, 12e9)
	k := l.Prepare(true)
	k.Solve(context.Background())
	// b has been set back by a second: a message from a arrives before it was sent.
	l.Add(a, b, trace.Message{Sent: 12_100_000_000, Received: 7e9 + 11_100_100_000})
	if _, err := l.Apply(k); err != nil {
		t.Fatal(err)
	}
	if p := l.Maps().Place(b, 7e9+12_200_000_000); p.Bounded {
		t.Errorf("%+v is bounded behind a contradiction", p)
	}
	if l.Prepare(false) == nil && l.Prepare(true) == nil {
		t.Error("no round follows")
	}
}

func TestClockThatIsRestartedWhileARoundIsSolvedIsAnother(t *testing.T) {
	l, _, b, talk := pairOf(t)
	talk(b, 1e9, 10e9)
	k := l.Prepare(true)
	again := l.Clock("b", "b", 1)
	k.Solve(context.Background())
	if _, err := l.Apply(k); err != nil {
		t.Fatal(err)
	}
	if !l.Maps().Place(b, 7e9+9e9).Bounded {
		t.Error("the clock before is not bounded where it was heard")
	}
	_, before := l.Maps().Map(b)
	if _, c := l.Maps().Map(again); c == before {
		t.Error("the new clock is in the component of the old one without a message")
	}
}

func TestRoundThatIsCancelledLeavesTheMapsAndIsMadeAgain(t *testing.T) {
	l, _, b, talk := pairOf(t)
	talk(b, 1e9, 10e9)
	before := l.Maps()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k := l.Prepare(true)
	k.Solve(ctx)
	if _, err := l.Apply(k); !errors.Is(err, context.Canceled) || l.Maps() != before {
		t.Fatalf("error %v, maps changed %t", err, l.Maps() != before)
	}
	if l.Prepare(false) == nil {
		t.Error("no round is due")
	}
}
