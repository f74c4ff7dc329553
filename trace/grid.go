package trace

import "math"

// grid is the instants that a coarse clock shows: its differences are multiples of a step, to within the unit in which they
// were written down and what steering changes the step by.
type grid struct {
	step  float64 // ns; 0 for no grid
	error float64 // of step, ns
	unit  float64 // ns
	steer float64 // change of the step by steering, of the step
}

const (
	// maxSteering is by what part of itself steering changes the step of a clock, at most: twice the 500 ppm that adjtimex allows.
	maxSteering = 1e-3
	// maxChance is the chance at which differences may be near multiples of a step though they are on no grid.
	maxChance = 0.01
	// maxMultiples is of how many steps the smallest difference may be.
	maxMultiples = 1 << 18
	// minUnits is how many units a step has at least: all differences are near multiples of less.
	minUnits = 2.5
	// maxExact limits the differences that are exact as float64, ns.
	maxExact = 1 << 52
)

// periods are the steps of clocks that are no whole number of microseconds, s: of Windows, of timers at 60, 300 and 1200 Hz, of the
// PC's first. Powers of two are tried beside them.
var periods = [...]float64{65536 / 1193182.0, 1 / 60.0, 15.6001e-3, 15.6e-3, 1 / 120.0, 1 / 300.0, 1.0001e-3, 1 / 1200.0, 1 / 32000.0}

// maxPower is the highest power of two that is tried as a clock's frequency in Hz.
const maxPower = 28

// findGrid returns the coarsest grid that ascending differences are on, or the zero grid.
//
// Known steps are tried first. With repeated stamps, all steps are tried of which the smallest difference is a multiple m:
//
//	step in [(d-unit)/m, (d+unit)/m]    for that and every other difference d, the nearest multiple of the step
//
// which leaves an ever smaller interval for the step, or none. The other differences pass by chance with a probability of the
// product of 2 tolerance / step; a grid is one if m times that is less than maxChance. The cost is O(m) for clocks on no
// grid, nearly all of which fail at the second difference.
func findGrid(differences []float64, unit float64, repeated bool) (found grid) {
	if len(differences) == 0 {
		return grid{}
	}
	consider := func(step, error, steer, tried float64) bool {
		x := grid{step: step, error: error, unit: unit, steer: steer}
		if step < minUnits*unit || step <= found.step || tried*x.fit(differences) > maxChance {
			return false
		}
		found = x
		return true
	}
	for _, s := range periods {
		consider(1e9*s, 0, 0, float64(len(periods)))
	}
	for i := 1; i <= maxPower; i++ {
		consider(math.Ldexp(1e9, -i), 0, 0, maxPower)
	}
	if !repeated {
		return found
	}
	least := differences[0]
	for _, steer := range [...]float64{0, maxSteering} {
		for m := 1.0; m <= maxMultiples && least/m > max(found.step, minUnits*unit); m++ {
			if steer > 0 && m*steer > 0.25 { // the difference tells nothing of its step
				break
			}
			if isOff(differences, m, unit, steer) {
				continue
			}
			if consider(least/m, unit/m+steer*least/m, steer, m) {
				break
			}
		}
	}
	return found
}

// isOff reports whether the second difference is surely no multiple of a step of which the first is m, as fit would find: nearly
// every m fails there, and this takes a tenth of the time.
func isOff(differences []float64, m, unit, steer float64) bool {
	if len(differences) < 2 {
		return false
	}
	const rounding = 1e-6 // much more than the rounding of all that is computed here, steps
	first, second := differences[0], differences[1]
	steps := second * m / first
	k := math.RoundToEven(steps)
	tolerance := (unit+k*unit/m)*m/first + 2*k*steer + rounding // in steps; fit has at most this
	return k > 0 && k < 1<<24 && math.Abs(steps-k) > tolerance && 2*tolerance < 1 && second <= maxExact
}

// tolerance returns by how much k steps may differ from k times the step, ns.
func (x *grid) tolerance(k float64) float64 { return x.unit + k*(x.error+x.steer*x.step) }

// nearest returns how many steps a difference is, and by how much it is off.
func (x *grid) nearest(d float64) (k, off float64) {
	k = math.RoundToEven(d / x.step)
	return k, math.Abs(d - k*x.step)
}

// fit narrows the step to what the differences leave, and returns the chance at which they would be on a grid of such a step
// without one; more than 1 if they are not.
func (x *grid) fit(differences []float64) (chance float64) {
	chance = 1
	for i, d := range differences {
		k, off := x.nearest(d)
		tolerance := x.tolerance(k)
		if 2*tolerance >= x.step || d > maxExact {
			continue // any difference is near a multiple
		}
		if k == 0 || off >= tolerance { // the same tick is written down as the same stamp
			return math.Inf(1)
		}
		if i > 0 || x.error == 0 {
			chance *= 2 * tolerance / x.step
		}
		if x.error == 0 {
			continue
		}
		slack := (x.unit + k*x.steer*x.step) / k
		low, high := max(x.step-x.error, d/k-slack), min(x.step+x.error, d/k+slack)
		x.step, x.error = (low+high)/2, max(high-low, 0)/2
	}
	return chance
}

// holds reports whether a difference may be one of the grid's.
func (x *grid) holds(d float64) bool {
	k, off := x.nearest(d)
	tolerance := x.tolerance(k)
	return k > 0 && off < tolerance || 2*tolerance >= x.step || d > maxExact
}

// reach returns how much later than its stamp an event may be, ns, rounded up: the step, and what was cut from the stamp when it
// was written down. It is 0 for the zero grid.
func (x *grid) reach() int64 {
	return int64(math.Ceil((x.step+x.error)*(1+x.steer) + x.unit))
}
