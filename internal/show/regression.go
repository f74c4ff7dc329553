package show

import (
	"fmt"
	"strings"

	"meridian/clock"
)

// Line is a line of regression (Clément and Dagenais 2009, eq. (2)-(8)): the offset of b is Offset + Skew t, where t counts
// from the origin on a's clock. What is null is not known.
type Line struct {
	OriginNs      clock.HostTime `json:"origin_ns"` // the first exchange
	Exchanges     int            `json:"exchanges"`
	ResidualNs    *float64       `json:"residual_ns"`     // E_r, eq. (6)
	OffsetNs      int64          `json:"offset_ns"`       // D(0), eq. (5)
	OffsetErrorNs *float64       `json:"offset_error_ns"` // its standard error, eq. (7)
	SkewPPM       float64        `json:"skew_ppm"`        // X, eq. (4)
	SkewErrorPPM  *float64       `json:"skew_error_ppm"`  // its standard error, eq. (8)
}

// PairLine is a line between two clocks.
type PairLine struct {
	A string `json:"a"`
	B string `json:"b"`
	Line
}

// complete returns a line in which every number is finite.
func (l Line) complete() Line {
	l.ResidualNs, l.OffsetErrorNs, l.SkewErrorPPM = finite(l.ResidualNs), finite(l.OffsetErrorNs), finite(l.SkewErrorPPM)
	return l
}

// lines returns the lines of all pairs.
func (r *Report) lines() []PairLine {
	var all []PairLine
	for _, p := range r.Pairs {
		for _, l := range p.Regression {
			all = append(all, PairLine{p.A, p.B, l})
		}
	}
	return all
}

// lineTable writes the lines of a regression, with the errors of their parameters, under a blank line.
func lineTable(out *strings.Builder, lines []PairLine) {
	if len(lines) == 0 {
		return
	}
	out.WriteByte('\n')
	t := table{left: map[int]bool{0: true, 1: true, 2: true}}
	t.row("a", "b", "regression from", "exchanges", "residual E_r", "offset b-a", "its error", "skew b-a", "its error")
	for i, l := range lines {
		if i == mostDirections {
			t.row(fmt.Sprintf("(%s more)", count(int64(len(lines)-i))), "", "", "", "", "", "", "", "")
			break
		}
		t.row(printable(l.A), printable(l.B), instant(l.OriginNs), count(int64(l.Exchanges)), known(l.ResidualNs, rounded),
			offset(l.OffsetNs), known(l.OffsetErrorNs, rounded), ppm(l.SkewPPM)+" ppm", known(l.SkewErrorPPM, ppmWithoutSign))
	}
	t.write(out)
}

func ppmWithoutSign(v float64) string { return strings.TrimPrefix(ppm(v), "+") + " ppm" }

// known writes a number, or a dash where there is none.
func known(v *float64, write func(float64) string) string {
	if v = finite(v); v == nil {
		return "-"
	}
	return write(*v)
}
