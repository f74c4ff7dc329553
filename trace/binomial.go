package trace

import "math"

// BinomialTail returns P(Bin(n, p) >= k): how probable it is that k or more of n independent events happen, each of
// probability p, 0 < p < 1. It returns 1 where k is not above the mean.
func BinomialTail(n, k int64, p float64) (tail float64) {
	if float64(k) <= p*float64(n) {
		return 1
	}
	term := math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	// Above the mean each term is less than the one before, and soon far less.
	for i := k; i <= n && term > tail*1e-9; i++ {
		tail += term
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return tail
}

// logFactorial returns the natural logarithm of n!.
func logFactorial(n int64) float64 {
	v, _ := math.Lgamma(float64(n + 1))
	return v
}
