package main

import (
	"math"
	"slices"
	"sort"
)

const second = int64(1e9)

// Clock is what one host's clock shows: at the true instant t (ns) it reads t + Base + the sum of its terms at t.
//
// Base is an integer and every term is a float64 of at most some 1e13 ns, or a whole number, so a reading is exact to less than a thousandth of a
// nanosecond however far the host is from the true date. A clock without terms is true.
type Clock struct {
	Base  int64
	Terms []Term `json:",omitempty"`
}

// Term is one part of a clock's error. Kind says which fields it has:
//
//	rates   Knots: the rate of the error, linear between two knots or jumping at them
//	sine    Size ns * sin(2 pi (t - At) / Period)
//	step    Size ns from the instant At on
type Term struct {
	Kind   string
	Knots  []Knot  `json:",omitempty"`
	At     int64   `json:",omitempty"`
	Size   float64 `json:",omitempty"`
	Period float64 `json:",omitempty"` // ns
}

// Knot is where a rate changes: from At on it is Rate + Slope * seconds, until the next knot. Before the first knot the rate is the
// first knot's, without its slope.
type Knot struct {
	At    int64
	Rate  float64 // ppb
	Slope float64 // ppb/s
	value float64 // the error at At, ns; settle sets it
}

// settle prepares the clock for readings. Whoever changes terms settles the clock again.
func (c *Clock) settle() {
	for i := range c.Terms {
		knots := c.Terms[i].Knots
		for k := 1; k < len(knots); k++ {
			knots[k].value = knots[k-1].after(knots[k].At - knots[k-1].At)
		}
	}
}

// after is the error d ns behind the knot.
func (k *Knot) after(d int64) float64 {
	s := float64(d) / 1e9
	if d < 0 {
		return k.value + k.Rate*s
	}
	return k.value + k.Rate*s + k.Slope*s*s/2
}

// at is the term's error at t, ns.
func (m *Term) at(t int64) float64 {
	switch m.Kind {
	case "rates":
		i := sort.Search(len(m.Knots), func(i int) bool { return m.Knots[i].At > t }) - 1
		return m.Knots[max(i, 0)].after(t - m.Knots[max(i, 0)].At)
	case "sine":
		return m.Size * math.Sin(2*math.Pi*float64(t-m.At)/m.Period)
	case "step":
		if t >= m.At {
			return m.Size
		}
		return 0
	}
	panic("unknown term " + m.Kind)
}

// Reading is an instant of a clock, ns: Whole + Part, Part in [0, 1).
type Reading struct {
	Whole int64
	Part  float64
}

// read is what the clock shows at t.
func (c *Clock) read(t int64) Reading {
	whole, small := t+c.Base, 0.0
	for i := range c.Terms {
		// A leap over years would drown the fractions of the others.
		if e := c.Terms[i].at(t); math.Abs(e) > 1e13 {
			whole += int64(e)
		} else {
			small += e
		}
	}
	floor := math.Floor(small)
	return Reading{whole + int64(floor), small - floor}
}

// error is the sum of the terms at t, ns.
func (c *Clock) error(t int64) float64 {
	sum := 0.0
	for i := range c.Terms {
		sum += c.Terms[i].at(t)
	}
	return sum
}

// steps are the instants and sizes at which the clock is set.
func (c *Clock) steps() []Term {
	var steps []Term
	for _, m := range c.Terms {
		if m.Kind == "step" {
			steps = append(steps, m)
		}
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].At < steps[j].At })
	return steps
}

// timelines are the clocks that a timeline which follows this one may follow: its reading as it is and, where it was set, each piece of
// it continued as if the clock had never been set.
func (c *Clock) timelines() []*Clock {
	all := []*Clock{c}
	steps := c.steps()
	if len(steps) == 0 || len(steps) > 1000 {
		return all
	}
	smooth := Clock{Base: c.Base}
	for _, m := range c.Terms {
		if m.Kind != "step" {
			smooth.Terms = append(smooth.Terms, m)
		}
	}
	for n := range len(steps) + 1 {
		piece := Clock{Base: c.Base, Terms: slices.Clone(smooth.Terms)}
		for _, m := range steps[:n] {
			m.At = math.MinInt64 // a step before everything is a constant
			piece.Terms = append(piece.Terms, m)
		}
		all = append(all, &piece)
	}
	return all
}
