package show

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"meridian/clock"
)

// duration writes a length of time in the unit that suits it, with four significant digits.
func duration(ns int64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}} {
		if u.ns == 1 && ns > -1000 && ns < 1000 {
			return strconv.FormatInt(ns, 10) + " ns"
		}
		// 999.96 µs would be written as 1000 µs: it is 1 ms.
		if v := float64(ns) / u.ns; u.ns > 1 && (math.Abs(v) < 999.95 || u.name == "s") {
			return significant(v) + " " + u.name
		}
	}
	return ""
}

// significant writes a number below 1000 with four significant digits, a larger one without decimals.
func significant(v float64) string {
	a := math.Abs(v)
	decimals := 0
	switch {
	case a < 9.9995:
		decimals = 3
	case a < 99.995:
		decimals = 2
	case a < 999.95:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// offset writes the difference of two clocks: signed, and to the nanosecond once it takes seconds, because an offset
// is there to be applied.
func offset(ns int64) string {
	switch {
	case ns == 0:
		return "0 ns"
	case ns > -1e9 && ns < 1e9:
		return signed(ns > 0, duration(ns))
	}
	u := new(big.Int).Abs(big.NewInt(ns)).Uint64()
	return signed(ns > 0, fmt.Sprintf("%s%d.%09d s", minus(ns < 0), u/1e9, u%1e9))
}

// change writes by how much something changed.
func change(ns int64) string { return signed(ns > 0, duration(ns)) }

func signed(positive bool, s string) string {
	if positive {
		return "+" + s
	}
	return s
}

func minus(yes bool) string {
	if yes {
		return "-"
	}
	return ""
}

// ppm writes a skew without its unit.
func ppm(v float64) string {
	if v == 0 {
		return "0"
	}
	a, s := math.Abs(v), ""
	if a < 1 {
		s = strconv.FormatFloat(v, 'g', 4, 64)
	} else {
		s = significant(v)
	}
	return signed(v > 0, s)
}

// maxSkewPPM is the greatest bound of a skew that says something: no clock is off by a tenth.
const maxSkewPPM = 1e5

// skew writes a skew, or between what it lies if the messages do not determine it.
func skew(v, low, high *float64) string {
	v, low, high = finite(v), tellingSkew(low), tellingSkew(high)
	switch {
	case v != nil:
		return ppm(*v) + " ppm"
	case low != nil && high != nil:
		return fmt.Sprintf("undetermined (%s…%s ppm)", ppm(*low), ppm(*high))
	case low != nil:
		return fmt.Sprintf("undetermined (at least %s ppm)", ppm(*low))
	case high != nil:
		return fmt.Sprintf("undetermined (at most %s ppm)", ppm(*high))
	}
	return "undetermined"
}

// tellingSkew returns a bound of a skew, nil if it is beyond maxSkewPPM.
func tellingSkew(ppm *float64) *float64 {
	if ppm = finite(ppm); ppm == nil || math.Abs(*ppm) > maxSkewPPM {
		return nil
	}
	return ppm
}

// bound writes a bound, or that there is none.
func bound(ns *int64) string {
	if ns == nil {
		return "unbounded"
	}
	return duration(*ns)
}

// instant writes a stamp to the microsecond. From the year 2000 on it is a date in UTC, before that seconds of a counter
// such as the time since boot. The page has the same rule (view/page/time.js).
func instant(ns clock.HostTime) string {
	const year2000 = 946_684_800e9
	if ns >= year2000 {
		return time.Unix(0, int64(ns)).UTC().Round(time.Microsecond).Format("2006-01-02 15:04:05.999999")
	}
	u := new(big.Int).Abs(big.NewInt(int64(ns))).Uint64()
	u = (u + 500) / 1000 // µs
	s := fmt.Sprintf("%s%d.%06d", minus(ns < 0 && u > 0), u/1e6, u%1e6)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + " s"
}

// count writes a number with a blank between thousands, which no locale mistakes for a decimal sign.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// printable replaces what could steer a terminal: names come from files that anybody may have written.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
