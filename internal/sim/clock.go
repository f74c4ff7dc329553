package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"meridian/clock"
)

// Clock is a host's clock as a function of true time. The zero value is a perfect clock.
type Clock struct {
	Origin   clock.TimelineTime // true time, ns, at which the clock is off by exactly OffsetNs
	OffsetNs int64              // host time minus true time at Origin
	SkewPPM  float64            // constant frequency error
	Wave     Wave               // periodic frequency error, as temperature makes it
	Walk     *Walk              // random frequency error; nil for none
	Steps    []Step             // where it was set, in order of time
}

// Step is a clock set forward or back: from the true instant At on it shows By ns more than it would have. A leap second
// is a step of one second, back where it is inserted.
type Step struct {
	At clock.TimelineTime
	By int64
}

// maxSteps bounds what steps may add up to, which keeps readings within int64.
const maxSteps = int64(1) << 59

// Wave is a frequency error that swings as a sine. The zero value is none.
type Wave struct {
	AmplitudePPM float64
	Period       time.Duration
	Phase        float64 // at the clock's origin, in turns
}

// maxRatePPM keeps clocks so far from standing still that a stamp and the true instant determine each other to within
// one nanosecond.
const maxRatePPM = 0.4e6

// Check says what is wrong with a clock that could stand still or run backwards other than by its steps.
func (c *Clock) Check() error {
	fastest := math.Abs(c.SkewPPM)
	if c.Wave.AmplitudePPM != 0 {
		if c.Wave.Period <= 0 {
			return fmt.Errorf("sim: a wave needs a positive period, not %v", c.Wave.Period)
		}
		fastest += math.Abs(c.Wave.AmplitudePPM)
	}
	if c.Walk != nil {
		fastest += c.Walk.largest
	}
	sum := int64(0)
	for i, s := range c.Steps {
		if sum = clock.Add(sum, s.By); sum > maxSteps || sum < -maxSteps || s.At > clock.Limit || s.At < -clock.Limit {
			return fmt.Errorf("sim: a step of %d ns at %d is out of range", s.By, s.At)
		}
		if i > 0 && s.At <= c.Steps[i-1].At {
			return fmt.Errorf("sim: the step at %d is not later than the one at %d", s.At, c.Steps[i-1].At)
		}
	}
	if !(fastest < maxRatePPM) {
		return fmt.Errorf("sim: frequency error of up to %g ppm; want less than %g", fastest, maxRatePPM)
	}
	return nil
}

// At returns what the clock shows at a true instant, to the nearest nanosecond. It never decreases, except where a step
// sets the clock back.
func (c *Clock) At(t clock.TimelineTime) clock.HostTime {
	host := c.smooth(t)
	for _, s := range c.Steps {
		if t < s.At {
			break
		}
		host += clock.HostTime(s.By)
	}
	return host
}

// smooth is the clock without its steps.
func (c *Clock) smooth(t clock.TimelineTime) clock.HostTime {
	return clock.HostTime(int64(t) + c.OffsetNs + int64(math.Round(c.deviation(float64(t-c.Origin)))))
}

// Inverse returns the true time of a host stamp: the first instant at which the clock shows it or more. It never
// decreases. For a stamp that At returned it is at most one nanosecond before the instant At was asked about, unless a
// step set the clock back and it showed the stamp twice.
func (c *Clock) Inverse(host clock.HostTime) clock.TimelineTime {
	begin := clock.TimelineTime(math.MinInt64)
	for _, s := range c.Steps {
		if c.smooth(s.At-1) >= host {
			break
		}
		begin, host = s.At, host-clock.HostTime(s.By)
	}
	return max(begin, c.smoothInverse(host))
}

// smoothInverse is Inverse without the steps.
func (c *Clock) smoothInverse(host clock.HostTime) clock.TimelineTime {
	// Newton's steps on x + deviation(x) = y, in floats, lead to within a nanosecond or so; integers decide.
	y := float64(int64(host) - c.OffsetNs - int64(c.Origin))
	x := y
	for range 20 {
		step := (y - x - c.deviation(x)) / (1 + 1e-6*c.RatePPM(x))
		x += step
		if math.Abs(step) < 0.25 {
			break
		}
	}
	guess := c.Origin + clock.TimelineTime(math.Round(x))
	low, high := guess-1, guess+1 // smooth(low) < host <= smooth(high)
	for reach := clock.TimelineTime(1); c.smooth(low) >= host; reach *= 2 {
		high, low = low, low-reach
	}
	for reach := clock.TimelineTime(1); c.smooth(high) < host; reach *= 2 {
		low, high = high, high+reach
	}
	return low + 1 + clock.TimelineTime(sort.Search(int(int64(high-low)-1), func(i int) bool { return c.smooth(low+1+clock.TimelineTime(i)) >= host }))
}

// RatePPM returns the clock's frequency error x ns after its origin.
func (c *Clock) RatePPM(x float64) float64 {
	rate := c.SkewPPM
	if w := c.Wave; w.AmplitudePPM != 0 {
		rate += w.AmplitudePPM * math.Sin(2*math.Pi*(x/float64(w.Period)+w.Phase))
	}
	if c.Walk != nil {
		rate += c.Walk.rate(x)
	}
	return rate
}

// deviation returns the integral of the frequency error from the origin to x ns after it, in ns.
func (c *Clock) deviation(x float64) float64 {
	ppm := c.SkewPPM * x
	if w := c.Wave; w.AmplitudePPM != 0 {
		period := float64(w.Period)
		swing := math.Cos(2*math.Pi*w.Phase) - math.Cos(2*math.Pi*(x/period+w.Phase))
		ppm += w.AmplitudePPM * period / (2 * math.Pi) * swing
	}
	if c.Walk != nil {
		ppm += c.Walk.area(x)
	}
	return 1e-6 * ppm
}

// Walk is a random walk of frequency: the frequency moves along a straight line from each step to the next. Before the
// clock's origin it is zero, and after the walk's span it stays where it came to. It is immutable and may be shared.
type Walk struct {
	step    float64   // ns
	ppm     []float64 // frequency error at the steps
	areas   []float64 // its integral up to them, ppm·ns
	largest float64   // of |ppm|
}

// NewWalk returns the walk of a seed whose standard deviation grows to deviationPPM in one second and, as random walks
// do, with the square root of the time.
func NewWalk(seed uint64, deviationPPM float64, step, span time.Duration) *Walk {
	random := rand.New(rand.NewPCG(seed, 0x77616c6b))
	n := int((span + step - 1) / step)
	w := &Walk{step: float64(step), ppm: make([]float64, n+1), areas: make([]float64, n+1)}
	each := deviationPPM * math.Sqrt(step.Seconds())
	for i := 1; i <= n; i++ {
		w.ppm[i] = w.ppm[i-1] + each*random.NormFloat64()
		w.areas[i] = w.areas[i-1] + w.step*(w.ppm[i-1]+w.ppm[i])/2
		w.largest = max(w.largest, math.Abs(w.ppm[i]))
	}
	return w
}

func (w *Walk) rate(x float64) float64 {
	i, rest := w.find(x)
	switch {
	case x <= 0:
		return 0
	case i+1 == len(w.ppm):
		return w.ppm[i]
	}
	return w.ppm[i] + (w.ppm[i+1]-w.ppm[i])*rest/w.step
}

func (w *Walk) area(x float64) float64 {
	i, rest := w.find(x)
	switch {
	case x <= 0:
		return 0
	case i+1 == len(w.ppm):
		return w.areas[i] + w.ppm[i]*rest
	}
	return w.areas[i] + w.ppm[i]*rest + (w.ppm[i+1]-w.ppm[i])*rest*rest/(2*w.step)
}

// find returns the step at or before x and how far x lies after it.
func (w *Walk) find(x float64) (i int, rest float64) {
	last := len(w.ppm) - 1
	i = int(min(max(math.Floor(x/w.step), 0), float64(last)))
	return i, x - float64(i)*w.step
}
