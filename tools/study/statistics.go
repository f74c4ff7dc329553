package main

import (
	"cmp"
	"math"
	"slices"
)

// geometric returns the geometric mean; NaN of none.
func geometric(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// rootMeanSquare returns the root mean square, and the greatest absolute value.
func rootMeanSquare(values []float64) (rms, most float64) {
	sum := 0.0
	for _, v := range values {
		sum += v * v
		most = max(most, math.Abs(v))
	}
	return math.Sqrt(sum / float64(len(values))), most
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile returns the value that a part q of them does not exceed; NaN of none. It leaves them sorted.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

// weighted is a value that counts for more or less than one.
type weighted struct{ value, weight float64 }

// weightedQuantiles returns the values that parts q of the weight do not exceed, and sorts them.
func weightedQuantiles(values []weighted, q ...float64) []float64 {
	slices.SortFunc(values, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, v := range values {
		total += v.weight
	}
	out := make([]float64, len(q))
	for i, part := range q {
		sum := 0.0
		out[i] = math.NaN()
		for _, v := range values {
			out[i] = v.value
			if sum += v.weight; sum >= part*total {
				break
			}
		}
	}
	return out
}
