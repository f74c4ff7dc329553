package match

import "meridian/trace"

// Whatever a decision rests on, a number of clocks or a direction, is put to the vote of many timestamps, since any one
// of them may be wrong: it was taken late, cut, or never set. The hypothesis that must be refuted before a decision is
// always the harmless one, under which a vote is false with a probability of at most maxFalse.
const (
	// maxFalse is the share of votes that false timestamps and packets out of order may spoil.
	maxFalse = 0.1
	// maxError is the greatest probability with which a decision may be wrong.
	maxError = 1e-6
)

// refuted reports whether k of n votes are more than false votes can be: whether P(Bin(n, maxFalse) >= k) < maxError.
// Seven of seven are, and 11 of 20.
func refuted(k, n int) bool {
	if k <= 0 || float64(k) <= maxFalse*float64(n) {
		return false
	}
	return trace.BinomialTail(int64(n), int64(k), maxFalse) < maxError
}
