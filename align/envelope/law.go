package envelope

import "math"

// law is the density of a window's least delay, up to the delay's own minimum: a generalised logistic of type IV,
//
//	-log p(e) = b y + (a+b) log(1 + exp(-y)) + log s + log B(a,b),   y = (e - zero) / s
//
// steep below (a/s per ns: hardly anything is faster than the minimum) and flat above (b/s per ns: queues). It is fitted
// to the law that the least of n messages follows, 1-(1-F)^n, with F the delays' empirical distribution.
type law struct {
	zero, s, a, b float64
	bell          bool // which of two maxima of the likelihood it is
}

// The shape is kept where the density stays proper and the search well behaved.
const (
	maxSharpness = 12.0
	minSharpness = 0.02
	minShape     = 0.1
)

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

// mean and deviation of the law's distance from zero, ns.
func (l law) mean() float64      { return l.s * (digamma(l.a) - digamma(l.b)) }
func (l law) deviation() float64 { return l.s * math.Sqrt(trigamma(l.a)+trigamma(l.b)) }

// fitLaw returns the law of greatest likelihood for values given as evenly spaced quantiles, ascending.
func fitLaw(e []float64) law {
	// The likelihood has two kinds of maxima: a cliff with a long slope, and a bell.
	cliff, atCliff := fitFrom(e, false)
	bell, atBell := fitFrom(e, true)
	if atBell < atCliff {
		return bell
	}
	return cliff
}

// minGain is by how much a law must explain values better than the one before to take its place, nats a value. The search ends
// within a tenth of it, so that the same values give the same law again.
const minGain = 1e-4

// farGain is the gain, nats a value, at which the values have changed so much that a law is also sought from anywhere: the search
// from the law before may end short of the best.
const farGain = 0.02

// refit returns the law for values that have changed little since l was fitted. The search begins at l.
func (l law) refit(e []float64) law {
	cost := unlikely(e)
	start := vector{l.zero, math.Log(l.s), math.Log(l.a), math.Log(l.b)}
	spread := max(e[len(e)*9/10]-e[len(e)/10], 1)
	v, reached := minimise(cost, start, vector{spread * 0.02, 0.1, 0.1, 0.1}, 60)
	gain := cost(start) - reached
	if !(gain > minGain) {
		return l
	}
	again := law{v[0], math.Exp(v[1]), math.Exp(v[2]), math.Exp(v[3]), l.bell}
	if gain > farGain {
		if anew, atAnew := fitFrom(e, l.bell); atAnew < reached {
			return anew
		}
	}
	return again
}

func fitFrom(e []float64, bell bool) (law, float64) {
	n := len(e)
	low, median, high := e[n/10], e[n/2], e[n*9/10]
	spread := max(high-low, 1)
	start := vector{low, math.Log(spread * 0.05), math.Log(4), math.Log(0.1)}
	if bell {
		start = vector{median, math.Log(spread / 4), 0, 0}
	}
	v, cost := minimise(unlikely(e), start, vector{spread * 0.1, 0.5, 0.5, 0.5}, 160)
	return law{v[0], math.Exp(v[1]), math.Exp(v[2]), math.Exp(v[3]), bell}, cost
}

// unlikely returns minus the mean logarithm of the likelihood of values as a function of a law's zero and the logarithms
// of s, a and b.
func unlikely(e []float64) func(vector) float64 {
	return func(p vector) float64 {
		s, a, b := math.Exp(p[1]), math.Exp(p[2]), math.Exp(p[3])
		if a > maxSharpness || b > maxSharpness || b < minSharpness || a < minShape {
			return math.Inf(1)
		}
		sum, product := 0.0, 1.0
		perNs := 1 / s
		for _, x := range e {
			y := (x - p[0]) * perNs
			sum += b * y
			// softplus(-y) as the logarithm of a product of many 1+exp(-y): one logarithm instead of many.
			switch {
			case y < -30:
				sum -= (a + b) * y
				continue
			case y > 37: // beside 1, exp(-y) is nothing
				continue
			}
			if product *= 1 + fastExp(-y); product > 1e280 {
				sum += (a + b) * math.Log(product)
				product = 1
			}
		}
		sum += (a + b) * math.Log(product)
		return sum/float64(len(e)) + p[1] + logBeta(a, b)
	}
}

// fastExp returns exp(x) to within 1e-13 of it, for x from -700 to 700.
func fastExp(x float64) float64 {
	// exp(x) = 2^(k/64) exp(r), where |r| is at most log(2)/128.
	k := x * (64 / math.Ln2)
	rounded := k + toInteger
	r := (k - (rounded - toInteger)) * (math.Ln2 / 64)
	n := int64(math.Float64bits(rounded)<<12) >> 12 // what is left of toInteger is a multiple of 64
	return math.Float64frombits(roots[n&63]+uint64(n>>6)<<52) * (1 + r*(1+r*(1.0/2+r*(1.0/6+r*(1.0/24)))))
}

// toInteger rounds a float64 of less than 2^51 to an integer, which is then in the low bits of the sum.
const toInteger = 3 << 51

// roots are the bits of 2^(k/64).
var roots = func() (bits [64]uint64) {
	for k := range bits {
		bits[k] = math.Float64bits(math.Exp2(float64(k) / 64))
	}
	return bits
}()

type vector [4]float64

// minimise is the simplex method of Nelder and Mead (1965).
func minimise(f func(vector) float64, start, step vector, most int) (vector, float64) {
	type vertex struct {
		at vector
		f  float64
	}
	var s [len(start) + 1]vertex
	s[0] = vertex{start, f(start)}
	for i := range start {
		at := start
		at[i] += step[i]
		s[i+1] = vertex{at, f(at)}
	}
	worst := len(s) - 1
	sort := func() { // by insertion: five that mostly are in order
		for i := range s {
			for k := i; k > 0 && s[k].f < s[k-1].f; k-- {
				s[k], s[k-1] = s[k-1], s[k]
			}
		}
	}
	for range most {
		sort()
		if s[worst].f-s[0].f < 1e-5 {
			break
		}
		var centre vector
		for _, v := range s[:worst] {
			for k := range centre {
				centre[k] += v.at[k] / float64(worst)
			}
		}
		along := func(t float64) vertex { // from the centre towards the worst vertex
			var at vector
			for k := range at {
				at[k] = centre[k] + t*(s[worst].at[k]-centre[k])
			}
			return vertex{at, f(at)}
		}
		switch reflected := along(-1); {
		case reflected.f < s[0].f:
			if expanded := along(-2); expanded.f < reflected.f {
				reflected = expanded
			}
			s[worst] = reflected
		case reflected.f < s[worst-1].f:
			s[worst] = reflected
		default:
			if contracted := along(0.5); contracted.f < s[worst].f {
				s[worst] = contracted
				continue
			}
			for i := 1; i <= worst; i++ {
				for k := range centre {
					s[i].at[k] = s[0].at[k] + 0.5*(s[i].at[k]-s[0].at[k])
				}
				s[i].f = f(s[i].at)
			}
		}
	}
	sort()
	return s[0].at, s[0].f
}

// softplus returns log(1+exp(z)), to within 1e-8, and its derivative 1/(1+exp(-z)).
func softplus(z float64) (value, derivative float64) {
	x := 0.0
	if away := -math.Abs(z); away > -700 {
		x = fastExp(away)
	}
	// log(1+x) = 2 artanh(x/(2+x)), whose series ends quickly since that is at most a third.
	y := x / (2 + x)
	q := y * y
	value = 2 * y * (1 + q*(1.0/3+q*(1.0/5+q*(1.0/7+q*(1.0/9+q*(1.0/11+q*(1.0/13)))))))
	derivative = 1 / (1 + x)
	if z < 0 {
		return value, x * derivative
	}
	return z + value, derivative
}

// digamma and trigamma are the derivatives of log Gamma, by recurrence and the asymptotic series (Abramowitz and Stegun
// 6.3.18, 6.4.12).
func digamma(x float64) float64 {
	r := 0.0
	for ; x < 6; x++ {
		r -= 1 / x
	}
	f := 1 / (x * x)
	return r + math.Log(x) - 0.5/x - f*(1.0/12-f*(1.0/120-f/252))
}

func trigamma(x float64) float64 {
	r := 0.0
	for ; x < 6; x++ {
		r += 1 / (x * x)
	}
	f := 1 / (x * x)
	return r + 1/x + f/2 + f/x*(1.0/6-f*(1.0/30-f/42))
}
