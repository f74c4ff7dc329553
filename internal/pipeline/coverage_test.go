package pipeline

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"meridian/align"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/source"
	"meridian/internal/show"
	"meridian/match"
	"meridian/trace"
)

// band is a map whose estimate is exact and whose error grows from near at the ends to far in the middle of 0 to 1000 s.
func band(near, far int64) clock.Map {
	m := clock.Map{Mid: clock.Curve{{X: 0, Y: 0}}}
	for _, k := range []struct {
		at  clock.HostTime
		err int64
	}{{0, near}, {500e9, far}, {1000e9, near}} {
		m.Low = append(m.Low, clock.Knot{X: k.at, Y: clock.TimelineTime(int64(k.at) - k.err)})
		m.High = append(m.High, clock.Knot{X: k.at, Y: clock.TimelineTime(int64(k.at) + k.err)})
	}
	return m
}

func TestABoundBeyondAllThatWasRecordedIsNone(t *testing.T) {
	stamps := []clock.HostTime{0, 100e9, 400e9, 500e9, 600e9, 1000e9}
	var messages []trace.Message
	for _, at := range stamps {
		messages = append(messages, trace.Message{Sent: at, Received: at})
	}
	s := &Solved{
		Matched: &Matched{Result: &match.Result{}, operations: make([][]source.Operation, 3)},
		Solution: &align.Solution{
			Tree:  &network.Tree{Component: []int{0, 0, 1}, References: []int{0, 2}, Parent: []int{0, 0, 2}},
			Hosts: []align.Host{{Bounded: true}, {Bounded: true}, {Bounded: true}},
		},
	}
	s.Channels = []trace.Channel{{From: 0, To: 1, Messages: messages}}
	s.recorded = [2]int{1, 1}
	for _, name := range []string{"a", "b", "c"} {
		s.Clocks = append(s.Clocks, trace.Clock{Name: name, Host: name, First: 0, Last: 1000e9, Events: int64(len(stamps))})
	}
	for _, x := range []struct {
		name      string
		far       int64 // error of b in the middle, ns
		unbounded *show.EventRange
		worst     int64
	}{
		{"narrow", 900e9, nil, 900e9},
		// The recording lasts 1000 s. A bound further off than that says nothing.
		{"wide in the middle", 1900e9, &show.EventRange{Events: 3, FirstNs: 400e9, LastNs: 600e9}, 1000e9},
		{"wide all over", 1e15, &show.EventRange{Events: 4, FirstNs: 100e9, LastNs: 600e9}, 0},
	} {
		s.Solution.Maps = []clock.Map{clock.Identity(), band(100e9, x.far), clock.Identity()}
		c, err := s.cover(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := c.unbounded[1]
		if (got == nil) != (x.unbounded == nil) || got != nil && *got != *x.unbounded {
			t.Errorf("%s: unbounded %v, want %v", x.name, got, x.unbounded)
		}
		if x.worst > 0 && (c.spreads[1].Worst < x.worst-1e9 || c.spreads[1].Worst > x.worst) {
			t.Errorf("%s: worst bound %d, want %d", x.name, c.spreads[1].Worst, x.worst)
		}
		if c.unbounded[0] != nil || c.unaligned[0] != nil || c.unaligned[1] != nil {
			t.Errorf("%s: the reference or an aligned clock is said not to be: %+v", x.name, c)
		}
		if c.unaligned[2] == nil || c.unaligned[2].Events != 6 || c.maps[2].Low != nil || c.maps[2].High != nil || c.unbounded[2] == nil {
			t.Errorf("%s: a clock without messages has bounds", x.name)
		}
	}
}

func TestGapsHaveNoBoundsInTheReport(t *testing.T) {
	m := band(1, 1000)
	knots := show.Knots(&m, []clock.HostInterval{{First: 400e9, Last: 600e9}}, 0, 1000e9)
	for _, k := range knots {
		in := k.HostNs >= 400e9 && k.HostNs <= 600e9
		if in != (k.LowNs == nil) || in != (k.HighNs == nil) {
			t.Errorf("at %d: low %v, high %v", k.HostNs, k.LowNs, k.HighNs)
		}
	}
	if s := spreadOutside(&m, &trace.Clock{First: 0, Last: 1000e9, Events: 1}, []clock.HostInterval{{First: 0, Last: 1000e9}}); s != (pair.Spread{}) {
		t.Errorf("a clock without any bound has an error of %v", s)
	}
}

func TestAClockWithAPieceThatNothingConnectsHasNoBounds(t *testing.T) {
	s := &Solved{
		Matched: &Matched{Result: &match.Result{}},
		Solution: &align.Solution{
			Tree:  &network.Tree{Component: []int{0, 0}, References: []int{0}, Parent: []int{0, 0}, Maps: []clock.Map{clock.Identity(), band(1, 2)}},
			Hosts: []align.Host{{Bounded: true}, {Bounded: true}},
		},
	}
	for _, name := range []string{"a", "b"} {
		s.Clocks = append(s.Clocks, trace.Clock{Name: name, Host: name, First: 0, Last: 1000e9, Events: 5})
	}
	for _, lost := range []bool{false, true} {
		pieces := []align.Piece{{First: 0, Last: 10, Map: band(1, 2)}, {First: 5, Last: 1000e9, Map: band(1, 2)}}
		if lost {
			pieces[1].Map = clock.Map{}
		}
		s.Solution.Pieces = [][]align.Piece{nil, pieces}
		c, err := s.cover(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := c.unbounded[1]; (got != nil) != lost || lost && got.Events != 5 || c.unbounded[0] != nil {
			t.Errorf("lost %v: unbounded %v", lost, got)
		}
	}
}

// The first list has a clock set back by 71 ms whose first part of messages bounds it on one side: the second part, which is later,
// does on the other. In the second and the third a clock is set by decades between two messages of one direction.
func TestEveryEventHasABoundOrTheExitCodeSaysThatItHasNone(t *testing.T) {
	const year = 366 * 24 * 3600 * 1_000_000_000
	for _, name := range []string{"unbounded_piece.txt", "set_by_20_years.txt", "set_by_54_years.txt"} {
		t.Run(name, func(t *testing.T) {
			inputs, err := input.Parse([]string{filepath.Join("testdata", name)})
			if err != nil {
				t.Fatal(err)
			}
			rows, outcome := csvRows(t, inputs, Options{})
			without := 0
			for _, r := range rows {
				low, lowErr := strconv.ParseInt(r["low_ns"], 10, 64)
				high, highErr := strconv.ParseInt(r["high_ns"], 10, 64)
				switch {
				case r["low_ns"] == "" && r["high_ns"] == "":
					without++
				case lowErr != nil || highErr != nil:
					t.Fatalf("bounds %q and %q", r["low_ns"], r["high_ns"])
				case high-low > year:
					t.Fatalf("an event of %s is bounded within %d ns", r["host"], high-low)
				}
			}
			if without > 0 != (len(outcome.Broken) > 0) {
				t.Fatalf("%d events without bounds, and broken are %q", without, outcome.Broken)
			}
		})
	}
}

// Three hosts, one of which is smeared by 800 ppm: the messages of each pair allow bounds, which the loop of them contradicts.
func TestBoundsThatContradictAMessageAreAPromiseBroken(t *testing.T) {
	inputs, err := input.Parse([]string{filepath.Join("testdata", "loop_contradicts.txt")})
	if err != nil {
		t.Fatal(err)
	}
	_, outcome := csvRows(t, inputs, Options{})
	if q := &outcome.Report.Quality; q.Contradicting != 1 || len(outcome.Broken) == 0 {
		t.Errorf("%d of %d messages contradict the bounds, and broken are %q", q.Contradicting, q.Messages, outcome.Broken)
	}
}
