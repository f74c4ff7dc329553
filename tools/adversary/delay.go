package main

import (
	"math"
	"math/rand/v2"
)

// delays draws the delays of one direction of a link, ns.
type delays struct {
	least float64
	model string
	mean  float64 // of what is added to least
	// A direction may be congested from time to time, and its route may change.
	queue    []window
	route    []window
	capacity float64 // greatest delay, ns
}

// window is a stretch of true time in which add ns come to a delay.
type window struct {
	from, to int64
	add      float64
}

var delayModels = []string{"constant", "uniform", "exponential", "pareto", "bursts", "lognormal", "wan"}

// newDelays draws a direction's model. tight directions come close to their least delay often.
func newDelays(r *rand.Rand, least float64) *delays {
	d := &delays{least: least, model: delayModels[r.IntN(len(delayModels))], capacity: 5e9}
	d.mean = least * logUniform(r, 0.01, 10)
	return d
}

// draw is the delay of a message that is sent at t.
func (d *delays) draw(r *rand.Rand, t int64) int64 {
	x := 0.0
	switch d.model {
	case "constant":
	case "uniform":
		x = 2 * d.mean * r.Float64()
	case "exponential":
		x = d.mean * r.ExpFloat64()
	case "pareto": // of exponent 1.2: the mean exists, the variance does not
		x = d.mean / 6 * (math.Pow(1-r.Float64(), -1/1.2) - 1)
	case "bursts":
		if r.IntN(5) == 0 {
			x = d.mean * 5 * r.ExpFloat64()
		} else {
			x = d.mean / 100 * r.Float64()
		}
	case "lognormal":
		x = d.mean * math.Exp(r.NormFloat64()-0.5)
	case "wan": // a base that breathes over minutes, and jitter
		x = d.mean * (0.3*(1+math.Sin(float64(t)/47e9)) + 0.1*r.ExpFloat64())
	}
	for _, w := range d.queue {
		if t >= w.from && t < w.to {
			x += w.add * r.Float64()
		}
	}
	for _, w := range d.route {
		if t >= w.from && t < w.to {
			x += w.add
		}
	}
	return int64(math.Ceil(d.least + min(x, d.capacity)))
}

// logUniform draws a number whose logarithm is uniform.
func logUniform(r *rand.Rand, from, to float64) float64 {
	return from * math.Exp(r.Float64()*math.Log(to/from))
}

// uniform draws a number from from to to.
func uniform(r *rand.Rand, from, to float64) float64 { return from + (to-from)*r.Float64() }

// chance is true in one of n cases.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// pick draws one of some.
func pick[T any](r *rand.Rand, some ...T) T { return some[r.IntN(len(some))] }
