package logical

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// TestEventsInGapsCountAsIfTheyWereListed leaves out local events, and compares what remains with the whole.
func TestEventsInGapsCountAsIfTheyWereListed(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		whole := execution(t)
		var short []Event
		var at []int // by event of short: where it is in whole
		gap := make(map[int]int)
		for i, e := range whole {
			if e.Kind == Local && rapid.Bool().Draw(t, "left out") {
				gap[e.Clock]++
				continue
			}
			e.Gap = gap[e.Clock]
			gap[e.Clock] = 0
			short, at = append(short, e), append(at, i)
		}
		numbers, all := mustLamport(t, short), mustLamport(t, whole)
		for k, i := range at {
			if numbers[k] != all[i] {
				t.Fatalf("event %d is number %d of those listed, %d of all", i, numbers[k], all[i])
			}
		}
		for name, order := range map[string]func([]Event) (*Order, error){"vector": Vector, "tree": Tree} {
			part, err := order(short)
			if err != nil {
				t.Fatal(name, err)
			}
			of, err := order(whole)
			if err != nil {
				t.Fatal(name, err)
			}
			for k, i := range at {
				got, want := part.At(k), of.At(i)
				for len(got) < len(want) { // clocks of which nothing is listed: none of their events is heard of
					got = append(got, 0)
				}
				for c := range want {
					if !slices.ContainsFunc(short, func(e Event) bool { return e.Clock == c }) {
						want[c] = 0
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s: event %d is %v, of all %v", name, i, got, want)
				}
			}
		}
	})
}

func mustLamport(t *rapid.T, events []Event) []int64 {
	numbers, err := Lamport(events)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// Three clocks enter an operation and leave it: each leaves after all have entered.
func TestOneEventReceivesSeveralMessages(t *testing.T) {
	var events []Event
	for c := range 3 {
		events = append(events, Event{Clock: c, Kind: Send, Message: c, Gap: c * 10})
	}
	for c := range 3 {
		events = append(events, Event{Clock: c, Kind: Receive, Message: (c + 1) % 3, Gap: 5}, Event{Clock: c, Kind: Receive, Message: (c + 2) % 3, Gap: -1})
	}
	for c := range 3 {
		events = append(events, Event{Clock: c})
	}
	numbers, err := Lamport(events)
	if err != nil {
		t.Fatal(err)
	}
	// Entered at 1, 11 and 21; left at the greatest of those, or of the own clock's events, and one.
	if want := []int64{1, 11, 21}; !slices.Equal(numbers[:3], want) {
		t.Errorf("entered at %v, want %v", numbers[:3], want)
	}
	for c, want := range []int64{22, 22, 27} {
		if got := numbers[4+2*c]; got != want {
			t.Errorf("clock %d left at %d, want %d", c, got, want)
		}
		if got := numbers[9+c]; got != want+1 {
			t.Errorf("the event of clock %d after it is %d, want %d", c, got, want+1)
		}
	}
	for name, order := range map[string]func([]Event) (*Order, error){"vector": Vector, "tree": Tree} {
		o, err := order(events)
		if err != nil {
			t.Fatal(name, err)
		}
		for c, want := range [][]int32{{7, 11, 21}, {1, 17, 21}, {1, 11, 27}} {
			if got := o.At(4 + 2*c); !slices.Equal(got, want) {
				t.Errorf("%s: clock %d left knowing %v, want %v", name, c, got, want)
			}
			if want[c]++; !slices.Equal(o.At(9+c), want) {
				t.Errorf("%s: after that clock %d knows %v, want %v", name, c, o.At(9+c), want)
			}
		}
	}
	for _, wrong := range [][]Event{{{Kind: Receive, Gap: -1}}, {{}, {Kind: Receive, Gap: -1}}, {{Kind: Receive}, {Gap: -1}}, {{Gap: -2}}, {{Gap: 1 << 31}}} {
		if _, err := Lamport(wrong); err == nil {
			t.Errorf("%+v is no error", wrong)
		}
	}
}
