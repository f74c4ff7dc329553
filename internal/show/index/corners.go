package index

import (
	"maps"
	"slices"

	"meridian/clock"
)

// rounding is how much wider a band is than the bounds. Corners are rounded to the nanosecond, so a width interpolated
// between two of them may be off by a step or two. A map that is exact everywhere stays so.
const rounding = 2

// Corners turns the three curves of a map into corners over the timeline from first to last, in ns since 1970. Between two
// corners all are straight, so the page interpolates; it never leaves the corners at the ends, because a slope between two
// rounded corners a nanosecond apart leads nowhere. Maps with more corners than limit are widened, never narrowed. An
// estimate outside of its bounds widens the band to itself.
func Corners(m *clock.Map, first, last clock.TimelineTime, limit int) []Corner {
	back := m.Mid.Inverse()
	from, to := back.At(first, clock.Down), back.At(last, clock.Up)
	hosts := map[clock.HostTime]bool{from: true, to: true}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.X > from && k.X < to {
				hosts[k.X] = true
			}
		}
	}
	corners, exact := make([]Corner, 0, len(hosts)), true
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		at := m.At(h)
		k := Corner{At: int64(at), Recorded: clock.Sub(int64(h), int64(at))}
		low, high, lowOK, highOK := m.Bounds(h)
		if lowOK {
			k.Below = max(clock.Sub(at, low), 0)
		}
		if highOK {
			k.Above = max(clock.Sub(high, at), 0)
		}
		corners = append(corners, k)
		exact = exact && k.Below == 0 && k.Above == 0
	}
	if !exact {
		for i := range corners {
			corners[i].Below = min(clock.Add(corners[i].Below, rounding), clock.Limit)
			corners[i].Above = min(clock.Add(corners[i].Above, rounding), clock.Limit)
		}
	}
	if len(corners) > limit {
		corners = widened(corners, limit)
	}
	return corners
}

// widened covers corners by at most limit others. The corners are divided into groups of neighbours. Each border between
// two groups becomes as wide as the widest corner of both. The line between two borders is then nowhere narrower than
// what it replaces.
func widened(corners []Corner, limit int) []Corner {
	groups := max(limit-1, 1)
	size := (len(corners) - 1 + groups - 1) / groups
	var out []Corner
	for i := 0; i < len(corners); i += size {
		k := corners[i]
		for _, other := range corners[max(i-size, 0):min(i+size+1, len(corners))] {
			k.Below, k.Above = max(k.Below, other.Below), max(k.Above, other.Above)
		}
		out = append(out, k)
	}
	// The last group may be a part of one: its end is a border too.
	end, border := corners[len(corners)-1], out[len(out)-1]
	if border.At != end.At {
		end.Below, end.Above = max(end.Below, border.Below), max(end.Above, border.Above)
		out = append(out, end)
	}
	return out
}
