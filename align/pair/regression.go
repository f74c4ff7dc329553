package pair

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"meridian/trace"
)

// exchange is a message from a to b and one back, as Clément and Dagenais (2009) measure it.
type exchange struct {
	at     int64   // the middle between T1, when a sent, and T4, when it received, on a's clock
	offset float64 // D of eq. (3), less the base that all exchanges share, ns
	margin float64 // E: half of the round trip without the time spent on b, ns
}

// Regression returns the estimate by least squares over the offsets of all exchanges, eq. (2)-(8) of Clément and
// Dagenais (2009): the line of least squared residuals, with its residual standard deviation. confidence (90, 95, 99 or
// 100 per cent, Table 2) leaves out exchanges whose margin lies further than 1.64, 1.96 or 2.58 standard deviations
// from the mean margin; 100 keeps all.
//
// Eq. (3) gives the mean of the offsets at T1 and T4, and the paper places it at T1. Over an answer that takes 20 ms of
// clocks 4,000 ppm apart that is 40 µs beside the line; it is placed in the middle here, where linear clocks have it.
//
// The bounds beside the line are those of [Hull]; the line may leave them, and messages may be inverted. It fails, and
// the hull's estimate is returned, where there are no two exchanges at different instants.
func Regression(p *Problem, confidence int) (Estimate, error) {
	z, ok := map[int]float64{90: 1.64, 95: 1.96, 99: 2.58, 100: math.Inf(1)}[confidence]
	if !ok {
		return Estimate{}, fmt.Errorf("confidence %d: 90, 95, 99 or 100 per cent", confidence)
	}
	e := Hull(p)
	exchanges, base := exchangesOf(p)
	exchanges = withinMargin(exchanges, z)
	line, ok := leastSquares(exchanges)
	if !ok {
		return e, nil
	}
	c := newCorridor(p)
	// b = a + D(a), and D(a) = base + offset + skew (a - origin).
	s := new(big.Rat).SetFloat64(line.skew)
	s.Add(s, big.NewRat(1, 1))
	y := new(big.Rat).SetFloat64(line.offset)
	y.Add(y, new(big.Rat).SetInt64(line.origin))
	y.Add(y, new(big.Rat).SetInt64(base))
	mid := c.straight(s, new(big.Rat).SetInt64(line.origin), y)
	if rate := slopeOf(mid); mid.Check() != nil || rate.compare(absurdlySlow) < 0 || rate.compare(absurdlyFast) > 0 {
		return e, nil // the exchanges span too little for a skew
	}
	e.Map.Mid, e.Skew = mid, line.skew*1e6
	e.Exchanges, e.Residual = len(exchanges), line.residual
	return e, nil
}

// exchangesOf pairs every message from a that b answered next, in the order of b's clock, with that answer: each
// message belongs to at most one exchange. All offsets are relative to base.
func exchangesOf(p *Problem) ([]exchange, int64) {
	there, back := slices.Collect(p.AB.All()), slices.Collect(p.BA.All())
	slices.SortFunc(there, func(m, n trace.Message) int { return cmp.Compare(m.Received, n.Received) })
	slices.SortFunc(back, func(m, n trace.Message) int { return cmp.Compare(m.Sent, n.Sent) })
	var out []exchange
	var base int64
	i := 0
	for _, answer := range back {
		asked := -1
		for ; i < len(there) && there[i].Received <= answer.Sent; i++ {
			asked = i
		}
		if asked < 0 {
			continue
		}
		m := there[asked]
		if out == nil {
			base = m.Received - m.Sent
		}
		d1, d2 := m.Received-m.Sent-base, answer.Sent-answer.Received-base
		out = append(out, exchange{
			at:     m.Sent + (answer.Received-m.Sent)/2,
			offset: (float64(d1) + float64(d2)) / 2,
			margin: math.Abs(float64(d1)-float64(d2)) / 2,
		})
	}
	return out, base
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
	origin       int64 // mean instant, a's clock
	offset, skew float64
	residual     float64
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
	l := regressionLine{origin: first + int64(sumT/n), offset: sumD / n}
	var tt, td float64
	for _, x := range exchanges {
		t := float64(x.at - l.origin)
		tt += t * t
		td += t * (x.offset - l.offset)
	}
	if tt == 0 {
		return l, false
	}
	l.skew = td / tt
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
