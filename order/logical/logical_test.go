package logical

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

// execution draws events that can have happened, mixed as they might be found: each clock's in their order.
func execution(t *rapid.T) []Event {
	clocks := rapid.IntRange(1, 7).Draw(t, "clocks")
	var happened []Event
	sends := 0
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		e := Event{Clock: rapid.IntRange(0, clocks-1).Draw(t, "clock"), Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind"))}
		switch {
		case e.Kind == Send:
			e.Message = sends * 7
			sends++
		case e.Kind == Receive && sends > 0:
			e.Message = rapid.IntRange(0, sends).Draw(t, "message") * 7 // the last was not sent
			if e.Message == sends*7 {
				e.Message = -1
			}
		default:
			e.Kind = Local
		}
		happened = append(happened, e)
	}
	// Another interleaving of the same clocks.
	perClock := make([][]Event, clocks)
	for _, e := range happened {
		perClock[e.Clock] = append(perClock[e.Clock], e)
	}
	var events []Event
	for len(events) < len(happened) {
		c := rapid.IntRange(0, clocks-1).Draw(t, "next")
		for len(perClock[c]) == 0 {
			c = (c + 1) % clocks
		}
		events = append(events, perClock[c][0])
		perClock[c] = perClock[c][1:]
	}
	return events
}

// closure is the definition: earlier on a clock, or sent and received, and on from there.
func closure(events []Event) [][]bool {
	n := len(events)
	before := make([][]bool, n)
	for i, a := range events {
		before[i] = make([]bool, n)
		for j, b := range events {
			before[i][j] = a.Clock == b.Clock && i < j ||
				a.Kind == Send && b.Kind == Receive && a.Message == b.Message
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				before[i][j] = before[i][j] || before[i][k] && before[k][j]
			}
		}
	}
	return before
}

func TestVectorsAndTreesSayWhatTheTransitiveClosureSays(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		events := execution(t)
		want := closure(events)
		vector, err := Vector(events)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Tree(events)
		if err != nil {
			t.Fatal(err)
		}
		for a := range events {
			for b := range events {
				if got := vector.HappenedBefore(a, b); got != want[a][b] {
					t.Fatalf("vectors: %d before %d is %v: %v", a, b, got, events)
				}
				if got := tree.HappenedBefore(a, b); got != want[a][b] {
					t.Fatalf("trees: %d before %d is %v: %v", a, b, got, events)
				}
				if got := tree.Concurrent(a, b); got != (a != b && !want[a][b] && !want[b][a]) {
					t.Fatalf("%d and %d concurrent is %v", a, b, got)
				}
			}
			if v, w := vector.At(a), tree.At(a); !reflect.DeepEqual(v, w) {
				t.Fatalf("at %d: %v and %v", a, v, w)
			}
		}
		if vector.Entries() != tree.Entries() {
			t.Fatalf("%d and %d entries", vector.Entries(), tree.Entries())
		}
	})
}

// The number of an event is the length of the longest chain that ends with it.
func TestLamportNumbersAreTheLongestChains(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		events := execution(t)
		before := closure(events)
		got, err := Lamport(events)
		if err != nil {
			t.Fatal(err)
		}
		for b := range events {
			longest := int64(0)
			for a := range events {
				if before[a][b] {
					longest = max(longest, got[a])
				}
			}
			if got[b] != longest+1 {
				t.Fatalf("event %d is %d after %d: %v", b, got[b], longest, events)
			}
		}
	})
}

func TestWhatCannotHaveHappenedIsAnError(t *testing.T) {
	for name, events := range map[string][]Event{
		"a circle of two": {{Clock: 0, Kind: Receive, Message: 1}, {Clock: 0, Kind: Send, Message: 2}, {Clock: 1, Kind: Receive, Message: 2}, {Clock: 1, Kind: Send, Message: 1}},
		"to itself":       {{Clock: 0, Kind: Receive, Message: 1}, {Clock: 0, Kind: Send, Message: 1}},
		"sent twice":      {{Clock: 0, Kind: Send, Message: 1}, {Clock: 1, Kind: Send, Message: 1}},
		"no clock":        {{Clock: -1, Kind: Local, Message: 0}},
		"a huge clock":    {{Clock: 1 << 40, Kind: Local, Message: 0}},
	} {
		_, lamport := Lamport(events)
		_, vector := Vector(events)
		_, tree := Tree(events)
		if lamport == nil || vector == nil || tree == nil {
			t.Errorf("%s: %v, %v, %v", name, lamport, vector, tree)
		}
	}
}

// Numbers of clocks say nothing of how many there are.
func TestMemoryGrowsWithTheClocksThatHaveEvents(t *testing.T) {
	const n = 1000
	var near, far []Event
	for i, e := range traffic(50, n, "random") {
		near = append(near, e)
		e.Clock = maxClocks - 1 - e.Clock*7
		if far = append(far, e); i%2 == 0 { // the message is on its way until the end
			near, far = append(near, Event{Clock: 0, Kind: Send, Message: n + i}), append(far, Event{Clock: maxClocks - 1, Kind: Send, Message: n + i})
		}
	}
	for i := 0; i < 2*n; i += 2 {
		near, far = append(near, Event{Clock: 1, Kind: Receive, Message: n + i}), append(far, Event{Clock: maxClocks - 8, Kind: Receive, Message: n + i})
	}
	for name, order := range map[string]func([]Event) (*Order, error){"vector": Vector, "tree": Tree} {
		want, err := order(near)
		if err != nil {
			t.Fatal(err)
		}
		got, err := order(far)
		if err != nil {
			t.Fatal(err)
		}
		for a := range 100 {
			for b := range 100 {
				if x, y := got.HappenedBefore(20*a, 20*b), want.HappenedBefore(20*a, 20*b); x != y {
					t.Fatalf("%s: %d before %d is %v, not %v", name, 20*a, 20*b, x, y)
				}
			}
		}
		v, w := got.At(n), want.At(n)
		for c := range w {
			if v[maxClocks-1-7*c] != w[c] {
				t.Fatalf("%s: %d events of clock %d, not %d", name, v[maxClocks-1-7*c], maxClocks-1-7*c, w[c])
			}
		}
	}
}

func TestVectorsThatCannotBeHeldAreRefused(t *testing.T) {
	events := make([]Event, 100_000)
	for i := range events {
		events[i].Clock = i
	}
	for name, order := range map[string]func([]Event) (*Order, error){"vector": Vector, "tree": Tree} {
		if _, err := order(events); err == nil || !strings.Contains(err.Error(), "100000 vectors of 100000 clocks take more than 16 GiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	held, err := newBudget(&schedule{clocks: make([]int, 1<<10)}, 24)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(maxHeld/24>>10) - 1<<10
	if err := held.add(n); err != nil {
		t.Error(err)
	}
	if held.add(1) == nil {
		t.Error("one tree more is held")
	}
}

func TestAnOwnerThatIsNoneOfTheClocksPanics(t *testing.T) {
	for _, x := range [][2]int{{5, 2}, {2, 2}, {-1, 2}, {0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("owner %d of %d clocks", x[0], x[1])
				}
			}()
			NewTreeClock(x[0], x[1])
		}()
	}
}

func TestNewsTravelsThroughALongChain(t *testing.T) {
	const n = 20_000
	var events []Event
	for i := range n {
		events = append(events, Event{Clock: i, Kind: Receive, Message: i - 1}, Event{Clock: i, Kind: Send, Message: i})
	}
	o, err := Tree(events[:2*200])
	if err != nil || !o.HappenedBefore(0, 399) || o.HappenedBefore(399, 0) {
		t.Error(err)
	}
	numbers, err := Lamport(events)
	if err != nil || numbers[2*n-1] != 2*n {
		t.Error(err)
	}
}

// traffic is messages between clocks that a pattern chooses, each received at once.
func traffic(clocks, messages int, pattern string) []Event {
	rng := rand.New(rand.NewPCG(3, uint64(clocks)))
	var events []Event
	for m := range messages {
		from := rng.IntN(clocks)
		to := (from + 1 + rng.IntN(clocks-1)) % clocks
		switch pattern {
		case "ring":
			to = (from + 1) % clocks
		case "neighbours": // who mostly talk among themselves
			if group := from &^ 7; rng.IntN(50) > 0 {
				to = group + (from+1+rng.IntN(7))&7
			}
		case "star":
			if m%2 == 0 {
				from, to = 0, max(1, to)
			} else {
				from, to = max(1, from), 0
			}
		}
		events = append(events, Event{Clock: from, Kind: Send, Message: m}, Event{Clock: to, Kind: Receive, Message: m})
	}
	return events
}

// A receive that brings news of few must not look at all: what Tree visits grows with what it learns.
func TestATreeLooksOnlyAtWhatIsNews(t *testing.T) {
	const clocks = 1000
	a, b := NewTreeClock(0, clocks), NewTreeClock(1, clocks)
	// Clock 0 learns of everybody, and 1 from it.
	for c := 2; c < clocks; c++ {
		o := NewTreeClock(c, clocks)
		o.Increment()
		a.Increment()
		a.Join(o)
	}
	a.Increment()
	b.Increment()
	if n := len(b.Join(a)); n != clocks-1 {
		t.Fatalf("learnt of %d", n)
	}
	o := NewTreeClock(7, clocks)
	o.Increment()
	o.Increment()
	a.Increment()
	a.Join(o)
	b.Increment()
	if got := b.Join(a); !reflect.DeepEqual(got, []int32{7, 0}) || b.Get(7) != 2 || b.Get(8) != 1 {
		t.Errorf("learnt of %v", got)
	}
}

// The clocks alone: a send copies its sender's clock into the message, a receive joins the message's.
func BenchmarkJoin(b *testing.B) {
	for _, pattern := range []string{"random", "ring", "star", "neighbours"} {
		for _, clocks := range []int{16, 256, 2048} {
			events := traffic(clocks, 50_000, pattern)
			b.Run(fmt.Sprintf("%s/%d clocks/vector", pattern, clocks), func(b *testing.B) {
				own := make([][]int32, clocks)
				for i := range own {
					own[i] = make([]int32, clocks)
				}
				message := make([]int32, clocks)
				k := 0
				for b.Loop() {
					from, to := events[k].Clock, events[k+1].Clock
					own[from][from]++
					copy(message, own[from])
					v := own[to]
					v[to]++
					for c, known := range message {
						if known > v[c] {
							v[c] = known
						}
					}
					k = (k + 2) % len(events)
				}
			})
			b.Run(fmt.Sprintf("%s/%d clocks/tree", pattern, clocks), func(b *testing.B) {
				own, messages := make([]*TreeClock, clocks), make([]*TreeClock, clocks)
				for i := range own {
					own[i], messages[i] = NewTreeClock(i, clocks), NewTreeClock(i, clocks)
				}
				k, learnt := 0, 0
				for b.Loop() {
					from, to := events[k].Clock, events[k+1].Clock
					own[from].Increment()
					messages[from].Copy(own[from])
					own[to].Increment()
					learnt += len(own[to].Join(messages[from]))
					k = (k + 2) % len(events)
				}
				b.ReportMetric(float64(learnt)/float64(b.N), "entries/join")
			})
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, pattern := range []string{"random", "ring", "star"} {
		for _, clocks := range []int{16, 256} {
			events := traffic(clocks, 20_000, pattern)
			for i, order := range []func([]Event) (*Order, error){Vector, Tree} {
				b.Run(fmt.Sprintf("%s/%d clocks/%s", pattern, clocks, []string{"vector", "tree"}[i]), func(b *testing.B) {
					var o *Order
					for b.Loop() {
						var err error
						if o, err = order(events); err != nil {
							b.Fatal(err)
						}
					}
					receives := float64(len(events) / 2)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/receives, "ns/message")
					b.ReportMetric(float64(o.Entries())/receives, "entries/message")
				})
			}
		}
	}
}
