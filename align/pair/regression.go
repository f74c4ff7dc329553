package pair

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"meridian/clock"
)

// Regression returns the estimate by least squares over the offsets of exchanges, eq. (2)-(8) of Clément and Dagenais (2009):
// the line of least squared residuals, with its residual standard deviation and the standard errors of its parameters
// ([Line]). Exchanges begun by either clock count, and no two share a message. confidence (90, 95, 99 or 100 per cent, Table 2) leaves out exchanges whose margin lies
// further than 1.64, 1.96 or 2.58 standard deviations from the mean margin; 100 keeps all.
//
// Eq. (3) gives the mean of the offsets at T1 and T4, and the paper places it at T1. Over an answer that takes 20 ms of
// clocks 4,000 ppm apart that is 40 µs beside the line; it is placed in the middle here, where linear clocks have it.
//
// The bounds beside the line are those of [Hull]; the line may leave them, and messages may be inverted. It fails, and
// the hull's estimate is returned, where there are no two exchanges at different instants.
func Regression(p *Problem, confidence int) (Estimate, error) {
	z, ok := map[int]float64{90: 1.64, 95: 1.96, 99: 2.58, 100: math.Inf(1)}[confidence]
	if !ok {
		return Estimate{}, fmt.Errorf("unknown confidence %d per cent (90, 95, 99, 100)", confidence)
	}
	e, c := hull(p)
	exchanges, base := separateExchanges(p)
	exchanges = withinMargin(exchanges, z)
	line, ok := leastSquares(exchanges)
	if ok && e.setLine(c, line, base) {
		e.Exchanges, e.Residual = len(exchanges), line.residual
		e.Lines = []Line{line.parameters(exchanges, base)}
	}
	return e, nil
}

// Line is a line of [Regression], D(t) = Offset + Skew t, where t counts from Origin: b's clock less a's. The standard
// errors take the residuals as independent.
type Line struct {
	Origin    clock.HostTime // the first exchange, on a's clock
	Exchanges int
	Residual  float64 // E_r, the residual standard deviation, eq. (6), ns; 0 for two exchanges, which say nothing of it
	Offset    int64   // D(0), eq. (5), ns
	Skew      float64 // X, eq. (4), ppm
	// The standard errors of Offset (ns) and Skew (ppm). The paper's eq. (7) is the first and eq. (8) the second, whatever
	// the letters on their left sides suggest: (7) has the dimension of E_r, (8) that of E_r per time.
	OffsetError, SkewError float64
}

// parameters returns the line from the first exchange on, with the errors of its parameters. About the mean instant, over
// which tt is the sum of squares, eq. (7) is E_r √(1/n + mean²/tt), and eq. (8) is E_r / √tt.
func (l *regressionLine) parameters(exchanges []exchange, base int64) Line {
	out := Line{Origin: exchanges[0].at, Exchanges: len(exchanges), Residual: l.residual, Skew: l.skew * 1e6}
	for _, x := range exchanges {
		out.Origin = min(out.Origin, x.at)
	}
	mean := float64(l.origin - out.Origin)
	out.Offset = clock.Add(base, int64(math.Round(l.offset-l.skew*mean)))
	out.OffsetError = l.residual * math.Sqrt(1/float64(len(exchanges))+mean*mean/l.squares)
	out.SkewError = l.residual / math.Sqrt(l.squares) * 1e6
	return out
}

// setLine makes a line of offsets the estimate: b = a + D(a), with D(a) = base + offset + skew (a - origin). It returns
// false, and leaves the estimate unchanged, if no pair of clocks can have that skew: the exchanges span too little time.
func (e *Estimate) setLine(c *corridor, line regressionLine, base int64) bool {
	if math.IsNaN(line.skew) || math.IsInf(line.skew, 0) || math.IsNaN(line.offset) || math.IsInf(line.offset, 0) {
		return false
	}
	s := new(big.Rat).SetFloat64(line.skew)
	s.Add(s, big.NewRat(1, 1))
	y := new(big.Rat).SetFloat64(line.offset)
	y.Add(y, new(big.Rat).SetInt64(int64(line.origin)))
	y.Add(y, new(big.Rat).SetInt64(base))
	mid := c.straight(s, new(big.Rat).SetInt64(int64(line.origin)), y)
	if rate := slopeOf(mid); mid.Check() != nil || rate.compare(absurdlySlow) < 0 || rate.compare(absurdlyFast) > 0 {
		return false
	}
	e.Map.Mid, e.Skew = mid, line.skew*1e6
	return true
}

// withinMargin keeps the exchanges whose margin lies within z standard deviations of the mean (K6).
func withinMargin(exchanges []exchange, z float64) []exchange {
	if math.IsInf(z, 1) || len(exchanges) < 3 {
		return exchanges
	}
	var mean, square float64
	for i, x := range exchanges { // Welford: no difference of large squares
		d := x.margin - mean
		mean += d / float64(i+1)
		square += d * (x.margin - mean)
	}
	sigma := math.Sqrt(square / float64(len(exchanges)-1))
	return slices.DeleteFunc(exchanges, func(x exchange) bool { return math.Abs(x.margin-mean) > z*sigma })
}

type regressionLine struct {
	origin       clock.HostTime // mean instant, a's clock
	offset, skew float64
	residual     float64
	squares      float64 // of the instants about the origin, ns²
}

// leastSquares fits offset + skew (t - origin) with the origin at the mean instant. Eq. (4) and (5) subtract sums that
// agree in their first digits as soon as instants count from 1970; about the mean the same line needs no such sums.
func leastSquares(exchanges []exchange) (regressionLine, bool) {
	if len(exchanges) < 2 {
		return regressionLine{}, false
	}
	n := float64(len(exchanges))
	first := exchanges[0].at
	var sumT, sumD float64
	for _, x := range exchanges {
		sumT += float64(x.at - first)
		sumD += x.offset
	}
	l := regressionLine{origin: first + clock.HostTime(sumT/n), offset: sumD / n}
	var tt, td float64
	for _, x := range exchanges {
		t := float64(x.at - l.origin)
		tt += t * t
		td += t * (x.offset - l.offset)
	}
	if tt == 0 {
		return l, false
	}
	l.skew, l.squares = td/tt, tt
	var rest float64
	for _, x := range exchanges {
		r := x.offset - l.offset - l.skew*float64(x.at-l.origin)
		rest += r * r
	}
	if len(exchanges) > 2 {
		l.residual = math.Sqrt(rest / (n - 2))
	}
	return l, true
}
