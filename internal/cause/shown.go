package cause

import "slices"

// Shown returns a path as it is shown: no piece on a host is shorter than nothing, as it has one clock. A piece that was cut where a wait on
// another clock began is, by the estimate, where the ways behind it took longer than the whole wait. It is nothing then, and the
// first way behind it is shorter by as much; what lies between is that much later. The path is as long as before, and other pieces on hosts
// keep their lengths. Where no way is left to be shortened, the path remains as it is.
//
// What is known of lengths does not change, so [Model.Sum] is for the path itself.
func Shown(pieces []Piece) []Piece {
	if !slices.ContainsFunc(pieces, belowNothing) {
		return pieces
	}
	out := slices.Clone(pieces)
	for i := range out {
		if !belowNothing(out[i]) {
			continue
		}
		way := i + 1
		for way < len(out) && out[way].From < 0 {
			way++
		}
		if way == len(out) {
			continue
		}
		by := -out[i].Length()
		out[i].End = out[i].Begin
		for k := i + 1; k < way; k++ {
			out[k].Begin += by
			out[k].End += by
		}
		out[way].Begin += by
	}
	return out
}

func belowNothing(p Piece) bool { return p.From < 0 && p.End < p.Begin }
