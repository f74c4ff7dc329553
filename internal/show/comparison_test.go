package show

import (
	"strings"
	"testing"
)

func TestComparisonCountsTheBoundsThatHold(t *testing.T) {
	said := []ClockReading{{-30, -50, -10, true}, {10, -5, 25, true}, {20, 0, 40, true}, {400, 0, 0, false}}
	s := NewSynchroniser("ours", "db", said, true)
	if s.Readings != 4 || s.Bounded != 3 || *s.Held != 2 || *s.Width != 40 || s.Min != -30 || s.Max != 400 || s.AbsMedian != 20 || s.AbsP99 != 30 {
		t.Errorf("%+v held %d width %d", s, *s.Held, *s.Width)
	}
	if s := NewSynchroniser("ours", "db", said, false); s.Held != nil {
		t.Error("bounds are judged without a truth")
	}
	if s := NewSynchroniser("ours", "db", nil, true); s.Held != nil || s.Width != nil {
		t.Errorf("%+v", s)
	}
}

func TestBetweenComparesAllPairsAndThisHost(t *testing.T) {
	b := NewBetween("ours", [][]ClockReading{{{Offset: 100}, {Offset: 50}}, {{Offset: -20}, {Offset: 45}, {Offset: 999}}})
	if b.Min != 5 || b.Max != 120 {
		t.Errorf("%+v", b)
	}
	if NewBetween("ours", [][]ClockReading{{{Offset: 1}}, nil}) != nil {
		t.Error("hosts without readings are compared")
	}
}

func TestComparisonSaysWhatIsNotKnown(t *testing.T) {
	c := &Comparison{SameClock: true, RoundTrips: []*Delays{NewDelays("round trip", "db", nil, nil)},
		Synchronisers: []*Synchroniser{NewSynchroniser("ntp", "db", nil, true)}, Costs: []*ClockCost{{Name: "ptp4l"}}}
	var out strings.Builder
	if err := c.Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"|error| median", "ntp           db           0", "ptp4l          -"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, out.String())
		}
	}
}
