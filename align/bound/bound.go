// Package bound gives strict bounds on how two clocks relate when nothing more is known of them than how far they may
// wander.
//
// In go the messages between two clocks and an [Assumption]; out comes a [Corridor], which knows at every instant the
// least and the greatest offset that any pair of clocks keeping the assumption can have had.
//
// Let x(t) be b's clock less a's at a's instant t. A message from a to b says x(sent) <= received - sent, one back says
// x(received) >= sent - received, as in package pair. A straight line through the corridor is too much to ask: over
// minutes every quartz leaves it. What is asked is that
//
//	|x(t+s) - x(t) - x'(t) s|  <=  epsilon + wander s²/2        for all t and s.
//
// So at one instant t all messages bound two numbers, v = x(t) and y = x'(t):
//
//	v + y (t_i - t)  <=  u_i + epsilon + wander (t_i - t)²/2     for every ceiling (t_i, u_i)
//	v + y (t_j - t)  >=  l_j - epsilon - wander (t_j - t)²/2     for every floor   (t_j, l_j)
//
// The squares are the same for every t but for terms linear in t_i, hence one lower hull of the lifted ceilings
// (t_i, u_i + epsilon + wander t_i²/2) and one upper hull of the lifted floors serve all instants, and each bound is a
// linear program in two variables that a few binary searches on the hulls solve:
//
//	lifted ceilings          '-._      _.-'
//	                             '-..-'          hull: only its corners count, for whatever t
//	                         - - - - - - - - -   a line; its height over t is v, its slope y + wander t
//
// With wander and epsilon zero this is the convex hull method of Duda et al. (1987) and its accuracy of Poirier (2010,
// section 3.3).
//
// Building costs O(n) for messages in order; a bound costs O(log² h) for h corners.
package bound

import (
	"fmt"
	"math"

	"meridian/clock"
)

// Assumption says how far the offset of two clocks may depart from its tangent: over s seconds from any instant, before and
// after, by no more than Epsilon ns + Wander s²/2 ns. It speaks of the two clocks of a pair together, so each of two equal
// clocks has half of it, and of the clocks themselves at every instant, not of stamps. The zero value stands for linear clocks.
type Assumption struct {
	Wander  float64 // greatest change of the rate, ppb per second (ns/s²)
	Epsilon float64 // ns
	// MaxSkew is the greatest rate of the two clocks against each other, ppm, at any instant. 0 leaves it open.
	MaxSkew float64
}

// Stretch is a time in which two clocks do not keep the assumption.
type Stretch struct {
	From, To clock.HostTime // of a's clock
	// Wander is what they keep instead, ppb/s, at least that of the assumption. It is infinite where a clock is slewed so fast
	// that nothing but the greatest rate of any slew bounds the offset.
	Wander float64
	// Steep says that the rate is more than the assumption's MaxSkew.
	Steep bool
}

// MaxRate is the greatest rate, ns per ns, at which one clock gains on another: that of two clocks slewed apart at 83,333 ppm each,
// the fastest that adjtimex allows, counted by the slower one.
const MaxRate = (1+0.08334)/(1-0.08334) - 1

// Default is what oscillators of ordinary machines keep, at rest and through thermal cycles of minutes.
var Default = Assumption{Wander: 30, Epsilon: 100, MaxSkew: 500}

// Check refuses what bounds nothing.
func (a Assumption) Check() error {
	if !(a.Wander >= 0) || !(a.Epsilon >= 0) || math.IsInf(a.Wander, 0) || math.IsInf(a.Epsilon, 0) {
		return fmt.Errorf("wander %g ppb/s or epsilon %g ns out of range: both must be finite and not negative", a.Wander, a.Epsilon)
	}
	if !(a.MaxSkew >= 0) || math.IsInf(a.MaxSkew, 0) {
		return fmt.Errorf("greatest skew of %g ppm out of range: it must be finite and not negative", a.MaxSkew)
	}
	return nil
}

func (a Assumption) String() string {
	if a.Wander == 0 && a.Epsilon == 0 {
		return "every clock is linear over its trace: its skew is constant"
	}
	s := fmt.Sprintf("the offset of any two clocks departs from its tangent at any instant by no more than %.3g ns + %.3g ns·s²/2 over s seconds", a.Epsilon, a.Wander)
	if a.MaxSkew > 0 {
		s += fmt.Sprintf(", and their skew is at most %.4g ppm", a.MaxSkew)
	}
	return s
}

// FromWalk returns the assumption that a random walk of frequency keeps for all but c standard deviations: sigma is its
// fractional frequency per square root of a second. The walk departs by c sigma s^1.5/sqrt(3), and the parabola with the
// given epsilon (ns) that touches this curve from above has the least wander. Where sigma or epsilon is not positive there is
// no such parabola, and the wander is 0.
func FromWalk(sigma, c, epsilon float64) Assumption {
	a := Assumption{Epsilon: epsilon}
	if sigma <= 0 || epsilon <= 0 {
		return a
	}
	k := c * sigma * 1e9 / math.Sqrt(3) // ns per s^1.5
	touch := math.Pow(4*epsilon/k, 2.0/3)
	a.Wander = 2 * (k/math.Sqrt(touch) - epsilon/(touch*touch))
	return a
}

// curvature returns the wander per ns: ns of offset per ns².
func (a Assumption) curvature() float64 { return a.Wander * 1e-18 }

// Sag returns how far a straight piece of length ns may run inside a bound that holds at its two ends: between them
// the true offset may rise above the chord by epsilon and wander h²/8.
func (a Assumption) Sag(length float64) float64 {
	return sag(a.Epsilon, a.curvature(), length)
}

// sag returns the same of a wander per ns.
func sag(epsilon, curvature, length float64) float64 {
	return epsilon + curvature*length*length/8
}
