package match

import "math"

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
	return binomialTail(n, k, maxFalse) < maxError
}

// binomialTail returns P(Bin(n, p) >= k), for k above the mean.
func binomialTail(n, k int, p float64) (tail float64) {
	logChoose := func(i int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		return a - b - c
	}
	term := math.Exp(logChoose(k) + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
	// From k on, which is above the mean, each term is less than the one before, and soon far less.
	for i := k; i <= n && term > tail*1e-9; i++ {
		tail += term
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return tail
}
