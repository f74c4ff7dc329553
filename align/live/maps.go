package live

import (
	"math"

	"meridian/clock"
)

// Run is a map of a clock over a stretch of its readings, in one component. It does not change.
type Run struct {
	Component   int
	Epoch       int            // pieces of a clock between steps have numbers of their own
	First, Last clock.HostTime // the readings that it is for
	// Until is the last reading at which the bounds of Map hold; after it nothing bounds the clock.
	Until clock.HostTime
	Map   clock.Map // without Low and High where nothing bounds the clock
}

func (r *Run) bounded() bool { return r.Map.Low != nil && r.Map.High != nil }

// place returns where a reading is on the timeline.
func (r *Run) place(at clock.HostTime, granularity int64) Place {
	p := Place{Component: r.Component, At: r.Map.At(at)}
	if at >= r.First && at <= r.Until && r.bounded() {
		p.Low, p.High, _, _ = r.Map.EventBounds(at, granularity)
		p.Bounded = true
		p.Low, p.High = min(p.Low, p.At), max(p.High, p.At)
	}
	return p
}

// Place is where an event is on the timeline of a component: at least Low, at most High, if Bounded.
type Place struct {
	At, Low, High clock.TimelineTime
	Bounded       bool
	Component     int
}

// Kind is a kind of [Change].
type Kind uint8

const (
	// Joined: Clock is in Component from the reading From on. Before, it was in another, or alone.
	Joined Kind = iota
	// Stepped: Clock was set by By after the reading From. What was shown of its readings from then to To, when that was
	// found out, had wrong bounds, and has been replaced.
	Stepped
	// HandedOver: the timeline of Component follows Clock from its reading From on, instead of Other. By is the width of
	// what is not known of the offset between the two: the bounds of all clocks are wider by that from then on.
	HandedOver
	// Restarted: Clock has taken the name of Other, which is gone.
	Restarted
	// Bent: the messages between Clock and Other show that the two do not keep the assumption between the readings From and To
	// of Clock. Bounds there are wider once that is known, and what was shown before may be wrong. Where it is not Sure, no message contradicts the
	// assumption, but the bounds are so wide that the clocks may bend by some of a round trip.
	Bent
	// Doubted: messages show that a clock of a group was set, or may have been, and not surely which. The bounds of Clock begin anew
	// with messages that are sent after its reading From. The timeline follows its reference through whatever that was set by.
	// Doubt numbers the doubt, and Among says which clocks were doubted with it.
	Doubted
	// Named: Clock is the one, or one of those, that the doubt with the number Doubt was about. It was set by about By between some
	// seconds before From and To, or did not keep the assumption.
	Named
	// Unnamed: what the doubt with the number Doubt was about is not known better than that it was one of Among at least.
	Unnamed
)

func (k Kind) String() string {
	return [...]string{"joined", "stepped", "handed over", "restarted", "bent", "doubted", "named", "unnamed"}[k]
}

// Change is an event in the life of a timeline.
type Change struct {
	Version   int64 // of the maps with which it came
	Kind      Kind
	Clock     int
	Other     int // clock, -1 for none
	Component int
	From, To  clock.HostTime
	By        int64
	Doubt     int   // of Doubted, Named and Unnamed
	Among     []int // clocks
	Sure      bool  // of Bent
}

// Maps is what is known of all clocks at one time. It does not change, and may be used by many goroutines.
type Maps struct {
	Version int64 // grows with every change
	// Changes are the latest ones, the oldest first.
	Changes []Change
	clocks  []shownClock
}

type shownClock struct {
	granularity int64
	runs        []*Run // in the order of epochs, then of readings
	ambiguous   bool   // readings may belong to more than one epoch
}

// maxChanges is how many changes a snapshot holds.
const maxChanges = 256

// Clocks returns the number of clocks.
func (m *Maps) Clocks() int { return len(m.clocks) }

// Runs returns the maps of a clock in the order of its epochs, then of its readings. Runs of different epochs may overlap: the
// clock was set back, or the messages do not tell when it was set.
func (m *Maps) Runs(n int) []*Run { return m.clocks[n].runs }

// Map returns the map that is in force, and the component to which it leads.
func (m *Maps) Map(n int) (of *clock.Map, component int) {
	r := m.clocks[n].runs[len(m.clocks[n].runs)-1]
	return &r.Map, r.Component
}

// Place returns where an event with the stamp at is on the timeline. Where the clock may have shown the stamp twice, the
// estimate is that of the later time, and the bounds contain both.
func (m *Maps) Place(n int, at clock.HostTime) Place {
	c := &m.clocks[n]
	var out Place
	found, epoch := false, 0
	for i := len(c.runs) - 1; i >= 0; i-- {
		r := c.runs[i]
		if at < r.First || at > r.Last || found && r.Epoch == epoch {
			continue
		}
		p := r.place(at, c.granularity)
		if !found {
			out, found, epoch = p, true, r.Epoch
			if !c.ambiguous {
				break
			}
			continue
		}
		epoch = r.Epoch
		out.Bounded = out.Bounded && p.Bounded && p.Component == out.Component
		out.Low, out.High = min(out.Low, p.Low), max(out.High, p.High)
	}
	if !found { // forgotten
		out = c.nearest(at).place(at, c.granularity)
		out.Bounded = false
	}
	if !out.Bounded {
		out.Low, out.High = 0, 0
	}
	return out
}

// nearest returns the run whose readings are nearest to one that none is for.
func (c *shownClock) nearest(at clock.HostTime) *Run {
	best, least := c.runs[len(c.runs)-1], int64(math.MaxInt64)
	for _, r := range c.runs {
		if d := max(clock.Sub(r.First, at), clock.Sub(at, r.Last)); d <= least {
			best, least = r, d
		}
	}
	return best
}

// ForEvent returns where an event is on the timeline; see [Maps.Place].
func (m *Maps) ForEvent(n int, stamp clock.HostTime) (at, low, high clock.TimelineTime, bounded bool) {
	p := m.Place(n, stamp)
	return p.At, p.Low, p.High, p.Bounded
}

// change notes a change for the next snapshots.
func (t *Timeline) change(c Change) {
	c.Version = t.version + 1
	t.changes = append(t.changes, c)
	if n := len(t.changes) - maxChanges; n > 0 {
		t.changes = append([]Change(nil), t.changes[n:]...)
	}
}

// publish makes a snapshot.
func (t *Timeline) publish() {
	t.version++
	m := &Maps{Version: t.version, Changes: t.changes[:len(t.changes):len(t.changes)]}
	for _, c := range t.clocks {
		s := shownClock{granularity: c.granularity}
		s.runs = append(s.runs, c.runs...)
		for _, e := range c.epochs {
			if t.unfinished != nil && e.awaits() {
				s.runs = append(s.runs, e.interim())
				continue
			}
			s.runs = append(s.runs, e.runs...)
		}
		s.ambiguous = len(s.runs) > 0 && s.runs[0].Epoch != s.runs[len(s.runs)-1].Epoch
		m.clocks = append(m.clocks, s)
	}
	t.maps = m
}
