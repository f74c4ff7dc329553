// Package livetest plays worlds of known truth to a live alignment, faster than time passes.
//
// In goes a [Scenario]: clocks that wander and are set, hosts that come and go, links between them. Messages come to a
// [live.Timeline] one by one, in the order in which they arrive, and every end of one is an event. At the instant of the event
// the world asks the timeline where it is, as it would be shown, and compares the answer with the truth:
//
//	scenario --> messages, one by one --> live.Timeline --> places, as shown --> tally
//	        '--> truth ----------------------------------------------------------'
//
// The truth of a timeline is what its first reference's clock shows. From an instant at which another clock took over it is
// what that clock has gone on since, at the rate that the timeline gives to it.
//
// Bounds are wrong between a step and its discovery. These events are counted apart.
package livetest

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"meridian/align/live"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// Host is a machine with a clock. One of the same name as another that has left is that one after a restart.
type Host struct {
	Name        string
	Clock       sim.Clock
	Join, Leave time.Duration // since the start; a Leave of 0 is never
	Said        bool          // the timeline is told when it leaves
	// Steered is by how much a daemon has the clock off at every second, ns, beyond Clock; nil for a clock that nobody steers. Between them it is
	// straight. A reference must not be steered.
	Steered []float64
}

// at returns what the clock of a host shows.
func (h *Host) at(t clock.TimelineTime) clock.HostTime {
	shows := h.Clock.At(t)
	if len(h.Steered) < 2 {
		return shows
	}
	i := min(max(int(t/1e9), 0), len(h.Steered)-2)
	part := float64(t-clock.TimelineTime(i)*1e9) / 1e9
	return clock.Add(shows, int64(math.Round(h.Steered[i]+(h.Steered[i+1]-h.Steered[i])*part)))
}

// Link is exchanges between two hosts, of which A begins each.
type Link struct {
	A, B        int
	Period      time.Duration // mean
	There, Back time.Duration // least delays
	Jitter      time.Duration // mean of what exponential waits add
	From, Until time.Duration // when it works; an Until of 0 is for ever
}

// Scenario is what is played.
type Scenario struct {
	Seed    uint64
	Options live.Options
	Hosts   []Host
	Links   []Link
	Span    time.Duration
	// Lag is how long a round is solved, by true time, while messages come; 0 for none.
	Lag time.Duration
	// Samples is how many places as shown are kept for [World.Offline], spread over the whole span, at most; 0 keeps none, and no messages.
	Samples int
	// Watch is called each hour of the world, or as often as Every says.
	Watch func(at time.Duration, w *World)
	Every time.Duration
}

// World is a scenario while it is played.
type World struct {
	Tally
	Timeline *live.Timeline
	scenario *Scenario
	random   *rand.Rand
	hosts    []*machine
	byClock  map[int]*machine
	truths   map[int][]segment // of each component
	pending  flights
	seen     int64 // version of the changes that were looked at
	now      clock.TimelineTime
	samples  []sample
	messages map[[2]int][]trace.Message
	every    int        // places judged
	stride   int        // of how many judged places one is kept
	work     *live.Work // a round that is being solved
	begun    clock.TimelineTime
	doubted  map[int]clock.TimelineTime // when, by the number of the doubt
	steered  bool                       // a clock is
	open     []sample                   // places of steered worlds that are wrong, and not told to be so yet
}

type machine struct {
	Host
	number int // -1 before it joined
	gone   bool
	steps  int // that have happened
	found  int
	bent   bool         // the last step is known as a bend
	named  map[int]bool // steps of which it was named as the one that was set
}

// segment is the truth of a timeline from an instant on.
type segment struct {
	from  clock.TimelineTime // true time
	at    clock.TimelineTime // of the timeline, then
	by    *machine
	of    sim.Clock          // of by, without steps that were found as such: the timeline goes on as if there had been none
	line  clock.Curve        // its readings to the timeline
	began clock.TimelineTime // by the line, at from
}

// flight is what happens at an instant: an exchange is to begin, or a message arrives.
type flight struct {
	at       clock.TimelineTime
	link     int
	from, to int
	sent     clock.HostTime
	arrives  bool
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

// Play plays a scenario to its end.
func Play(ctx context.Context, s *Scenario) (*World, error) {
	w := &World{scenario: s, random: rand.New(rand.NewPCG(s.Seed, 0x6c697665)), byClock: make(map[int]*machine),
		truths: make(map[int][]segment), doubted: make(map[int]clock.TimelineTime), messages: make(map[[2]int][]trace.Message)}
	var err error
	if w.Timeline, err = live.New(s.Options); err != nil {
		return nil, err
	}
	for _, h := range s.Hosts {
		w.hosts = append(w.hosts, &machine{Host: h, number: -1})
		w.steered = w.steered || h.Steered != nil
	}
	if s.Samples > 0 {
		w.samples, w.stride = make([]sample, 0, s.Samples), 8
	}
	for i, l := range s.Links {
		heap.Push(&w.pending, flight{at: ns(l.From) + clock.TimelineTime(w.random.Int64N(int64(l.Period))), link: i})
		if s.Samples > 0 {
			n := int(1.2*s.Span.Seconds()/l.Period.Seconds()) + 100 // all, so that the heap does not grow by them
			w.messages[[2]int{l.A, l.B}] = make([]trace.Message, 0, n)
			w.messages[[2]int{l.B, l.A}] = make([]trace.Message, 0, n)
		}
	}
	every := s.Every
	if every == 0 {
		every = time.Hour
	}
	for next := every; len(w.pending) > 0; {
		f := heap.Pop(&w.pending).(flight)
		if f.at > ns(s.Span) {
			break
		}
		w.now = f.at
		w.comeAndGo()
		if f.arrives {
			err = w.arrive(ctx, f)
		} else {
			w.exchange(f)
		}
		if err != nil {
			return nil, err
		}
		if time.Duration(w.now) >= next && s.Watch != nil {
			s.Watch(next, w)
			next += every
		}
	}
	w.Timeline.Conclude()
	w.changes()
	for _, x := range w.open {
		w.Wrong++
		w.fail("at %v: %s, stamp %d: the truth is outside of its bounds, and no bend was told there", time.Duration(x.at), x.of.Name, x.stamp)
	}
	return w, nil
}

func ns(d time.Duration) clock.TimelineTime { return clock.TimelineTime(d) }

// comeAndGo lets hosts join and leave, and counts their steps.
func (w *World) comeAndGo() {
	for _, m := range w.hosts {
		if m.number < 0 && w.now >= ns(m.Join) {
			m.number = w.Timeline.Clock(m.Name, m.Name, 1)
			w.byClock[m.number] = m
		}
		if m.Leave > 0 && !m.gone && w.now >= ns(m.Leave) {
			if m.gone = true; m.Said {
				w.Timeline.Gone(m.number)
			}
		}
		for m.steps < len(m.Clock.Steps) && m.Clock.Steps[m.steps].At <= w.now {
			m.steps++
			w.Steps++
		}
	}
}

// exchange begins one, and plans the next.
func (w *World) exchange(f flight) {
	l := &w.scenario.Links[f.link]
	if l.Until > 0 && w.now >= ns(l.Until) {
		return
	}
	w.send(f.link, l.A, l.B, false)
	f.at += clock.TimelineTime(float64(l.Period) * (0.5 + w.random.Float64()))
	heap.Push(&w.pending, f)
}

func (w *World) send(link, from, to int, answer bool) {
	l, a, b := &w.scenario.Links[link], w.hosts[from], w.hosts[to]
	if a.number < 0 || b.number < 0 || a.gone || b.gone {
		return
	}
	least := l.There
	if from != l.A {
		least = l.Back
	}
	at := w.now + clock.TimelineTime(least) + clock.TimelineTime(w.random.ExpFloat64()*float64(l.Jitter))
	w.ask(a)
	heap.Push(&w.pending, flight{at: at, link: link, from: from, to: to, sent: a.at(w.now), arrives: true, answer: answer})
}

// arrive gives a message to the timeline.
func (w *World) arrive(ctx context.Context, f flight) error {
	a, b := w.hosts[f.from], w.hosts[f.to]
	if b.gone {
		return nil
	}
	w.ask(b)
	m := trace.Message{Sent: f.sent, Received: b.at(w.now)}
	if w.scenario.Samples > 0 {
		key := [2]int{f.from, f.to}
		w.messages[key] = append(w.messages[key], m)
	}
	w.Messages++
	w.Timeline.Add(a.number, b.number, m)
	began := time.Now()
	changed, err := w.advance(ctx)
	if err != nil {
		return err
	}
	if changed != nil {
		w.round(time.Since(began))
	}
	w.changes()
	if !f.answer {
		w.send(f.link, f.to, f.from, true)
	}
	return nil
}

// changes follows what the timeline says has changed.
func (w *World) changes() {
	maps := w.Timeline.Maps()
	if maps.Version == w.seen {
		return
	}
	for _, c := range maps.Changes {
		if c.Version <= w.seen {
			continue
		}
		w.Changes[c.Kind]++
		if c.Sure || slices.Contains([]live.Kind{live.Stepped, live.Doubted, live.Named, live.Unnamed}, c.Kind) {
			w.Alarms++
		}
		switch m := w.byClock[c.Clock]; c.Kind {
		case live.Stepped:
			switch {
			case w.find(m):
			case m.bent: // known as a bend already
			default:
				w.fail("at %v: %s was not set, but a step of %d ns was found", time.Duration(w.now), m.Name, c.By)
			}
		case live.Bent:
			w.tell(func(x *sample) bool {
				at := m.at(x.at)
				return (x.of == m || x.of == w.byClock[c.Other]) && at >= c.From && at <= c.To
			})
			if !c.Sure {
				break
			}
			w.judgeBend(m, w.byClock[c.Other])
			for _, x := range []*machine{m, w.byClock[c.Other]} {
				if x.found < x.steps && w.spans(m, c, x.Clock.Steps[x.found].At) {
					step := x.Clock.Steps[x.found]
					x.bent = w.find(x)
					w.follow(x, step)
				}
			}
		case live.Named:
			w.judgeNamed(m, &c)
		case live.Unnamed:
			w.judgeAmong(&c)
		case live.Doubted: // from here on everything is judged
			w.tell(func(x *sample) bool { return w.now-x.at <= around/2 })
			if _, known := w.doubted[c.Doubt]; !known {
				w.doubted[c.Doubt] = w.now
				w.Doubts++
			}
			for m.found < m.steps {
				step := m.Clock.Steps[m.found]
				m.bent = w.find(m)
				w.follow(m, step)
			}
		case live.HandedOver:
			line := w.Timeline.Maps().Runs(c.Clock)
			curve := line[len(line)-1].Map.Mid
			of := m.Clock
			of.Steps = of.Steps[:m.found] // a step that is not found yet is followed from when it is
			h := of.Inverse(c.From)
			w.truths[c.Component] = append(w.truths[c.Component], segment{from: h, at: w.truth(c.Component, h), by: m, of: of, line: curve, began: curve.At(of.At(h), clock.Nearest)})
		case live.Joined:
			if w.truths[c.Component] == nil {
				r := w.byClock[c.Other]
				of, _ := maps.Map(c.Other)
				w.truths[c.Component] = []segment{{by: r, of: unset(r.Clock, w.now), line: of.Mid, at: of.At(r.Clock.At(0)), began: of.At(r.Clock.At(0))}}
			}
		}
	}
	w.seen = maps.Version
}

// follow lets timelines follow a reference through a step that is taken for a slew.
func (w *World) follow(m *machine, step sim.Step) {
	for _, s := range w.truths {
		if x := &s[len(s)-1]; x.by == m {
			x.of.Steps = append(slices.Clone(x.of.Steps), step)
		}
	}
}

// spans reports whether a bend, by a host's clock, contains a true instant.
func (w *World) spans(m *machine, c live.Change, at clock.TimelineTime) bool {
	const margin = 10_000_000_000 // stretches end at messages
	return m.Clock.At(at+margin) >= c.From && m.Clock.At(at-margin) <= c.To
}

// find notes that the step of a host was found; false if there was none to be found.
func (w *World) find(m *machine) bool {
	if m.found == m.steps {
		return false
	}
	w.Unfound = append(w.Unfound, time.Duration(w.now-m.Clock.Steps[m.found].At))
	m.found++
	m.bent = false
	return true
}

// unset returns a clock without its steps after an instant.
func unset(c sim.Clock, after clock.TimelineTime) sim.Clock {
	n := 0
	for n < len(c.Steps) && c.Steps[n].At <= after {
		n++
	}
	c.Steps = c.Steps[:n]
	return c
}

// truth returns the instant of a timeline at a true instant.
func (w *World) truth(component int, at clock.TimelineTime) clock.TimelineTime {
	s := w.truths[component]
	i := len(s) - 1
	for i > 0 && s[i].from > at {
		i--
	}
	x := &s[i]
	return x.at + x.line.At(x.of.At(at), clock.Nearest) - x.began
}

// ask asks where an event of a host is that happens now.
func (w *World) ask(m *machine) {
	stamp := m.at(w.now)
	w.Timeline.Seen(m.number, stamp)
	p := w.Timeline.Maps().Place(m.number, stamp)
	if w.truths[p.Component] == nil { // alone
		return
	}
	w.Asked++
	if p.Bounded {
		w.judge(m, stamp, p)
	}
}

// judge compares a place with the truth.
func (w *World) judge(m *machine, stamp clock.HostTime, p live.Place) {
	w.Bounded++
	if p.High > p.Low {
		w.width(int64(p.High - p.Low))
	}
	truth := w.truth(p.Component, w.now)
	slack := clock.TimelineTime(0)
	if len(w.truths[p.Component]) > 1 { // the truth is rounded
		slack = 3
	}
	switch inside := truth >= p.Low-slack && truth <= p.High+slack; {
	case m.found < m.steps:
		if w.Unseen++; !inside {
			w.Outside++
		}
		return
	case inside:
	case w.anyUnfound():
		w.Beside++
		return
	case w.steered:
		w.open = append(w.open, sample{m, w.now, stamp, p})
	default:
		w.Wrong++
		w.fail("at %v: %s, stamp %d: the truth is outside by %d, %d ns", time.Duration(w.now), m.Name, stamp, p.Low-truth, truth-p.High)
	}
	w.every++
	if w.scenario.Samples > 0 && w.every%w.stride == 0 {
		w.keep(sample{m, w.now, stamp, p})
	}
}

// keep keeps a place. When there are as many as may be, every second one goes, and half as many come.
func (w *World) keep(x sample) {
	if len(w.samples) == cap(w.samples) {
		half := w.samples[:0]
		for i := 1; i < len(w.samples); i += 2 {
			half = append(half, w.samples[i])
		}
		w.samples, w.stride = half, 2*w.stride
	}
	w.samples = append(w.samples, x)
}

func (w *World) anyUnfound() bool {
	for _, m := range w.hosts {
		if m.found < m.steps {
			return true
		}
	}
	return false
}

func (w *World) fail(format string, args ...any) {
	w.Failed++
	if len(w.Failures) < maxFailures {
		w.Failures = append(w.Failures, fmt.Sprintf(format, args...))
	}
}

// maxFailures is how many are told.
const maxFailures = 10

// advance makes a round if one is due. With a lag its result counts that much later.
func (w *World) advance(ctx context.Context) ([]int, error) {
	if w.scenario.Lag == 0 {
		return w.Timeline.Advance(ctx)
	}
	if w.work == nil {
		if w.work = w.Timeline.Prepare(false); w.work != nil {
			w.begun = w.now
			w.work.Solve(ctx)
		}
		return nil, nil
	}
	if w.now.Sub(w.begun) < w.scenario.Lag {
		return nil, nil
	}
	done := w.work
	w.work = nil
	return w.Timeline.Apply(done)
}
