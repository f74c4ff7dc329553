package pair

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Proportions of the search for least trimmed squares, those of Rousseeuw and Van Driessen (2006).
const (
	trimmedStarts     = 500  // lines through two exchanges at random
	trimmedCandidates = 10   // of which so many are iterated to convergence
	trimmedSample     = 1500 // exchanges that the search looks at; all of them only judge what it brings
	trimmedFinal      = 3    // lines that are
	trimmedSteps      = 100  // more than any line has taken to come to rest
	trimmedTolerance  = 1e-6 // part of the sum by which a step that is the last makes it less
)

// LeastTrimmedSquares returns the estimate by the line over the offsets of exchanges whose smallest squared residuals,
// as large a part of them as kept says, have the least sum (Rousseeuw 1984; for logs of distributed programs Proebstel
// 2008; Poirier 2010, section 2.2.3). kept is 0.5 to 1, 0 stands for the customary half: up to as many exchanges as are left
// out may be wrong by any amount, and the line stays. Residual is the standard deviation of the kept ones alone, in ns;
// Exchanges is their number.
//
// To try all halves takes combinatorial time. Fast-LTS (Rousseeuw and Van Driessen 2006) starts from lines through two
// exchanges at random and concentrates: the line of least squares through the exchanges nearest to a line is never worse
// than that line. The best lines are concentrated until they stay. The seed is fixed, so the same messages give the same
// line; of two lines equally good the one found first counts.
//
// It takes O(n) for messages in order and some 30 ms for the search. It fails, and the hull's estimate is returned, where
// there are no two exchanges at different instants. The bounds are those of [Hull]; the line may leave them, and messages
// may be inverted. A kept outside its range is an error.
func LeastTrimmedSquares(p *Problem, kept float64) (Estimate, error) {
	if kept == 0 {
		kept = 0.5
	}
	if !(kept >= 0.5 && kept <= 1) {
		return Estimate{}, fmt.Errorf("trimmed part %g out of range: 0.5 to 1 of the exchanges remain", kept)
	}
	e, c := hull(p)
	exchanges, base := exchangesBothWays(p)
	if len(exchanges) < 2 {
		return e, nil
	}
	t := newTrimmer(exchanges, kept)
	line, ok := t.search()
	if ok && e.setLine(c, line, base) {
		e.Exchanges, e.Residual = t.count(len(exchanges)), line.residual
	}
	return e, nil
}

// trimmer looks for the line of least trimmed squares.
type trimmer struct {
	all       []exchange
	kept      float64
	residuals []float64
	shuffled  []float64 // a copy for nth
	nearest   []exchange
}

func newTrimmer(exchanges []exchange, kept float64) *trimmer {
	return &trimmer{
		all: exchanges, kept: kept,
		residuals: make([]float64, len(exchanges)), shuffled: make([]float64, 0, len(exchanges)),
		nearest: make([]exchange, 0, len(exchanges)),
	}
}

// count returns how many of n exchanges are kept: a line needs two, and one more than it needs is shared by two halves.
func (t *trimmer) count(n int) int { return min(max(int(math.Ceil(t.kept*float64(n+1))), 2), n) }

// candidate is a line and the sum of the squares it leaves.
type candidate struct {
	line regressionLine
	sum  float64
}

func byWorth(a, b candidate) int { return cmp.Compare(a.sum, b.sum) }

func (t *trimmer) search() (regressionLine, bool) {
	random := rand.New(rand.NewPCG(0x4c5453, 1984))
	sample := t.all
	if len(sample) > trimmedSample {
		sample = make([]exchange, trimmedSample)
		for i := range sample {
			// One of each of equally large parts: the sample covers the trace as the exchanges do.
			from, to := i*len(t.all)/trimmedSample, (i+1)*len(t.all)/trimmedSample
			sample[i] = t.all[from+random.IntN(to-from)]
		}
	}
	starts := make([]candidate, 0, trimmedStarts+1)
	if line, ok := leastSquares(sample); ok {
		starts = append(starts, t.concentrate(sample, line, 2))
	}
	for range trimmedStarts {
		i, j := random.IntN(len(sample)), random.IntN(len(sample))
		if line, ok := leastSquares([]exchange{sample[i], sample[j]}); ok {
			starts = append(starts, t.concentrate(sample, line, 2))
		}
	}
	starts = best(starts, trimmedCandidates)
	for i := range starts {
		starts[i] = t.concentrate(sample, starts[i].line, trimmedSteps)
	}
	// What the sample brings is nearly the same line many times over; all exchanges tell them apart in two steps.
	if len(sample) < len(t.all) {
		starts = best(starts, trimmedFinal)
		for i := range starts {
			starts[i] = t.concentrate(t.all, starts[i].line, 2)
		}
	}
	starts = best(starts, 1)
	if len(starts) == 0 {
		return regressionLine{}, false
	}
	return t.concentrate(t.all, starts[0].line, trimmedSteps).line, true
}

func best(candidates []candidate, n int) []candidate {
	slices.SortStableFunc(candidates, byWorth)
	candidates = slices.CompactFunc(candidates, func(a, b candidate) bool { return a == b })
	return candidates[:min(n, len(candidates))]
}

// concentrate takes up to so many steps from a line to the line of least squares through what is nearest to it, until
// the sum falls no more.
func (t *trimmer) concentrate(exchanges []exchange, line regressionLine, steps int) candidate {
	now := candidate{line, math.Inf(1)}
	for range steps {
		t.near(exchanges, now.line)
		next, ok := leastSquares(t.nearest)
		if !ok { // what is nearest lies at one instant
			break
		}
		sum := 0.0
		for _, x := range t.nearest {
			r := next.residualOf(x)
			sum += r * r
		}
		little := sum >= now.sum*(1-trimmedTolerance)
		if sum < now.sum {
			now = candidate{next, sum}
		}
		if little {
			break
		}
	}
	return now
}

// near leaves in nearest the exchanges with the smallest residuals; of equal ones the first count.
func (t *trimmer) near(exchanges []exchange, line regressionLine) {
	h := t.count(len(exchanges))
	residuals := t.residuals[:len(exchanges)]
	for i := range exchanges {
		residuals[i] = math.Abs(line.residualOf(exchanges[i]))
	}
	limit := nth(append(t.shuffled[:0], residuals...), h-1)
	ties := h
	for _, r := range residuals {
		if r < limit {
			ties--
		}
	}
	t.nearest = t.nearest[:0]
	for i, r := range residuals {
		if r < limit {
			t.nearest = append(t.nearest, exchanges[i])
		} else if r == limit && ties > 0 {
			t.nearest, ties = append(t.nearest, exchanges[i]), ties-1
		}
	}
}

func (l *regressionLine) residualOf(x exchange) float64 {
	return x.offset - l.offset - l.skew*float64(x.at-l.origin)
}

// nth returns the value that would stand at index n if the values were sorted, by Hoare's selection; it shuffles them.
func nth(values []float64, n int) float64 {
	lo, hi := 0, len(values)-1
	for lo < hi {
		a, b, c := values[lo], values[lo+(hi-lo)/2], values[hi]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			hi = j
		case n >= i:
			lo = i
		default:
			return values[n]
		}
	}
	return values[n]
}
