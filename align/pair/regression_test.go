package pair

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// talk returns messages in which either clock begins exchanges, 40 ppm apart, with jitter; all stamps differ.
func talk(seed uint64, origin clock.HostTime, n int) *Problem {
	random := rand.New(rand.NewPCG(seed, 1))
	f := func(x clock.HostTime) clock.HostTime {
		return x - 3_000_000_000 + clock.HostTime(clock.MulDiv(int64(x-origin), 40, 1_000_000, clock.Nearest))
	}
	delay := func() clock.HostTime { return 50_000 + clock.HostTime(random.ExpFloat64()*30_000) }
	var there, back []trace.Message
	at := origin
	for range n {
		at += clock.HostTime(random.ExpFloat64()*1e9) + 400_000
		arrived := at + delay()
		answered := arrived + clock.HostTime(random.Int64N(100_000)) + 1
		got := answered + delay()
		if random.IntN(2) == 0 {
			there, back = append(there, trace.Message{Sent: at, Received: f(arrived)}), append(back, trace.Message{Sent: f(answered), Received: got})
		} else {
			back, there = append(back, trace.Message{Sent: f(at), Received: arrived}), append(there, trace.Message{Sent: answered, Received: f(got)})
		}
		at = got
	}
	return &Problem{A: trace.Clock{First: origin, Last: at}, B: trace.Clock{First: f(origin), Last: f(at)}, AB: Messages{there}, BA: Messages{back}}
}

// exchangesByDefinition returns instant and offset of every exchange: a question, and the first message that its receiver sends
// back, unless another question came in between.
func exchangesByDefinition(questions, answers Messages) (found [][2]trace.Message) {
	for q := range questions.All() {
		for a := range answers.All() {
			next := a.Sent >= q.Received
			for other := range answers.All() {
				next = next && !(other.Sent >= q.Received && other.Sent < a.Sent)
			}
			for other := range questions.All() {
				next = next && !(other.Received > q.Received && other.Received <= a.Sent)
			}
			if next {
				found = append(found, [2]trace.Message{q, a})
			}
		}
	}
	return found
}

// separate takes the exchange with the shortest wait before its answer of those whose messages are in no other, until none is
// left. The first message of each is a's.
func separate(begunByA, begunByB [][2]trace.Message) (chosen [][2]trace.Message) {
	type messages [2]trace.Message
	left := make(map[messages]int64)
	for _, x := range begunByA {
		left[x] = int64(x[1].Sent - x[0].Received)
	}
	for _, x := range begunByB {
		left[messages{x[1], x[0]}] = int64(x[1].Sent - x[0].Received)
	}
	for len(left) > 0 {
		var best messages
		wait := int64(math.MaxInt64)
		for x, w := range left {
			if w < wait {
				best, wait = x, w
			}
		}
		chosen = append(chosen, best)
		for x := range left {
			if x[0] == best[0] || x[1] == best[1] {
				delete(left, x)
			}
		}
	}
	return chosen
}

// regressed is eq. (4)-(8) of Clément and Dagenais (2009) as they are printed, in exact sums.
type regressed struct{ X, D0, Er, ED0, EX float64 }

func regressionAsPrinted(t, d []*big.Rat) regressed {
	sum := func(of func(k int) *big.Rat) *big.Rat {
		s := new(big.Rat)
		for k := range t {
			s.Add(s, of(k))
		}
		return s
	}
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	sub := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
	n := big.NewRat(int64(len(t)), 1)
	sT, sD := sum(func(k int) *big.Rat { return t[k] }), sum(func(k int) *big.Rat { return d[k] })
	sTT, sTD := sum(func(k int) *big.Rat { return mul(t[k], t[k]) }), sum(func(k int) *big.Rat { return mul(t[k], d[k]) })
	delta := sub(mul(n, sTT), mul(sT, sT))
	x := new(big.Rat).Quo(sub(mul(n, sTD), mul(sT, sD)), delta)
	d0 := new(big.Rat).Quo(sub(mul(sTT, sD), mul(sT, sTD)), delta)
	rest := sum(func(k int) *big.Rat { r := sub(sub(d[k], mul(x, t[k])), d0); return mul(r, r) })
	float := func(r *big.Rat) float64 { f, _ := r.Float64(); return f }
	er := math.Sqrt(float(rest.Quo(rest, big.NewRat(int64(len(t)-2), 1))))
	return regressed{float(x), float(d0), er,
		er * math.Sqrt(float(new(big.Rat).Quo(sTT, delta))), er * math.Sqrt(float(new(big.Rat).Quo(n, delta)))}
}

func TestRegressionIsThatOfThePaperOverExchangesBegunByEitherClock(t *testing.T) {
	for seed, origin := range []clock.HostTime{0, since1970, -since1970, 17} {
		p := talk(uint64(seed), origin, 60)
		begunByA, begunByB := exchangesByDefinition(p.AB, p.BA), exchangesByDefinition(p.BA, p.AB)
		both := separate(begunByA, begunByB)
		if len(begunByA) < 20 || len(begunByB) < 20 || len(both) != p.AB.Len() {
			t.Fatalf("%d and %d exchanges, %d that share no message", len(begunByA), len(begunByB), len(both))
		}
		var at, offset []*big.Rat
		first := clock.HostTime(math.MaxInt64)
		middle := func(x [2]trace.Message) clock.HostTime { return x[0].Sent + (x[1].Received-x[0].Sent)/2 }
		for _, x := range both {
			first = min(first, middle(x))
		}
		for _, x := range both {
			at = append(at, big.NewRat(int64(middle(x)-first), 1))
			offset = append(offset, big.NewRat(int64(x[0].Received-x[0].Sent)+int64(x[1].Sent-x[1].Received), 2)) // eq. (3)
		}
		want := regressionAsPrinted(at, offset)
		e := must(Regression(p, 100))
		if len(e.Lines) != 1 || e.Exchanges != len(both) || e.Residual != e.Lines[0].Residual {
			t.Fatalf("%d lines over %d exchanges, want %d", len(e.Lines), e.Exchanges, len(both))
		}
		l := e.Lines[0]
		close := func(what string, got, want, tolerance float64) {
			if math.Abs(got-want) > tolerance {
				t.Errorf("from %d: %s is %g, the paper's %g", origin, what, got, want)
			}
		}
		if l.Origin != first {
			t.Errorf("origin %d, want %d", l.Origin, first)
		}
		close("X, eq. (4)", l.Skew, want.X*1e6, 1e-9)
		close("D(0), eq. (5)", float64(l.Offset), want.D0, 0.51)
		close("E_r, eq. (6)", l.Residual, want.Er, want.Er*1e-6)
		close("eq. (7)", l.OffsetError, want.ED0, want.ED0*1e-6)
		close("eq. (8)", l.SkewError, want.EX*1e6, want.EX*1e6*1e-6)
		for _, x := range both { // the curve is that line
			d := float64(middle(x) - first)
			close("the curve", float64(e.Map.At(middle(x))-middle(x)), want.D0+want.X*d, 2)
		}
	}
}

// TestRegressionIsTheSameWhicheverClockIsTheClients: of a client that waits a second between its questions, all exchanges are its
// own, and the line does not depend on which clock is called a.
func TestRegressionIsTheSameWhicheverClockIsTheClients(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	p, _ := linear(since1970, 90, 1_000_000_000, 300, func() int64 { return int64(random.ExpFloat64() * 40_000) })
	q := &Problem{A: p.B, B: p.A, AB: p.BA, BA: p.AB}
	for _, confidence := range []int{90, 100} {
		e, f := must(Regression(p, confidence)), must(Regression(q, confidence))
		if e.Exchanges > 300 || e.Exchanges < 230 || e.Exchanges != f.Exchanges {
			t.Errorf("%d and %d exchanges of 300", e.Exchanges, f.Exchanges)
		}
		if d := e.Residual - f.Residual; d > 1e-3*e.Residual || d < -1e-3*e.Residual {
			t.Errorf("residuals %g and %g ns", e.Residual, f.Residual)
		}
		if d := (1+e.Skew/1e6)*(1+f.Skew/1e6) - 1; math.Abs(d) > 1e-12 {
			t.Errorf("skews %g and %g ppm differ by %g", e.Skew, f.Skew, d)
		}
	}
}

// TestErrorsOfTheParametersAreHowFarTheyScatter draws the same line with independent noise many times: over the draws the offset
// and the skew are to scatter as eq. (7) and (8) say.
func TestErrorsOfTheParametersAreHowFarTheyScatter(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	const draws, n, noise = 3000, 40, 500
	var offset, skew, offsetError, skewError float64
	for range draws {
		exchanges := make([]exchange, n)
		for k := range exchanges {
			exchanges[k] = exchange{at: since1970 + clock.HostTime(k)*1e9, offset: 7_000 + float64(k)*250 + noise*random.NormFloat64()}
		}
		line, ok := leastSquares(exchanges)
		if !ok {
			t.Fatal("no line")
		}
		l := line.parameters(exchanges, 0)
		offset += (float64(l.Offset) - 7_000) * (float64(l.Offset) - 7_000) / draws
		skew += (l.Skew - 0.25) * (l.Skew - 0.25) / draws
		offsetError += l.OffsetError * l.OffsetError / draws
		skewError += l.SkewError * l.SkewError / draws
	}
	for what, ratio := range map[string]float64{"offset": math.Sqrt(offset / offsetError), "skew": math.Sqrt(skew / skewError)} {
		if ratio < 0.95 || ratio > 1.05 {
			t.Errorf("the %s scatters by %.3f of its error", what, ratio)
		}
	}
}

func TestSegmentsKeepTheLineOfEach(t *testing.T) {
	p := talk(1, since1970, 400)
	length := int64(p.A.Last-p.A.First) / 4
	e := must(Segmented(p, length, func(p *Problem) (Estimate, error) { return Regression(p, 100) }))
	if len(e.Lines) != 4 {
		t.Fatalf("%d lines of four segments", len(e.Lines))
	}
	exchanges := 0
	for i, part := range p.segments(length) {
		if alone := must(Regression(part, 100)); len(alone.Lines) != 1 || alone.Lines[0] != e.Lines[i] {
			t.Errorf("segment %d: %+v, alone %+v", i, e.Lines[i], alone.Lines)
		}
		exchanges += e.Lines[i].Exchanges
	}
	if exchanges != e.Exchanges {
		t.Errorf("%d exchanges in the lines, %d in all", exchanges, e.Exchanges)
	}
}
