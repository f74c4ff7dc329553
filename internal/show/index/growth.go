package index

import (
	"math"
	"slices"
)

// growth is what passes from one view of a [Live] to the next, so that the page is told what has changed.
type growth struct {
	rows    [][]int // lanes, by host
	links   []int
	grouped int // lanes that are in one of these
	shape   int64
	counted [4]int
	version int64
	changes []change
	border  int64 // what lies before it was settled in the last view
}

// change says that in a version something changed at an instant that had been settled.
type change struct{ version, from int64 }

// maxChanges is how many changes of settled instants are told apart.
const maxChanges = 256

// Growth says how far a timeline has grown, as docs/viewer.md has it.
type Growth struct {
	Version int64 `json:"version"` // of this picture; they increase
	Shape   int64 `json:"shape"`   // while it is the same, about differs only in numbers of events, span and top
	Events  int64 `json:"events"`
	Span    int64 `json:"span"`
	Top     int   `json:"top"`
	Hosts   int   `json:"hosts"`
	Late    int64 `json:"late"`    // events that came after later ones
	Changed int64 `json:"changed"` // the first instant at which settled tiles have changed; -1 if none has
	// Dropped is what the index has no longer, from one instant to another.
	Dropped [][2]int64 `json:"dropped,omitempty"`
}

// Growth returns how far the timeline has grown, and what had been settled and yet changed since a version.
func (v *View) Growth(since int64) Growth {
	f := v.facts
	g := Growth{Version: v.version, Shape: v.shape, Events: f.events, Span: f.last, Top: topLevel(f.last), Hosts: len(f.hosts),
		Late: f.lost.late, Changed: -1}
	for _, x := range v.gaps {
		g.Dropped = append(g.Dropped, [2]int64{x.from, x.to})
	}
	for _, c := range v.changes { // the first is the least
		if c.version > since {
			g.Changed = c.from
			break
		}
	}
	return g
}

// group puts new lanes into their groups.
func (g *growth) group(v *View) {
	for len(g.rows) < len(v.facts.hosts) {
		g.rows = append(g.rows, nil)
	}
	for ; g.grouped < len(v.lanes); g.grouped++ {
		if host := v.lanes[g.grouped].host; host < 0 {
			g.links = append(g.links, g.grouped)
		} else {
			g.rows[host] = append(g.rows[host], g.grouped)
		}
	}
	v.groups = append(slices.Clone(g.rows), g.links)
}

// grace is how long before the last instant tiles are settled, ns: messages that take longer change settled tiles.
const grace = 1e9

// count gives the view its version and notes what settled tiles have changed since the one before.
func (g *growth) count(v *View, t *trees) {
	g.version++
	if t.touched < g.border {
		for n := len(g.changes); n > 0 && g.changes[n-1].from >= t.touched; n-- {
			g.changes = g.changes[:n-1]
		}
		// A copy: views have the list, too.
		g.changes = append(slices.Clip(g.changes), change{g.version, t.touched})
		if n := len(g.changes); n > maxChanges {
			g.changes = slices.Clone(g.changes[n/2:])
			g.changes[0].from = 0 // whatever it was
		}
	}
	t.touched = math.MaxInt64
	g.border = max(v.facts.last-grace, 0)
	now := [4]int{len(v.lanes), len(v.facts.byRow), len(v.facts.classes), len(v.facts.hosts)}
	if now != g.counted {
		g.counted = now
		g.shape++
	}
	v.version, v.shape, v.changes, v.border = g.version, g.shape, g.changes, g.border
}
