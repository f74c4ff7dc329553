package bound

import (
	"slices"
	"sort"
)

// profile is how much two clocks may wander at each instant: a convex function Φ whose second derivative is the wander, per ns.
// The offset departs from its tangent at t by no more than Φ(t+s) - Φ(t) - Φ'(t) s, besides epsilon. Φ and Φ' are 0 at the
// profile's origin.
type profile struct{ pieces []parabola }

// parabola is Φ from an instant on: value + slope (x-anchor) + half (x-anchor)².
type parabola struct{ from, anchor, value, slope, half float64 }

// interval is a stretch with its wander per ns.
type interval struct{ from, to, wander float64 }

// newProfile returns the profile of a least wander and of intervals with more. Where intervals overlap the greatest counts.
func newProfile(origin, least float64, more []interval) profile {
	if len(more) == 0 {
		return profile{[]parabola{{from: origin, anchor: origin, half: least / 2}}}
	}
	borders := []float64{origin}
	for _, x := range more {
		borders = append(borders, x.from, x.to)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	pieces := make([]parabola, 0, len(borders)+1)
	pieces = append(pieces, parabola{half: least / 2}) // before the first border
	for _, b := range borders {
		pieces = append(pieces, parabola{from: b, half: least / 2})
	}
	for _, x := range more {
		i, _ := slices.BinarySearch(borders, x.from)
		for ; i < len(borders) && borders[i] < x.to; i++ {
			pieces[i+1].half = max(pieces[i+1].half, x.wander/2)
		}
	}
	pieces[0].from = borders[0]
	middle, _ := slices.BinarySearch(borders, origin)
	middle++ // the piece that begins at the origin
	pieces[middle].anchor = origin
	for i := middle + 1; i < len(pieces); i++ {
		p := &pieces[i]
		p.anchor = p.from
		p.value, p.slope = pieces[i-1].at(p.from)
	}
	for i := middle - 1; i >= 0; i-- {
		p := &pieces[i]
		p.anchor = pieces[i+1].from
		p.value, p.slope = pieces[i+1].at(p.anchor)
	}
	return profile{pieces}
}

// at returns Φ and Φ' of the parabola.
func (p *parabola) at(x float64) (value, slope float64) {
	d := x - p.anchor
	return p.value + p.slope*d + p.half*d*d, p.slope + 2*p.half*d
}

// index returns the index of the parabola over x.
func (p *profile) index(x float64) int {
	if len(p.pieces) == 1 {
		return 0
	}
	return sort.Search(len(p.pieces)-1, func(i int) bool { return p.pieces[i+1].from > x })
}

// at returns Φ and Φ'.
func (p *profile) at(x float64) (value, slope float64) { return p.pieces[p.index(x)].at(x) }

// greatest returns the greatest wander between two instants.
func (p *profile) greatest(from, to float64) float64 {
	i := p.index(from)
	w := 2 * p.pieces[i].half
	for i++; i < len(p.pieces) && p.pieces[i].from < to; i++ {
		w = max(w, 2*p.pieces[i].half)
	}
	return w
}

// growth returns by how much the offset may leave its tangent at one instant until another, besides epsilon.
func (p *profile) growth(from, to float64) float64 {
	v0, slope := p.at(from)
	v1, _ := p.at(to)
	return max(v1-v0-slope*(to-from), 0)
}
