package envelope

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	walkSteps = 8000
	// walkStart is how many of them find the posterior and its extent, and are not kept.
	walkStart = 3000
	walkEvery = 20
	// accepted is the share of steps that should be taken.
	accepted = 0.25
)

// walk draws from a distribution by the adaptive Metropolis algorithm (Haario, Saksman and Tamminen 2001), always with
// the same random numbers. unlikely returns minus the logarithm of its density and sets what a place amounts to, of which
// keep is told now and then. x is where the walk begins, spread how far steps along each unknown may go at first.
func walk(unlikely func(x []float64, to *place) float64, x, spread []float64, keep func(*place)) {
	n := len(x)
	random := rand.New(rand.NewPCG(1, 2))
	var here, there place
	now := unlikely(x, &here)
	mean, covariance := slices.Clone(x), make([]float64, n*n)
	factor := make([]float64, n*n) // Cholesky's, of the covariance of steps
	for i, s := range spread {
		covariance[i*n+i], factor[i*n+i] = s*s, s
	}
	size := 1 / math.Sqrt(float64(n))
	weight := float64(n) // of what is known of mean and covariance
	next, step := make([]float64, n), make([]float64, n)
	for number := range walkSteps {
		for i := range step {
			step[i] = random.NormFloat64()
		}
		for i := range next {
			next[i] = x[i] + size*dot(factor[i*n:i*n+i+1], step[:i+1])
		}
		cost := unlikely(next, &there)
		chance := math.Exp(min(now-cost, 0))
		if random.Float64() < chance {
			copy(x, next)
			now, here = cost, there
		}
		if number >= walkStart {
			if number%walkEvery == 0 {
				keep(&here)
			}
			continue
		}
		size *= math.Exp((chance - accepted) / math.Sqrt(1+float64(number)/10))
		weight++
		for i := range step {
			step[i] = x[i] - mean[i]
		}
		for i := range n {
			mean[i] += step[i] / weight
			for k := range i + 1 {
				covariance[i*n+k] += (step[i]*step[k] - covariance[i*n+k]) / weight
			}
		}
		if number%100 == 99 {
			copy(factor, covariance)
			cholesky(factor, n)
		}
	}
}
