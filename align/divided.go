package align

import (
	"slices"

	"meridian/align/steps"
	"meridian/clock"
	"meridian/trace"
)

// Divided is a problem in which each piece of a clock that was set is a clock of its own, with the maps of the pieces. It
// tells messages apart whose stamps a clock showed twice: what becomes of a message is measured by these maps.
type Divided struct {
	trace.Problem             // clocks and channels only; the first piece of a clock has its number
	Maps          []clock.Map // of the pieces
	ClockOf       []int       // of each piece: the clock
	// ChannelOf is, of each channel and behind these of each of Apart, the one of the problem that was given. Channels from
	// Sure on, and Apart, hold messages of which the pieces are not known but likely. Those of Apart share no component.
	ChannelOf []int
	Sure      int
	Apart     []trace.Channel
}

// divided returns the problem by pieces.
func divided(t *steps.Parted, s *Solution) *Divided {
	d := &Divided{Maps: s.Maps}
	d.Clocks = t.Clocks
	channels, origins, sure, counted := t.All(s.Tree)
	d.Channels, d.Apart, d.ChannelOf, d.Sure = channels[:counted:counted], channels[counted:], origins, sure
	for k := range t.Clocks {
		d.ClockOf = append(d.ClockOf, t.ClockOf(k))
	}
	return d
}

// WithMaps returns a solution whose pieces have other maps, and the maps of the clocks that follow from these. It shares all
// else with s, which must have been divided.
func (s *Solution) WithMaps(maps []clock.Map) *Solution {
	out, tree, d := *s, *s.Tree, *s.Divided
	d.Maps = maps
	tree.Maps = slices.Clone(s.Maps)
	out.Tree, out.Divided, out.Pieces = &tree, &d, slices.Clone(s.Pieces)
	next := make([]int, len(s.Maps)) // of each clock: its next piece
	for c := range out.Pieces {
		out.Pieces[c] = slices.Clone(s.Pieces[c])
	}
	for k, c := range d.ClockOf {
		if out.Pieces[c] == nil {
			tree.Maps[c] = maps[k]
			continue
		}
		if p := &out.Pieces[c][next[c]]; p.Map.Mid != nil {
			p.Map = maps[k]
		}
		next[c]++
	}
	for c, pieces := range out.Pieces {
		if pieces != nil {
			tree.Maps[c] = steps.Join(pieces)
		}
	}
	return &out
}
