package trace

import (
	"math"
	"slices"

	"meridian/clock"
)

const (
	// maxGranularity is the coarsest step that is found, ns: logs and some loggers cut stamps to whole seconds.
	maxGranularity = 1_000_000_000
	// sampleSize is how many different stamps a grid is looked for in.
	sampleSize = 64
	// maxSearches limits how often a grid is looked for again because a later stamp is not on it.
	maxSearches = 16
	// minRepeats is how many repeated stamps tell, with only two different ones, that these are neighbours on a grid.
	minRepeats = 4
)

// Granularity finds how coarse the stamps of a clock are: the step of the grid on which all of them lie. The zero value is
// ready.
//
// A stamp of step g stands for any instant of [stamp, stamp+g). A step found too small can void a bound, while one found too
// large only widens it. So where stamps leave it open the coarser step is taken. There are two kinds of grid:
//
//   - Its step is a whole number of units of the file: 1 us, 4 ms, 10 ms, 15.625 ms. The greatest common divisor of all
//     differences is that step, whatever the grid's origin. By chance, differences of n stamps have a divisor of m or more with
//     a probability of about m^(2-n), so even three stamps tell. Fewer have to be multiples of a step themselves.
//   - Its step is not: 1/1024 s in nanoseconds, the 15.6001 ms of Windows in microseconds. Differences are multiples of it to within
//     a unit. Such grids are looked for in a sample (see findGrid), and all later stamps are held against the one found.
//
// Only a clock that is on a grid costs anything after the sample: a division for each stamp. Add allocates nothing.
type Granularity struct {
	// Unit is the unit in ns in which the stamps were written down, where it is known; 0 is 1. It is the least step, and may
	// grow while stamps are added.
	Unit int64

	last     clock.HostTime
	stamps   int64
	repeats  int64 // stamps equal to the one before
	common   int64 // greatest common divisor of the differences, 0 while all stamps are equal
	sample   [sampleSize]clock.HostTime
	sampled  int // of them, all different
	grid     grid
	searches int
	isFine   bool // no later stamp can tell anything: the step is the unit
}

// Add takes account of a stamp, ns.
func (g *Granularity) Add(stamp clock.HostTime) {
	if !g.isFine {
		g.add(stamp)
	}
}

func (g *Granularity) add(stamp clock.HostTime) {
	before := g.last
	g.last = stamp
	if g.stamps++; g.stamps == 1 {
		g.sample[0], g.sampled = stamp, 1
		return
	}
	if stamp == before {
		g.repeats++
		return
	}
	d := max(clock.Sub(stamp, before), clock.Sub(before, stamp))
	// A grid of fractions of a unit may look like one of whole units for long.
	disproved := g.common == 0 || d%g.common != 0
	if disproved {
		g.common = divisor(d, g.common)
	}
	switch {
	case g.sampled < sampleSize:
		if slices.Contains(g.sample[:g.sampled], stamp) {
			return
		}
		g.sample[g.sampled] = stamp
		if g.sampled++; g.sampled < sampleSize {
			return
		}
		g.search()
	case disproved && g.grid.step == 0, g.grid.step > 0 && !g.grid.holds(float64(d)):
		// The two stamps that are not on it take the place of others, so that the next grid is not the same.
		k := 2 * g.searches % sampleSize
		g.sample[k], g.sample[k+1] = before, stamp
		g.search()
	}
	g.isFine = g.grid.step == 0 && g.common <= max(g.Unit, 1)
}

// search looks for a grid in the sample.
func (g *Granularity) search() {
	g.grid = grid{}
	if g.searches++; g.searches <= maxSearches {
		g.grid = g.gridOfSample()
	}
}

// gridOfSample returns the grid of the stamps sampled so far. Clocks whose rate is steered, or whose step is unusual, are told from
// senders of a regular rhythm by stamps that come several times.
func (g *Granularity) gridOfSample() grid {
	if g.sampled < 4 {
		return grid{}
	}
	stamps := g.sample
	differences := differencesOf(stamps[:g.sampled])
	return findGrid(differences, float64(max(g.Unit, g.common, 1)), 4*g.repeats >= g.stamps-g.repeats)
}

// differencesOf sorts stamps and returns the differences of neighbours, ascending and without zeros.
func differencesOf(stamps []clock.HostTime) []float64 {
	slices.Sort(stamps)
	var room [sampleSize]float64
	all := room[:0]
	for i := 1; i < len(stamps); i++ {
		if d := clock.Sub(stamps[i], stamps[i-1]); d > 0 {
			all = append(all, float64(d))
		}
	}
	slices.Sort(all)
	return all
}

// Step returns the step of the stamps added so far in ns, at least the unit. Of no stamps it is the unit.
func (g *Granularity) Step() int64 {
	unit := max(g.Unit, 1)
	if g.stamps == 0 || g.isFine {
		return unit
	}
	found := g.grid
	if g.sampled < sampleSize {
		found = g.gridOfSample()
	}
	return max(unit, min(max(g.whole(), found.reach()), maxGranularity))
}

// whole returns the step of a grid of whole units. Ticks whose origin is not 0, or whose period is no power of ten, are a clock's own,
// and what was written down of them was cut off once more: a tick may come up to a unit after what it is written as.
func (g *Granularity) whole() int64 {
	if g.sampled < 3 && (g.sampled < 2 || g.repeats < minRepeats) {
		step := int64(maxGranularity)
		for _, s := range g.sample[:g.sampled] {
			step = divisor(step, int64(s))
		}
		return step
	}
	cut := divisor(g.common, int64(g.last))
	decimal := int64(1)
	for cut%(10*decimal) == 0 && decimal < maxGranularity {
		decimal *= 10
	}
	switch unit := max(g.Unit, 1); {
	case cut == g.common && decimal == cut:
		return cut // digits were cut off, not more
	case cut == g.common:
		return clock.Add(cut, unit) // ticks, which need not come on whole units
	default:
		return clock.Add(g.common, max(unit, decimal))
	}
}

// divisor returns the greatest common divisor of two numbers, that of 0 and any number being the number; at least 0.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	if a == math.MinInt64 {
		return math.MaxInt64 // its amount is no int64
	}
	return max(a, -a)
}
