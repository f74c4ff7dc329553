package causal

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// world is clocks that all show the time of the timeline, and messages between them.
type world struct{ Problem }

func newWorld(clocks int, granularity int64) *world {
	w := &world{}
	for range clocks {
		w.Clocks = append(w.Clocks, trace.Clock{Granularity: granularity, First: 1 << 62, Last: -1 << 62})
		w.Maps = append(w.Maps, clock.Map{Mid: clock.Curve{{}}})
	}
	w.Fixed = make([]bool, clocks)
	w.Fixed[clocks-1] = true
	return w
}

func (w *world) send(from, to int, at clock.HostTime, delay int64) {
	stamp := func(c int, t clock.HostTime) clock.HostTime {
		k := &w.Clocks[c]
		t -= clock.HostTime(int64(t) % k.Granularity)
		k.First, k.Last = min(k.First, t), max(k.Last, t)
		return t
	}
	m := trace.Message{Sent: stamp(from, at), Received: stamp(to, at+clock.HostTime(delay))}
	for i := range w.Channels {
		if c := &w.Channels[i]; c.From == from && c.To == to {
			c.Messages = append(c.Messages, m)
			return
		}
	}
	w.Channels = append(w.Channels, trace.Channel{From: from, To: to, Messages: []trace.Message{m}})
}

// restored moves the estimates and demands that they are curves which invert nothing and stay within the bounds.
func (w *world) restored(t interface {
	Helper()
	Fatalf(string, ...any)
}) []clock.Curve {
	t.Helper()
	curves, ok := RestoreOrder(&w.Problem)
	if !ok {
		t.Fatalf("messages of one time contradict each other")
	}
	for i, c := range curves {
		if err := c.Check(); err != nil {
			t.Fatalf("clock %d: %v", i, err)
		}
		for _, k := range c {
			low, high, lowOK, highOK := w.Maps[i].Bounds(k.X)
			if within := k.X >= w.Clocks[i].First && k.X <= w.Clocks[i].Last; within && (lowOK && k.Y < low || highOK && k.Y > high) {
				t.Fatalf("clock %d at %d: %d outside [%d %d]", i, k.X, k.Y, low, high)
			}
		}
	}
	if worst := w.inverted(curves); worst > 0 {
		t.Fatalf("a message is inverted by %d ns more than its stamps leave open", worst)
	}
	return curves
}

// inverted returns by how much more than its stamps leave open the worst message is received before it was sent: a step
// of the receiver's where that is more than a nanosecond, and then one for the rounding of curves. Messages of one clock
// and of two that must not move are nobody's to restore.
func (w *world) inverted(curves []clock.Curve) (worst int64) {
	for _, c := range w.Channels {
		if c.From == c.To || w.Fixed[c.From] && w.Fixed[c.To] {
			continue
		}
		open := int64(0)
		if g := w.Clocks[c.To].Granularity; g > 1 {
			open = g + 1
		}
		for _, m := range c.Messages {
			sent, received := curves[c.From].At(m.Sent, clock.Nearest), curves[c.To].At(m.Received, clock.Nearest)
			worst = max(worst, int64(sent-received)-open)
		}
	}
	return worst
}

func TestClocksThatConstrainEachOtherMoveTogether(t *testing.T) {
	w := newWorld(3, 1) // web, app, db
	for at := clock.HostTime(0); at < 1_000_000_000; at += 10_000_000 {
		w.send(0, 1, at, 20_000)
		w.send(1, 0, at, 20_000)
		w.send(1, 2, at, 20_000)
		w.send(2, 1, at, 20_000)
	}
	// Both are far too late: app alone could move by 20 µs before web's messages stop it.
	for i := range 2 {
		w.Maps[i].Mid = clock.Curve{{Y: 300_000}}
	}
	curves := w.restored(t)
	for i := range 2 {
		if off := curves[i].At(500_000_000, clock.Nearest) - 500_000_000; off < 19_000 || off > clock.TimelineTime(20_000*int64(2-i)) {
			t.Errorf("clock %d is off by %d ns: to be moved until nothing is inverted, and no further", i, off)
		}
	}
}

func TestBothEndsOfAnInvertedMessageGiveWay(t *testing.T) {
	w := newWorld(3, 1)
	w.send(0, 1, 1_000_000, 100)
	w.Maps[0].Mid = clock.Curve{{Y: 1_100}} // inverted by 1000
	curves := w.restored(t)
	if a, b := curves[0].At(1_000_000, clock.Nearest), curves[1].At(1_000_100, clock.Nearest); a != 1_000_598 || b != 1_000_602 {
		t.Errorf("sent at %d, received at %d: want the middle of 1 001 100 and 1 000 100, 3 ns apart but for rounding", a, b)
	}
	if off := curves[0].At(1_000_000_000_000_000, clock.Nearest) - 1_000_000_000_000_000; off > 1_100 || off < 0 {
		t.Errorf("off by %d ns far behind", off)
	}
}

func TestCurvesThatInvertNothingStayAsTheyAre(t *testing.T) {
	w := newWorld(2, 1)
	w.send(0, 1, 0, 100)
	w.send(1, 0, 500, 100)
	w.Maps[0].Mid = clock.Curve{{Y: 100}}
	if got := w.restored(t)[0]; len(got) != 1 || got[0].Y != 100 {
		t.Errorf("moved to %v", got)
	}
}

func TestMessagesThatContradictEachOtherUnderAnyClockAreRefused(t *testing.T) {
	w := newWorld(3, 1)
	w.send(0, 1, 1_000, 100)
	w.send(1, 0, 1_200, -300) // received before what it answers was sent
	if _, ok := RestoreOrder(&w.Problem); ok {
		t.Error("a circle of messages that arrives before it began was taken")
	}
}

func TestMessagesTakePrecedenceOverBounds(t *testing.T) {
	w := newWorld(2, 1)
	w.send(0, 1, 1_000, 100)
	w.Maps[0].Mid = clock.Curve{{Y: 5_000}}
	w.Maps[0].Low = clock.Curve{{Y: 4_000}} // wrong
	curves, ok := RestoreOrder(&w.Problem)
	if !ok || curves[0].At(1_000, clock.Nearest) > 1_100 {
		t.Errorf("%v %v: the message is still inverted", curves, ok)
	}
}

func TestNoMessageStaysInvertedWhateverTheEstimates(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const span = 2_000_000_000
		clocks := rapid.IntRange(2, 5).Draw(t, "clocks")
		w := newWorld(clocks, rapid.SampledFrom([]int64{1, 1, 10, 1000}).Draw(t, "granularity"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 300).Draw(t, "messages") {
			from, to := r.IntN(clocks), r.IntN(clocks)
			if from != to {
				w.send(from, to, clock.HostTime(r.Int64N(span)), 10+int64(float64(50_000)*r.ExpFloat64()))
			}
		}
		stray := rapid.SampledFrom([]int64{1, 30_000, 10_000_000, 1_000_000_000}).Draw(t, "stray")
		bounded := rapid.Bool().Draw(t, "bounded")
		for i := range w.Maps[:clocks-1] {
			m := &w.Maps[i]
			m.Mid = nil
			last := clock.TimelineTime(-1 << 62)
			for x := clock.HostTime(-span); x <= 2*span; x += clock.HostTime(span / int64(2+r.IntN(9))) {
				last = max(last, clock.TimelineTime(int64(x)+r.Int64N(2*stray+1)-stray))
				m.Mid = append(m.Mid, clock.Knot{X: x, Y: last})
			}
			if bounded { // as narrow as hold both the truth and the estimate
				low, high := clock.TimelineTime(-2), clock.TimelineTime(2)
				for _, k := range m.Mid {
					off := k.Y - clock.TimelineTime(k.X)
					low, high = min(low, off), max(high, off)
				}
				m.Low, m.High = clock.Curve{{Y: low}}, clock.Curve{{Y: high}}
			}
		}
		w.restored(t)
	})
}
