package pipeline

import (
	"math"
	"slices"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// refine takes the errors of clocks that were set from their pieces where every event is placed by the map of its own piece.
// Elsewhere the bounds hold all readings that a stamp may be, and the errors are those of these bounds.
func (a *Aligned) refine() {
	for i := range a.Clocks {
		if !a.inPieces(i) || !a.placedByPieces(i) {
			continue
		}
		var all pair.Spread
		var sum, length float64
		add := func(m *clock.Map, first, last clock.HostTime) {
			s := spreadOutside(m, &trace.Clock{First: first, Last: last}, nil)
			if length == 0 {
				all = s
			}
			all.Best, all.Worst = min(all.Best, s.Best), max(all.Worst, s.Worst)
			span := float64(clock.Sub(last, first)) + 1
			sum, length = sum+span*float64(s.Mean), length+span
		}
		for n := range a.Solution.Pieces[i] {
			p := &a.Solution.Pieces[i][n]
			add(&p.Map, p.First, p.Last)
		}
		for n, s := range a.segments {
			if s.clock == i {
				first, last := a.stampsWithin(s)
				add(a.segmentMap(n), first, last)
			}
		}
		all.Mean = int64(sum / length)
		a.coverage.spreads[i] = all
	}
}

// stampsWithin returns the least and the greatest stamp of a segment.
func (a *Aligned) stampsWithin(s segment) (first, last clock.HostTime) {
	first, last = math.MaxInt64, math.MinInt64
	packets := a.captures[s.capture].Packets
	for n := s.packets.From; n < s.packets.To; n++ {
		if a.Captures[s.capture].Of(n) == s.clock {
			t := packets.At(n).Time
			first, last = min(first, t), max(last, t)
		}
	}
	return first, last
}

// inPieces reports whether a clock was set and each of its pieces has a map.
func (a *Aligned) inPieces(i int) bool {
	return a.Solution.Pieces != nil && a.Solution.Pieces[i] != nil && !hasLostPiece(a.Solution, i)
}

// bounds reports whether the map of a piece of a clock that was set bounds all of the piece by itself. Where it does not, the map
// of the whole clock may: a piece ends before the next one begins.
func (a *Aligned) bounds(piece *clock.Map, c int, first, last clock.HostTime) bool {
	return len(piece.Unbounded(first, last, a.coverage.limits[a.Solution.Component[c]])) == 0
}

// placedByPieces reports whether the piece of each event of a clock that was set is known: those of messages, and those of
// captures whose order of stamps shows the steps.
func (a *Aligned) placedByPieces(i int) bool {
	d := a.Solution.Divided
	if d == nil || len(a.operations[i]) > 0 || slices.ContainsFunc(a.recordings, func(x recording) bool { return slices.Contains(x.clocks, i) }) {
		return false
	}
	for _, c := range append(slices.Clone(d.Channels[d.Sure:]), d.Apart...) {
		if d.ClockOf[c.From] == i || d.ClockOf[c.To] == i {
			return false
		}
	}
	if slices.ContainsFunc(a.segments, func(s segment) bool { return s.clock == i && a.segmentMaps(s) == nil }) {
		return false
	}
	return !slices.ContainsFunc(a.Solution.Pieces[i], func(p align.Piece) bool { return !a.bounds(&p.Map, i, p.First, p.Last) })
}

// hasLostPiece reports whether a clock that was set has a piece that shares no component with its others: which of its events
// are of that piece is not known, so nothing bounds any of them.
func hasLostPiece(s *align.Solution, i int) bool {
	return s.Pieces != nil && slices.ContainsFunc(s.Pieces[i], func(p align.Piece) bool { return p.Map.Mid == nil })
}
