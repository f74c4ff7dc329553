package match

import (
	"math"
	"slices"
)

// A clock that is set changes what all packets seem to take, from one instant on, and leaves it so. What one of a few packets took says nothing:
// it may be a false candidate. But several in a row that agree with each other, and with none before, are not: false candidates lie among
// true ones. So candidates in the order of time are cut into levels, each of which is known by its own medians.

const (
	// minLevel is the least number of candidates in a row that make a level.
	minLevel = 3
	// remembered is how many of the last candidates of a level say where it is.
	remembered = 7
	// rateOver is over which part of a sample the rate of one clock against the other is measured.
	rateOver = 16
)

// cutAtLevels returns where each level of a sample ends. What is far from its neighbours and no level belongs to the one around it.
func cutAtLevels(sample []knot) (ends []int) {
	height := heights(sample)
	far := farOf(height)
	begin := 0
	recent := make([]float64, 0, remembered)
	var sorted [remembered]float64
	for i, h := range height {
		if n := copy(sorted[:], recent); n > 0 {
			slices.Sort(sorted[:n])
			usual := sorted[n/2]
			if math.Abs(h-usual) > far {
				if !begins(height[i:], usual, far) {
					continue
				}
				if i-begin >= minLevel {
					ends, begin = append(ends, i), i
				}
				recent = recent[:0]
			}
		}
		if len(recent) == remembered {
			recent = slices.Delete(recent, 0, 1)
		}
		recent = append(recent, h)
	}
	return append(ends, len(sample))
}

// begins reports whether heights begin with a level that is far from another one.
func begins(height []float64, other, far float64) bool {
	if len(height) < minLevel {
		return false
	}
	low, high := slices.Min(height[:minLevel]), slices.Max(height[:minLevel])
	return high-low <= far && (low > other+far || high < other-far)
}

// heights returns what the packets of a sample took, but for the rate of one clock against the other.
func heights(sample []knot) []float64 {
	n := len(sample)
	over := max(n/rateOver, 1)
	rates := make([]float64, 0, n)
	for i := over; i < n; i++ {
		if passed := sample[i].at - sample[i-over].at; passed > 0 {
			rates = append(rates, (float64(sample[i].took)-float64(sample[i-over].took))/float64(passed))
		}
	}
	rate := 0.0
	if len(rates) > 0 {
		slices.Sort(rates)
		rate = rates[len(rates)/2]
	}
	out := make([]float64, n)
	for i, k := range sample {
		out[i] = float64(k.took) - rate*(float64(k.at)-float64(sample[0].at))
	}
	return out
}

// farOf returns how far apart neighbours are that one level does not have: by several times what most are.
func farOf(height []float64) float64 {
	if len(height) < 2 {
		return minFar
	}
	steps := make([]float64, 0, len(height))
	for i := 1; i < len(height); i++ {
		steps = append(steps, math.Abs(height[i]-height[i-1]))
	}
	slices.Sort(steps)
	return max(minFar, farTimes*steps[len(steps)*4/5])
}
