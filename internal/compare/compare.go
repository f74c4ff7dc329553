// Package compare says whether durations of two runs differ. The input is what each run measured. The output is for each an
// interval, and the verdict: two differ if their intervals do not meet.
//
// Repeats of a whole run are few: their interval has all of them (Of). The many durations that one run has of a name
// scatter, and what is compared is their median. Of n independent measurements, the median of what they were drawn from
// lies between the k-th least and the k-th greatest but for a chance of 2·P(B(n, 1/2) < k). Ranks returns the k for
// which that is 1 in 1000. Where clocks have bounds, they widen the interval.
//
// Source: H. A. David, H. N. Nagaraja, Order Statistics, section 7.1 (distribution-free confidence intervals for quantiles).
package compare

import "math"

// LeastRepeats is how many repeats of a run show what noise is: with so many on each side, intervals that do not meet come
// by chance in fewer than one of a hundred comparisons of equals (2/C(10,5)).
const LeastRepeats = 5

// LeastSamples is how many durations of one run show where their median is, but for a chance of 1 in 1000.
const LeastSamples = 11

// Interval is the median of several measurements in ns, with what noise and bounds allow.
type Interval struct {
	Median int64 `json:"median"`
	Low    int64 `json:"low"`
	High   int64 `json:"high"`
	Count  int   `json:"count"`
}

// Of is the interval of repeats, of which there is one at least, in order: it has all of them, widened by a bound.
func Of(sorted []int64, bound int64) Interval {
	n := len(sorted)
	return Interval{sorted[n/2], sorted[0] - bound, sorted[n-1] + bound, n}
}

// OfMany is the interval of the median of what many measurements, in order, were drawn from, widened by a bound.
func OfMany(sorted []int64, bound int64) Interval {
	n := len(sorted)
	low, high := Ranks(n)
	return Interval{sorted[n/2], sorted[low-1] - bound, sorted[high-1] + bound, n}
}

// Ranks returns the ranks of the measurements, from 1 to n, between which the median of what they were drawn from lies.
// With fewer than LeastSamples all of them are not enough for that.
func Ranks(n int) (low, high int) {
	if n < 1 {
		return 0, 0
	}
	const chance = 0.001 / 2
	if n > 4000 { // the binomial distribution is normal, to far less than the rank that is given away
		low = int(float64(n)/2 - 3.2906/2*math.Sqrt(float64(n)) - 1)
		return low, n + 1 - low
	}
	all, _ := math.Lgamma(float64(n + 1))
	below := 0.0
	for low = 1; low <= n/2; low++ { // low-1 of n lie below the median
		a, _ := math.Lgamma(float64(low))
		b, _ := math.Lgamma(float64(n - low + 2))
		if below += math.Exp(all - a - b - float64(n)*math.Ln2); below > chance {
			break
		}
	}
	low = max(low-1, 1)
	return low, n + 1 - low
}

// Differ says whether two differ; nil if that is not known: an interval has no bounds, or there are too few measurements.
func Differ(a, b Interval, bounded bool, least int) *bool {
	if !bounded || min(a.Count, b.Count) < least {
		return nil
	}
	differs := apart(a, b) > 0
	return &differs
}

// Change is that of the medians, as a part of a's, and the least that the intervals allow; 0 if a's median is.
func Change(a, b Interval) [2]float64 {
	if a.Median == 0 {
		return [2]float64{}
	}
	of := math.Abs(float64(a.Median))
	return [2]float64{float64(b.Median-a.Median) / of, max(0, float64(apart(a, b))/of)}
}

// apart is the distance between two intervals; not above 0 if they meet.
func apart(a, b Interval) int64 { return max(b.Low-a.High, a.Low-b.High) }
