package pipeline

import (
	"fmt"
	"math"
	"strings"
	"time"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/pair"
)

// maxRounding limits by which factor the wander of a stretch may exceed the assumed one by rounding: it was scaled to ns and back.
const maxRounding = 1 + 1e-9

// tally is the stretches of one kind.
type tally struct {
	pairs  []string // that have some
	n      int
	length time.Duration
}

func (t *tally) add(name string, s bound.Stretch) {
	if n := len(t.pairs); n == 0 || t.pairs[n-1] != name {
		t.pairs = append(t.pairs, name)
	}
	t.n++
	t.length += time.Duration(s.To - s.From)
}

// String says how many there are and how long they last in all.
func (t *tally) String() string {
	if t.n == 1 {
		return "1 stretch of " + short(t.length)
	}
	return fmt.Sprintf("%d stretches of %s in all", t.n, short(t.length))
}

// warnOfStretches names the pairs whose messages show that their clocks do not keep the assumption, and those whose bounds are
// narrower than any round trip. The assumption that the report names says the same.
func (f *findings) warnOfStretches() {
	if f.delayed { // what was stated of delays contradicts the messages, so they show nothing of clocks
		return
	}
	var bent, slewed, steep tally
	var narrow []string
	greatest := 0.0 // wander, ppb/s
	for i := range f.Solution.Pairs {
		x := &f.Solution.Pairs[i]
		name := f.Clocks[x.A].Name + " and " + f.Clocks[x.B].Name
		for _, s := range x.Stretches {
			switch {
			case math.IsInf(s.Wander, 1):
				slewed.add(name, s)
			case s.Wander > f.Solution.Assumed.Wander*maxRounding: // one that is only steep keeps the assumed wander
				bent.add(name, s)
				greatest = max(greatest, s.Wander)
			}
			if s.Steep {
				steep.add(name, s)
			}
		}
		if f.narrow(x) {
			narrow = append(narrow, name)
		}
	}
	assumed := f.Solution.Assumed
	var but []string
	if bent.n > 0 {
		f.warnings.Add(firstOf(bent.pairs), fmt.Sprintf("their messages show that a clock wanders by more than %g ppb/s; bounds there (%s) rest on up to %.3g ppb/s",
			assumed.Wander, &bent, greatest), "")
		but = append(but, fmt.Sprintf("%.3g ppb/s in %s of %s, %d times what the messages show there", greatest, &bent, firstOf(bent.pairs), bound.Factor))
	}
	if slewed.n > 0 {
		f.warnings.Add(firstOf(slewed.pairs), fmt.Sprintf("a clock was slewed fast or set by little, as their messages show; bounds there (%s) rest on the greatest rate of a slew, %.3g%%, and one step at a time",
			&slewed, bound.MaxRate*100), "")
		but = append(but, fmt.Sprintf("slewed or set in %s of %s", &slewed, firstOf(slewed.pairs)))
	}
	if steep.n > 0 {
		f.warnings.Add(firstOf(steep.pairs), fmt.Sprintf("their skew is more than the assumed %g ppm (%s); no greatest skew is assumed there; state one with --max-skew",
			assumed.MaxSkew, &steep), "")
		but = append(but, fmt.Sprintf("steeper in %s of %s", &steep, firstOf(steep.pairs)))
	}
	if len(narrow) > 0 {
		f.warnings.Add(firstOf(narrow), "their bounds are narrower than the least round trip, so they rest on the smoothness of the clocks rather than on messages; see --wander", "")
	}
	if f.Report.Assumption != "" && len(but) > 0 {
		f.Report.Assumption += "; but " + strings.Join(but, ", ")
	}
	if f.Report.Assumption != "" && assumed != (bound.Assumption{}) {
		f.Report.Assumption += "; and no clock ran off and came back between two messages of one direction"
	}
}

// short rounds a time to three digits or so.
func short(d time.Duration) string {
	unit := time.Nanosecond
	for unit*1000 <= d {
		unit *= 10
	}
	return d.Round(unit).String()
}

// minWidth is below which part of the least round trip a width says that smoothness, not messages, makes the bound. Where
// clocks keep the assumption easily no width is below the round trip by more than what the assumption lets them jitter.
const minWidth = 0.9

// narrow reports whether the bounds of a pair are somewhere narrower than its least round trip.
func (f *findings) narrow(x *align.Pair) bool {
	spread, bounded := x.Estimate.Error()
	if !bounded || !x.Both || x.Estimate.Fit == pair.Absent || f.Solution.Assumed == (bound.Assumption{}) {
		return false
	}
	least := minWidth*float64(x.RoundTrip) - float64(2*f.Options.MinDelay) // what is known to be delay bounds as well
	return float64(2*spread.Best+1) < least-2*f.Solution.Assumed.Epsilon
}
