package show

import (
	"maps"
	"slices"

	"meridian/clock"
)

// corner is one corner of a row's bounds as the page needs them: at timeline time at, the row's true time may lie by
// below before and by above after it.
type corner struct {
	at, below, above int64
}

// rounding is by how much a band is wider than the bounds: the instants of corners are rounded to the nanosecond, so a
// width interpolated between two of them may be a step or two off. A map that is exact everywhere stays so.
const rounding = 2

// band turns the three curves of a map into corners over the timeline from first to last. Between two corners all
// three are straight, so the page interpolates; it never leaves the corners at the ends, because a slope between two
// rounded corners a nanosecond apart leads nowhere. Maps with more corners than limit are widened, never narrowed.
func band(m *clock.Map, first, last int64, limit int) []corner {
	back := m.Mid.Inverse()
	from, to := back.At(first, clock.Down), back.At(last, clock.Up)
	hosts := map[int64]bool{from: true, to: true}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.Host > from && k.Host < to {
				hosts[k.Host] = true
			}
		}
	}
	corners, exact := make([]corner, 0, len(hosts)), true
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		k := corner{at: m.At(h)}
		low, high, lowOK, highOK := m.Bounds(h)
		if lowOK {
			k.below = clock.Sub(k.at, low)
		}
		if highOK {
			k.above = clock.Sub(high, k.at)
		}
		corners = append(corners, k)
		exact = exact && k.below == 0 && k.above == 0
	}
	if !exact {
		for i := range corners {
			corners[i].below = min(clock.Add(corners[i].below, rounding), clock.Limit)
			corners[i].above = min(clock.Add(corners[i].above, rounding), clock.Limit)
		}
	}
	if len(corners) > limit {
		corners = widened(corners, limit)
	}
	return corners
}

// widened covers corners by no more than limit others: the corners fall into groups of neighbours, and each border
// between two groups becomes as wide as the widest corner of both. The line between two borders is then nowhere
// narrower than what it replaces.
func widened(corners []corner, limit int) []corner {
	groups := max(limit-1, 1)
	size := (len(corners) - 1 + groups - 1) / groups
	var out []corner
	for i := 0; i < len(corners); i += size {
		k := corner{at: corners[i].at, below: corners[i].below, above: corners[i].above}
		for _, other := range corners[max(i-size, 0):min(i+size+1, len(corners))] {
			k.below, k.above = max(k.below, other.below), max(k.above, other.above)
		}
		out = append(out, k)
	}
	// The last group may be a part of one: its end is a border too.
	end, border := corners[len(corners)-1], out[len(out)-1]
	if border.at != end.at {
		out = append(out, corner{at: end.at, below: max(end.below, border.below), above: max(end.above, border.above)})
	}
	return out
}
