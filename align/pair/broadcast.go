package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Group is clocks that heard the same broadcasts, directly or over others.
type Group struct {
	Reference int             // the first of its clocks
	Clocks    []int           // in ascending order
	Maps      []clock.PairMap // of each to the reference, without bounds
	Delay     float64         // the mean delay that the receptions show beyond the quickest of each broadcast, ns
	Heard     int             // broadcasts that two or more of them received
}

// Broadcasts returns the maximum likelihood estimate of all clocks at once from the receptions of broadcasts (Scheuermann,
// Kiess, Roos, Jarre and Mauve 2009; Poirier 2010, section 2.2.3). A sending reaches all receivers of a local medium at one
// instant T, and each stamps it a little later. Every clock i is linear against the reference,
//
//	T[k] + d[i,k] = offset[i] + rate[i] t[i,k],    d >= 0
//
// and the delays d are taken to be exponential and independent. Then likelihood is greatest where their sum is least,
// whatever their mean: a linear program in the offsets, the rates and the T. Two clocks alone have the line of least
// absolute deviations; with more, the quickest receiver of each broadcast counts.
//
// In go the number of clocks and the broadcasts; out comes a group for every component, by its reference, a clock alone
// being one. A clock that shares no two broadcasts at different instants has its rate left open and is taken to run evenly.
// Of several receptions of one broadcast by one clock the first counts. A reception by an unknown clock, or at an
// instant that is not within [clock.Limit], is an error, as is a negative number of clocks.
//
// There are no bounds. Receivers of which one is always later than another, by a constant, appear that much behind: only
// the sum of offset and least delay can be seen. Clocks that are not linear are outside the model; give it segments. The
// cost is, for each of some 20 steps, the sum of squares of the numbers of receivers of the broadcasts, and the cube of
// the number of clocks.
func Broadcasts(clocks int, broadcasts []trace.Broadcast) ([]Group, error) {
	if clocks < 0 {
		return nil, fmt.Errorf("%d clocks", clocks)
	}
	heard := make([][]trace.Stamp, 0, len(broadcasts))
	for k, b := range broadcasts {
		for _, r := range b.Receptions {
			if r.Clock < 0 || r.Clock >= clocks {
				return nil, fmt.Errorf("broadcast %d: receiving clock %d is not one of the %d clocks", k, r.Clock, clocks)
			}
			if !clock.Valid(r.Time) {
				return nil, fmt.Errorf("broadcast %d: received at %d ns, not within ±2^62 ns", k, r.Time)
			}
		}
		receptions := slices.Clone(b.Receptions)
		slices.SortFunc(receptions, func(r, s trace.Stamp) int { return cmp.Or(r.Clock-s.Clock, cmp.Compare(r.Time, s.Time)) })
		receptions = slices.CompactFunc(receptions, func(r, s trace.Stamp) bool { return r.Clock == s.Clock })
		if len(receptions) > 1 {
			heard = append(heard, receptions)
		}
	}
	by := make([][]int, clocks) // the broadcasts that each clock heard
	for k, receptions := range heard {
		for _, r := range receptions {
			by[r.Clock] = append(by[r.Clock], k)
		}
	}
	var groups []Group
	apart := make([]int64, clocks) // each clock less the reference, about
	taken := make([]bool, clocks)
	for reference := range clocks {
		if taken[reference] {
			continue
		}
		g := Group{Reference: reference, Clocks: []int{reference}}
		taken[reference] = true
		seen := make(map[int]bool)
		var mine [][]trace.Stamp
		for at := 0; at < len(g.Clocks); at++ {
			for _, k := range by[g.Clocks[at]] {
				if seen[k] {
					continue
				}
				seen[k] = true
				mine = append(mine, heard[k])
				from := slices.IndexFunc(heard[k], func(r trace.Stamp) bool { return r.Clock == g.Clocks[at] })
				for _, r := range heard[k] {
					if !taken[r.Clock] {
						taken[r.Clock] = true
						apart[r.Clock] = clock.Add(apart[g.Clocks[at]], clock.Sub(r.Time, heard[k][from].Time))
						g.Clocks = append(g.Clocks, r.Clock)
					}
				}
			}
		}
		slices.Sort(g.Clocks)
		g.solve(mine, apart)
		groups = append(groups, g)
	}
	return groups, nil
}

// solve finds the group's lines and makes maps of them.
func (g *Group) solve(heard [][]trace.Stamp, apart []int64) {
	g.Heard = len(heard)
	g.Maps = make([]clock.PairMap, len(g.Clocks))
	if len(heard) == 0 {
		g.Maps[0] = clock.PairIdentity()
		return
	}
	// On the reference's clock, about: what is left are small numbers, which float64 holds to far below a nanosecond.
	first, last := clock.HostTime(math.MaxInt64), clock.HostTime(math.MinInt64)
	for _, receptions := range heard {
		for _, r := range receptions {
			t := clock.Add(r.Time, -apart[r.Clock])
			first, last = min(first, t), max(last, t)
		}
	}
	middle, half := clock.Add(first, clock.Sub(last, first)/2), max(float64(clock.Sub(last, first))/2, 1)
	l := &likelihood{lines: len(g.Clocks) - 1}
	shared := make([]struct{ first, last clock.HostTime }, len(g.Clocks))
	for i := range shared {
		shared[i].first, shared[i].last = math.MaxInt64, math.MinInt64
	}
	for _, receptions := range heard {
		origin := clock.Add(receptions[0].Time, -apart[receptions[0].Clock])
		for _, r := range receptions {
			i, _ := slices.BinarySearch(g.Clocks, r.Clock)
			t := clock.Add(r.Time, -apart[r.Clock])
			shared[i].first, shared[i].last = min(shared[i].first, t), max(shared[i].last, t)
			// The reference is the first of the clocks; its line is given.
			l.receptions = append(l.receptions, reception{line: i - 1, x: float64(clock.Sub(t, middle)) / half, z: float64(clock.Sub(t, origin))})
		}
		l.ends = append(l.ends, len(l.receptions))
	}
	l.even = make([]bool, l.lines)
	for i := range l.even {
		l.even[i] = shared[i+1].first == shared[i+1].last
	}
	g.Delay = l.maximise() / float64(len(l.receptions))
	const margin = 10_000_000_000
	for i, c := range g.Clocks {
		if i == 0 {
			g.Maps[i] = clock.PairIdentity()
			continue
		}
		offset, rise := l.solution[2*i-2], l.solution[2*i-1]
		if !(math.Abs(rise) < half/2) || !(math.Abs(offset) < half+float64(margin)) { // no clock's
			offset, rise = 0, 0
		}
		curve := make(clock.PairCurve, 0, 2)
		for _, t := range []clock.HostTime{clock.Add(first, -margin), clock.Add(last, margin)} {
			y := offset + rise*float64(clock.Sub(t, middle))/half
			curve = append(curve, clock.PairKnot{X: clock.Add(t, int64(apart[c])), Y: clock.Add(t, int64(math.Round(y)))})
		}
		if curve.Check() != nil { // beyond what instants can be
			curve = clock.PairCurve{{X: clock.Add(middle, int64(apart[c])), Y: middle}}
		}
		g.Maps[i].Mid = curve
	}
}
