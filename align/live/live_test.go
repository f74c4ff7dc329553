package live_test

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/live"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// cheap is a method that costs a fifth of the default one; its bounds are the same.
var cheap = align.Options{Method: "two-point"}

// world plays hosts that exchange messages, and asks of every event where it is at the time when it comes.
type world struct {
	t        *testing.T
	timeline *live.Timeline
	random   *rand.Rand
	hosts    []*host
	links    []link
	truth    func(at clock.TimelineTime) clock.TimelineTime // of the timeline of component 0
	pending  flights
	now      clock.TimelineTime

	lag     time.Duration // that a round takes to be solved; 0 makes rounds at once
	begun   clock.TimelineTime
	working *live.Work
	solved  chan struct{}

	asked, bounded, wrong, unseen int
	width                         float64
	rounds                        int
	spent                         time.Duration
}

type host struct {
	sim.Clock
	number      int
	from, until clock.TimelineTime
	stepped     clock.TimelineTime // a step that is not found out yet; 0 for none
}

type link struct {
	a, b   int
	period time.Duration
	min    [2]time.Duration
	jitter time.Duration
}

// flight is something that comes at an instant.
type flight struct {
	at       clock.TimelineTime
	from, to int
	m        trace.Message
	link     int
	arrived  bool
	answer   bool
}

type flights []flight

func (f flights) Len() int           { return len(f) }
func (f flights) Less(i, j int) bool { return f[i].at < f[j].at }
func (f flights) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)        { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

// ask asks where an event of a host is that happens now.
func (w *world) ask(h *host) {
	stamp := h.At(w.now)
	w.timeline.Seen(h.number, stamp)
	p := w.timeline.Maps().Place(h.number, stamp)
	if p.Component != 0 {
		return
	}
	w.asked++
	if !p.Bounded {
		return
	}
	w.bounded++
	w.width += float64(p.High - p.Low)
	truth := w.truth(w.now)
	if truth < p.Low || truth > p.High {
		if h.stepped != 0 {
			w.unseen++
			return
		}
		if w.wrong++; w.wrong < 10 {
			w.t.Errorf("at %v host %d: truth %d is not within [%d, %d] (%d, %d)", time.Duration(w.now), h.number, truth, p.Low, p.High, p.Low-truth, p.High-truth)
		}
	}
}

func (w *world) send(from, to, l int, answer bool) {
	k := &w.links[l]
	least := k.min[0]
	if from != k.a {
		least = k.min[1]
	}
	delay := least + time.Duration(w.random.ExpFloat64()*float64(k.jitter))
	a, b := w.hosts[from], w.hosts[to]
	arrival := w.now + clock.TimelineTime(delay)
	if arrival >= b.until || w.now >= a.until {
		return
	}
	w.ask(a)
	heap.Push(&w.pending, flight{at: arrival, from: from, to: to, m: trace.Message{Sent: a.At(w.now), Received: b.At(arrival)}, link: l, arrived: true, answer: answer})
}

// run plays until an instant.
func (w *world) run(until clock.TimelineTime) {
	for len(w.pending) > 0 && w.pending[0].at < until {
		f := heap.Pop(&w.pending).(flight)
		w.now = f.at
		a, b := w.hosts[f.from], w.hosts[f.to]
		if !f.arrived { // time for an exchange
			k := &w.links[f.link]
			if w.now >= a.from && w.now >= b.from && w.now < a.until && w.now < b.until {
				w.send(k.a, k.b, f.link, false)
			}
			f.at += clock.TimelineTime(float64(k.period) * (0.5 + w.random.Float64()))
			heap.Push(&w.pending, f)
			continue
		}
		w.ask(b)
		w.timeline.Add(a.number, b.number, f.m)
		begin := time.Now()
		changed, err := w.advance()
		if err != nil {
			w.t.Fatal(err)
		}
		if changed != nil {
			w.rounds++
			w.spent += time.Since(begin)
			for _, c := range w.timeline.Maps().Changes {
				if c.Kind == live.Stepped {
					for _, h := range w.hosts {
						if h.number == c.Clock && h.stepped != 0 {
							h.stepped = 0
						}
					}
				}
			}
		}
		if !f.answer {
			w.send(f.to, f.from, f.link, true)
		}
	}
	w.now = until
}

// advance makes a round that is due, in as much time of the world as lag says, and meanwhile goes on.
func (w *world) advance() ([]int, error) {
	if w.lag == 0 {
		return w.timeline.Advance(context.Background())
	}
	if w.working == nil {
		if w.working = w.timeline.Prepare(false); w.working != nil {
			w.begun, w.solved = w.now, make(chan struct{})
			go func(k *live.Work, solved chan struct{}) {
				defer close(solved)
				k.Solve(context.Background())
			}(w.working, w.solved)
		}
		return nil, nil
	}
	if w.now < w.begun+clock.TimelineTime(w.lag) {
		return nil, nil
	}
	<-w.solved
	k := w.working
	w.working = nil
	return w.timeline.Apply(k)
}

func newWorld(t *testing.T, seed uint64, o live.Options) *world {
	timeline, err := live.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, timeline: timeline, random: rand.New(rand.NewPCG(seed, 1))}
}

func (w *world) host(name string, c sim.Clock) *host {
	h := &host{Clock: c, number: w.timeline.Clock(name, name, 1), from: 0, until: 1 << 61}
	w.hosts = append(w.hosts, h)
	return h
}

func (w *world) link(a, b int, period time.Duration, there, back, jitter time.Duration) {
	w.links = append(w.links, link{a, b, period, [2]time.Duration{there, back}, jitter})
	heap.Push(&w.pending, flight{at: w.now + clock.TimelineTime(w.random.Int64N(int64(period))), from: a, to: b, link: len(w.links) - 1})
}

func TestBoundsHoldAsShown(t *testing.T) {
	w := newWorld(t, 1, live.Options{})
	w.host("a", sim.Clock{OffsetNs: 1_700_000_000e9})
	w.host("b", sim.Clock{OffsetNs: 1_600_000_000e9, SkewPPM: 40, Wave: sim.Wave{AmplitudePPM: 0.3, Period: 10 * time.Minute}})
	w.link(0, 1, 100*time.Millisecond, 100*time.Microsecond, 120*time.Microsecond, 50*time.Microsecond)
	w.truth = func(at clock.TimelineTime) clock.TimelineTime {
		return clock.TimelineTime(w.hosts[0].At(at))
	}
	w.run(clock.TimelineTime(25 * time.Second))
	w.report(99)
}

func TestStepIsFoundAndNoBoundSpansIt(t *testing.T) {
	for _, by := range []int64{5e6, -3e9} {
		w := newWorld(t, 1, live.Options{Interval: 2 * time.Second, Align: cheap})
		w.host("a", sim.Clock{OffsetNs: 1_700_000_000e9})
		w.host("b", sim.Clock{OffsetNs: 1_600_000_000e9, SkewPPM: 40, Steps: []sim.Step{{At: 20e9, By: by}}})
		w.link(0, 1, 100*time.Millisecond, 100*time.Microsecond, 120*time.Microsecond, 50*time.Microsecond)
		w.truth = func(at clock.TimelineTime) clock.TimelineTime { return clock.TimelineTime(w.hosts[0].At(at)) }
		w.run(20e9)
		w.hosts[1].stepped = 20e9
		w.run(25e9)
		w.report(96) // none until the step is found
		w.found(live.Stepped)
	}
}

func TestTimelineGoesOnWithoutItsReference(t *testing.T) {
	w := newWorld(t, 1, live.Options{Interval: 2 * time.Second, Align: cheap})
	w.host("a", sim.Clock{OffsetNs: 1_700_000_000e9})
	w.host("b", sim.Clock{OffsetNs: 1_600_000_000e9, SkewPPM: 40})
	w.host("c", sim.Clock{OffsetNs: 1_500_000_000e9, SkewPPM: -20})
	w.link(0, 1, 200*time.Millisecond, 100*time.Microsecond, 120*time.Microsecond, 50*time.Microsecond)
	w.link(0, 2, 200*time.Millisecond, 100*time.Microsecond, 120*time.Microsecond, 50*time.Microsecond)
	w.link(1, 2, 200*time.Millisecond, 100*time.Microsecond, 120*time.Microsecond, 50*time.Microsecond)
	w.hosts[0].until = 15e9
	w.truth = func(at clock.TimelineTime) clock.TimelineTime { return clock.TimelineTime(w.hosts[0].At(at)) }
	w.run(50e9)
	w.report(99)
	w.found(live.HandedOver)
}

// report says what was asked, and fails if less than some per cent of it was bounded.
func (w *world) report(least int) {
	w.t.Helper()
	w.t.Logf("%d asked, %d bounded, %d wrong, %d before a step was found, mean width %.0f ns, %d rounds of %v",
		w.asked, w.bounded, w.wrong, w.unseen, w.width/float64(max(w.bounded, 1)), w.rounds, w.spent/time.Duration(max(w.rounds, 1)))
	if w.bounded < w.asked*least/100 {
		w.t.Errorf("only %d of %d places are bounded", w.bounded, w.asked)
	}
}

// found fails if there was no change of a kind.
func (w *world) found(k live.Kind) {
	w.t.Helper()
	for _, c := range w.timeline.Maps().Changes {
		if c.Kind == k {
			w.t.Logf("%v: %+v", k, c)
			return
		}
	}
	w.t.Errorf("no change %v in %+v", k, w.timeline.Maps().Changes)
}
