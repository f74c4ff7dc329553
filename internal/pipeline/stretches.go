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

// bending sums up the stretches of a pair by what they say.
type bending struct {
	smooth, slewed, steep             int
	greatest                          float64 // wander of the smooth ones, ppb/s
	smoothTime, slewedTime, steepTime time.Duration
}

func bendingOf(x *align.Pair) (b bending) {
	for _, s := range x.Stretches {
		length := time.Duration(s.To - s.From)
		switch {
		case math.IsInf(s.Wander, 1):
			b.slewed++
			b.slewedTime += length
		default:
			b.smooth++
			b.smoothTime += length
			b.greatest = max(b.greatest, s.Wander)
		}
		if s.Steep {
			b.steep++
			b.steepTime += length
		}
	}
	return b
}

// warnOfStretches names the pairs whose messages show that their clocks do not keep the assumption, and those whose bounds are
// narrower than any round trip. The assumption that the report names says the same.
func (f *findings) warnOfStretches() {
	if f.delayed { // what was stated of delays contradicts the messages, so they show nothing of clocks
		return
	}
	var bent, slewed, steep, narrow []string
	var all bending
	for i := range f.Solution.Pairs {
		x := &f.Solution.Pairs[i]
		name := f.Clocks[x.A].Name + " and " + f.Clocks[x.B].Name
		b := bendingOf(x)
		if b.smooth > 0 {
			bent = append(bent, name)
		}
		if b.slewed > 0 {
			slewed = append(slewed, name)
		}
		if b.steep > 0 {
			steep = append(steep, name)
		}
		all.greatest = max(all.greatest, b.greatest)
		all.smooth, all.slewed, all.steep = all.smooth+b.smooth, all.slewed+b.slewed, all.steep+b.steep
		all.smoothTime, all.slewedTime, all.steepTime = all.smoothTime+b.smoothTime, all.slewedTime+b.slewedTime, all.steepTime+b.steepTime
		if f.narrow(x) {
			narrow = append(narrow, name)
		}
	}
	assumed := f.Solution.Assumed
	var but []string
	if len(bent) > 0 {
		f.warnings.Add(firstOf(bent), fmt.Sprintf("their messages show that a clock wanders by more than %g ppb/s; bounds there (%s) rest on up to %.3g ppb/s",
			assumed.Wander, stretches(all.smooth, all.smoothTime), all.greatest), "")
		but = append(but, fmt.Sprintf("%.3g ppb/s in %s of %s, %g times what the messages show there", all.greatest, stretches(all.smooth, all.smoothTime), firstOf(bent), float64(bound.Factor)))
	}
	if len(slewed) > 0 {
		f.warnings.Add(firstOf(slewed), fmt.Sprintf("a clock was slewed fast or set by little, as their messages show; bounds there (%s) rest on the greatest rate of a slew, %.3g%%, and one step at a time",
			stretches(all.slewed, all.slewedTime), bound.MaxRate*100), "")
		but = append(but, fmt.Sprintf("slewed or set in %s of %s", stretches(all.slewed, all.slewedTime), firstOf(slewed)))
	}
	if len(steep) > 0 {
		f.warnings.Add(firstOf(steep), fmt.Sprintf("their skew is more than the assumed %g ppm (%s); no greatest skew is assumed there; state one with --max-skew",
			assumed.MaxSkew, stretches(all.steep, all.steepTime)), "")
		but = append(but, fmt.Sprintf("steeper in %s of %s", stretches(all.steep, all.steepTime), firstOf(steep)))
	}
	if len(narrow) > 0 {
		f.warnings.Add(firstOf(narrow), "their bounds are narrower than the least round trip, so they rest on the smoothness of the clocks rather than on messages; see --wander", "")
	}
	if f.Report.Assumption != "" && len(but) > 0 {
		f.Report.Assumption += "; but " + strings.Join(but, ", ")
	}
	if f.Report.Assumption != "" && assumed != (bound.Assumption{}) {
		f.Report.Assumption += "; and no clock ran off and came back between two messages"
	}
}

// stretches says how many there are and how long they last in all.
func stretches(n int, d time.Duration) string {
	if n == 1 {
		return "1 stretch of " + short(d)
	}
	return fmt.Sprintf("%d stretches of %s in all", n, short(d))
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
