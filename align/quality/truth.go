package quality

import (
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Truth is how the clocks of a problem really ran, which only a simulation or a common hardware clock can tell.
type Truth struct {
	Clocks []clock.Curve // from each clock's time to true time, ns; nil where it is not known
	Links  []Link
}

// Link is the least time that a message can take from one clock's host to another's, ns, at first and after each change
// of the route.
type Link struct {
	From, To int
	Minimum  int64
	Changes  []Change // in order of time
}

// Change is a least delay that holds from a true instant on.
type Change struct {
	At      clock.TimelineTime
	Minimum int64
}

// at returns the least delay at a true instant.
func (l *Link) at(instant clock.TimelineTime) int64 {
	minimum := l.Minimum
	for _, c := range l.Changes {
		if instant < c.At {
			break
		}
		minimum = c.Minimum
	}
	return minimum
}

// Least returns the least delay that the link ever had.
func (l *Link) Least() int64 {
	minimum := l.Minimum
	for _, c := range l.Changes {
		minimum = min(minimum, c.Minimum)
	}
	return minimum
}

// Size is how large an error is over time, ns.
type Size struct {
	RMS, Max float64 // Max of its magnitude
}

// Deviation is the error of one clock's map against the truth, over a grid of true instants that both it and the
// reference were recording.
type Deviation struct {
	Clock, Reference int
	Size
	// Centred is the error less its mean over time: what is left when the offset is granted.
	Centred Size
	// Symmetric is the error less half the difference of the least delays to the reference and back, where HasSymmetric:
	// no method can see that (Haddad 1988). It is given for components of two clocks, where it is exactly that; among
	// more it depends on how a method weighs the loops. Asymmetry is the mean of what was taken off.
	Symmetric    Size
	Asymmetry    float64
	HasSymmetric bool
	// Bounded says that the map has both bounds; the rest is 0 without them.
	Bounded bool
	Within  float64 // share of the instants at which they hold the truth, 0 to 1
	Always  bool    // they hold it at every instant of the grid
	// WidthMedian and WidthP95 are quantiles of the distance between the bounds over the grid, ns.
	WidthMedian, WidthP95 int64
	// RoundTrip is the least time to the reference and back over links whose least delay is known, ns, where
	// HasRoundTrip: bounds from messages alone come as close as that, but for the steps of the stamps. RatioMedian
	// and RatioP95 are the widths in units of it.
	RoundTrip             int64
	HasRoundTrip          bool
	RatioMedian, RatioP95 float64
}

// Comparison holds the deviation of every clock that can be compared, and all of them taken together: the root mean
// square over all instants of all clocks, the largest maximum, quantiles over all instants.
type Comparison struct {
	Clocks []Deviation
	All    Deviation // Clock and Reference are -1
}

// grid is the number of instants at which an error is taken.
const grid = 2001

// slack is by how much the truth may lie outside of bounds, ns: both clocks' true curves and the reference's map are
// rounded to the nanosecond.
const slack = 2

// Against holds maps against the truth. The error of clock i at the true instant T is
//
//	Maps[i](h_i(T)) - Maps[r](h_r(T))
//
// where h is what a clock showed at T and r is i's reference; it is taken at 2001 even instants of the span in which both
// have stamps. reference gives each clock's reference by number. Clocks of unknown truth, references themselves, and
// clocks that share no span with their reference are left out.
func Against(t *Truth, clocks []trace.Clock, maps []clock.Map, reference []int) Comparison {
	members := make(map[int]int)
	for _, r := range reference {
		members[r]++
	}
	c := Comparison{}
	var all samples
	ways := make(map[int][]int64)
	for i, r := range reference {
		if i == r || len(t.Clocks[i]) == 0 || len(t.Clocks[r]) == 0 {
			continue
		}
		s, ok := t.sample(clocks, maps, i, r)
		if !ok {
			continue
		}
		if ways[r] == nil {
			ways[r] = t.roundTrips(r, len(clocks))
		}
		if way := ways[r][i]; way < math.MaxInt64 {
			s.roundTrip, s.hasRoundTrip = way, true
		}
		if members[r] == 2 {
			t.straighten(s, i, r)
		}
		s.relate()
		all.join(s, len(c.Clocks) == 0)
		d := s.deviation()
		d.Clock, d.Reference = i, r
		c.Clocks = append(c.Clocks, d)
	}
	c.All = all.deviation()
	c.All.Clock, c.All.Reference = -1, -1
	return c
}

// samples is what is found at the instants of the grid.
type samples struct {
	instants                   []clock.TimelineTime // true
	errors, centred, symmetric []float64
	widths                     []int64
	ratios                     []float64 // of widths to the round trip
	held                       int
	bounded                    bool
	asymmetry                  float64
	hasSymmetric               bool
	roundTrip                  int64
	hasRoundTrip               bool
}

// sample takes clock i against its reference r; false if they share no span.
func (t *Truth) sample(clocks []trace.Clock, maps []clock.Map, i, r int) (*samples, bool) {
	span := func(n int) (clock.TimelineTime, clock.TimelineTime) {
		return t.Clocks[n].At(clocks[n].First, clock.Up), t.Clocks[n].At(clocks[n].Last, clock.Down)
	}
	first, last := span(i)
	firstR, lastR := span(r)
	first, last = max(first, firstR), min(last, lastR)
	if first >= last {
		return nil, false
	}
	onI, onR := clock.NewCursor(t.Clocks[i].Inverse()), clock.NewCursor(t.Clocks[r].Inverse())
	s := &samples{bounded: maps[i].Low != nil && maps[i].High != nil}
	var sum float64
	for k := range int64(grid) {
		at := clock.Add(first, clock.MulDiv(clock.Sub(last, first), k, grid-1, clock.Nearest))
		h := onI.At(at)
		truth := maps[r].At(onR.At(at))
		e := float64(clock.Sub(maps[i].At(h), truth))
		s.instants = append(s.instants, at)
		s.errors = append(s.errors, e)
		sum += e
		if s.bounded {
			low, high, _, _ := maps[i].Bounds(h)
			s.widths = append(s.widths, clock.Sub(high, low))
			if low <= clock.Add(truth, slack) && high >= clock.Add(truth, -slack) {
				s.held++
			}
		}
	}
	for _, e := range s.errors {
		s.centred = append(s.centred, e-sum/grid)
	}
	return s, true
}

// relate expresses the widths in round trips.
func (s *samples) relate() {
	if !s.hasRoundTrip || s.roundTrip <= 0 {
		return
	}
	for _, w := range s.widths {
		s.ratios = append(s.ratios, float64(w)/float64(s.roundTrip))
	}
}

// join adds another clock's samples; what one of them lacks, all lack.
func (s *samples) join(o *samples, isFirst bool) {
	s.errors = append(s.errors, o.errors...)
	s.centred = append(s.centred, o.centred...)
	s.symmetric = append(s.symmetric, o.symmetric...)
	s.widths = append(s.widths, o.widths...)
	s.ratios = append(s.ratios, o.ratios...)
	s.held += o.held
	s.bounded = o.bounded && (isFirst || s.bounded)
	s.hasSymmetric = o.hasSymmetric && (isFirst || s.hasSymmetric)
	s.hasRoundTrip = o.hasRoundTrip && (isFirst || s.hasRoundTrip)
	s.asymmetry, s.roundTrip = o.asymmetry, o.roundTrip
}

func (s *samples) deviation() Deviation {
	d := Deviation{
		Size: sizeOf(s.errors), Centred: sizeOf(s.centred), Bounded: s.bounded,
		HasSymmetric: s.hasSymmetric, HasRoundTrip: s.hasRoundTrip,
	}
	if s.hasSymmetric {
		d.Symmetric, d.Asymmetry = sizeOf(s.symmetric), s.asymmetry
	}
	if s.hasRoundTrip {
		d.RoundTrip = s.roundTrip
	}
	if !s.bounded || len(s.errors) == 0 {
		return d
	}
	d.Within, d.Always = float64(s.held)/float64(len(s.errors)), s.held == len(s.errors)
	d.WidthMedian, d.WidthP95 = quantile(s.widths, 50), quantile(s.widths, 95)
	if s.hasRoundTrip && len(s.ratios) == len(s.widths) {
		d.RatioMedian, d.RatioP95 = quantile(s.ratios, 50), quantile(s.ratios, 95)
	}
	return d
}

func sizeOf(errors []float64) Size {
	var s Size
	for _, e := range errors {
		s.RMS += e * e
		s.Max = max(s.Max, math.Abs(e))
	}
	if len(errors) > 0 {
		s.RMS = math.Sqrt(s.RMS / float64(len(errors)))
	}
	return s
}

// quantile returns the smallest value that the given per cent of the values do not exceed.
func quantile[T int64 | float64](values []T, percent int) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max((len(sorted)*percent+99)/100-1, 0)]
}

// straighten takes off half of what the way from a clock to its reference takes longer than the way back at least: an
// estimate in the middle of the corridor is wrong by just that. Both directions must have a link.
func (t *Truth) straighten(s *samples, i, r int) {
	for k, at := range s.instants {
		there, ok := t.minimum(i, r, at)
		back, too := t.minimum(r, i, at)
		if !ok || !too {
			return
		}
		asymmetry := float64(there-back) / 2
		s.asymmetry += asymmetry / grid
		s.symmetric = append(s.symmetric, s.errors[k]-asymmetry)
	}
	s.hasSymmetric = true
}

// minimum returns the least delay of the links from one clock to another at a true instant.
func (t *Truth) minimum(from, to int, at clock.TimelineTime) (int64, bool) {
	least := int64(math.MaxInt64)
	for i := range t.Links {
		if l := &t.Links[i]; l.From == from && l.To == to {
			least = min(least, l.at(at))
		}
	}
	return least, least < math.MaxInt64
}

// roundTrips returns for each of n clocks the least time over links to r and back, MaxInt64 where there is no way
// (Bellman and Ford: the links are few and the ways short).
func (t *Truth) roundTrips(r, n int) []int64 {
	to, from := make([]int64, n), make([]int64, n)
	for i := range n {
		to[i], from[i] = math.MaxInt64, math.MaxInt64
	}
	to[r], from[r] = 0, 0
	for changed, round := true, 0; changed && round < n; round++ {
		changed = false
		for k := range t.Links {
			l := &t.Links[k]
			minimum := max(l.Least(), 0)
			if d := clock.Add(from[l.From], minimum); d < from[l.To] {
				from[l.To], changed = d, true
			}
			if d := clock.Add(to[l.To], minimum); d < to[l.From] {
				to[l.From], changed = d, true
			}
		}
	}
	for i := range to {
		to[i] = clock.Add(to[i], from[i])
	}
	return to
}
