package show

import (
	"math"
	"strconv"
	"strings"
)

// unit is one in which an axis may be labelled.
type unit struct {
	name string
	ns   float64
}

var (
	delayUnits = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	timeUnits  = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}
)

// tick is one mark of an axis.
type tick struct {
	value float64 // ns
	text  string
}

// ticks is an axis' marks, all in one unit.
type ticks struct {
	unit string
	at   []tick
}

// ticksOf marks an axis at some five to ten round values. The unit is the largest of which the axis shows at least two.
func ticksOf(v interval, units []unit) ticks {
	reach := max(math.Abs(v.low), math.Abs(v.high))
	u := units[0]
	for _, larger := range units[1:] {
		if reach >= 2*larger.ns {
			u = larger
		}
	}
	step := roundStep((v.high - v.low) / u.ns / 8)
	if math.IsInf(step, 0) || math.IsNaN(step) || step <= 0 {
		return ticks{unit: u.name}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	t := ticks{unit: u.name}
	first, last := math.Ceil(v.low/u.ns/step-1e-9), math.Floor(v.high/u.ns/step+1e-9)
	for k := first; k <= last && len(t.at) < 50; k++ {
		text := strconv.FormatFloat(k*step, 'f', decimals, 64)
		if k == 0 {
			text = "0"
		}
		t.at = append(t.at, tick{value: k * step * u.ns, text: strings.Replace(text, "-", "−", 1)})
	}
	return t
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is no smaller.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}
