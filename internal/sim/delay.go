package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Distribution is the distribution of the random part of a delay.
type Distribution uint8

const (
	Exponential Distribution = iota // queues under moderate load
	HeavyTail                       // a Pareto tail of index 1.5: rare, enormous delays; the variance is infinite
	Gamma                           // of shape 3, as three queues in a row: the minimum is rarely come near
	Weibull                         // of shape 0.6: more small delays and more large ones than the exponential has
	Pareto                          // as HeavyTail, and cut off at 50 ms as a queue that is full does
)

var distributionNames = [...]string{"exponential", "heavy-tail", "gamma", "weibull", "pareto"}

func (s Distribution) String() string { return nameOf(distributionNames[:], int(s)) }

// Distributions returns all shapes.
func Distributions() []Distribution {
	return []Distribution{Exponential, HeavyTail, Gamma, Weibull, Pareto}
}

const (
	tailIndex    = 1.5
	weibullShape = 0.6
	// weibullScale makes the mean, which is the scale times Γ(1+1/0.6) = 1.5046, that of the other shapes to within 1%.
	weibullScale = 0.66
	longestQueue = 50e6 // ns
)

// Delay is the time a message is on the way: Min, and a random part of mean Jitter.
type Delay struct {
	Min, Jitter  time.Duration
	Distribution Distribution
}

// Draw returns one delay.
func (d Delay) Draw(random *rand.Rand) time.Duration {
	return d.Min + time.Duration(min(d.wait(random), 1e15))
}

// wait draws the random part, ns.
func (d Delay) wait(random *rand.Rand) float64 {
	mean := float64(d.Jitter)
	switch d.Distribution {
	case HeavyTail:
		return mean * lomax(random)
	case Gamma:
		return mean / 3 * (random.ExpFloat64() + random.ExpFloat64() + random.ExpFloat64())
	case Weibull:
		return mean * weibullScale * math.Pow(random.ExpFloat64(), 1/weibullShape)
	case Pareto:
		return min(mean*lomax(random), longestQueue)
	}
	return mean * random.ExpFloat64()
}

// lomax draws from the Pareto distribution that begins at 0, with mean 1: scale·(U^(-1/a) - 1) has the mean scale/(a-1).
func lomax(random *rand.Rand) float64 {
	return (tailIndex - 1) * (math.Pow(1-random.Float64(), -1/tailIndex) - 1) // 1-U keeps zero out
}

// nameOf returns a name of a list, "unknown" for a number outside it.
func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
