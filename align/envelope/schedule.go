package envelope

import (
	"math"
	"slices"
)

// The wander is sought among half decades.
const (
	minSigma = -12.0
	maxSigma = -7.5
	// greatestSigma is the wildest.
	greatestSigma = -5.0
	// prior of the wander: a decade away from what quartz does costs an eighth of a square
	usualSigma = -9.0
	allSigmas  = 2 * (maxSigma - minSigma)
)

// hopeless is by how many nats a wander must fall behind the best before stiffer ones are not tried any more.
const hopeless = 100

// evidence is what the data say for each wander tried: the logarithm of their probability, less a constant.
type evidence struct {
	exponent, value float64
}

// schedule is a model in the order of its fits.
type schedule struct{ *model }

// weigh returns the Laplace approximation of the logarithm of the evidence for the present wander.
func (m schedule) weigh() float64 {
	f := m.cost0
	for i := range m.points {
		p := &m.points[i]
		f += p.constant
		e := p.excessOf(m.x, m.delay)
		if e <= 0 {
			continue
		}
		// The tail itself in the place of its tangent.
		cost := p.flat * e
		if e > p.tail {
			room := tailRoom * p.tailScale
			cost = p.flat * (p.tail + room*math.Log1p((e-p.tail)/room))
		}
		f += cost - p.flatNow*e
	}
	prior := m.prior(0)
	return -f + 0.5*prior.log(m.knots) - 0.5*m.solver.logDet()
}

// minimise takes anew the points and their laws and minimises, through the given widths of the laws.
func (m schedule) minimise(hard bool, most int, widths ...float64) {
	m.reduce(hard)
	m.tangents()
	for _, w := range widths {
		m.newton(w, most)
	}
}

// findSigma tries all wanders and keeps the one of greatest evidence (MacKay 1992). It returns what each had. Where one
// was found before, near is how many half decades around it are tried, and none at all. Wanders above maxSigma, as clocks
// have that are steered or heated, are tried where that is better than all below it.
func (m schedule) findSigma(near float64) []evidence {
	best := math.Inf(-1)
	var found []evidence
	var x, delay []float64
	sigma := m.sigma[0]
	known := math.Round(2*math.Log10(sigma)) / 2
	least := leastSigma(m.model)
	try := func(exponent float64) (value float64) {
		m.sigma[0] = math.Pow(10, exponent)
		for range 2 {
			m.tangents()
			m.newton(1, 10)
		}
		value = m.weigh()
		if math.IsNaN(value) {
			return value
		}
		found = append(found, evidence{exponent, value})
		value -= (exponent - usualSigma) * (exponent - usualSigma) / 8
		if value > best {
			best, sigma = value, m.sigma[0]
			x, delay = append(x[:0], m.x...), append(delay[:0], m.delay...)
		}
		return value
	}
	greatest := max(maxSigma, min(known, greatestSigma))
	for exponent := greatest; exponent >= least; exponent -= 0.5 {
		if math.Abs(exponent-known) > near/2 && exponent > least {
			continue
		}
		value := try(exponent)
		if math.IsNaN(value) {
			break // so stiff that float64 cannot factorise the curvature: over so short a time no wander shows
		}
		if value < best-hopeless {
			break // and the stiffer the worse, at the greatest cost
		}
	}
	if len(found) > 0 && sigma == math.Pow(10, greatest) {
		copy(m.x, x)
		copy(m.delay, delay)
		for exponent := greatest + 0.5; exponent <= greatestSigma && sigma == math.Pow(10, exponent-0.5); exponent += 0.5 {
			try(exponent)
		}
	}
	m.sigma[0] = sigma
	copy(m.x, x)
	copy(m.delay, delay)
	return found
}

// maxStiffness is how much stiffer than the data a prior may be: beyond, float64 loses the data beside it, and the curve has long
// been straight.
const maxStiffness = 1e10

// leastSigma returns the exponent of the least wander that float64 can weigh. Over seconds that is the least there is; over
// milliseconds wander is too small to be told from none much earlier.
func leastSigma(m *model) float64 {
	data := 0.0
	for _, b := range m.bends {
		data += b
	}
	sigma := m.sigma[0]
	defer func() { m.sigma[0] = sigma }()
	for exponent := minSigma; exponent < maxSigma; exponent += 0.5 {
		m.sigma[0] = math.Pow(10, exponent)
		if m.stiffness(0) <= maxStiffness*data {
			return exponent
		}
	}
	return maxSigma
}

// gain returns by how much the best wander explains the data better than the least tried, in nats: none at all, unless
// that was hopeless long before.
func gain(tried []evidence) float64 {
	if len(tried) == 0 {
		return 0
	}
	best, least := math.Inf(-1), evidence{exponent: math.Inf(1)}
	for _, e := range tried {
		best = max(best, e.value)
		if e.exponent < least.exponent {
			least = e
		}
	}
	return best - least.value
}

// characteristic returns the time over which a wander amounts to as much as the noise, s. Over less time the noise hides
// the wander, over more the curve must bend.
func characteristic(noise, sigma float64) float64 {
	return math.Pow(math.Sqrt(3)*noise*1e-9/sigma, 0.4)
}

const (
	maxKnots = 4000
	// knotsPerTime is how many knots stand in a characteristic time: more change nothing.
	knotsPerTime = 6
	coarse       = 5
	fine         = 5e9 // ns between knots at which the wander of real clocks shows
)

// fit is the whole schedule for one curve. From coarse knots to fine the law is hard and the curve at first stiff: a soft
// law would take what coarse knots miss for noise, and keep it. With knots fine enough the laws are fitted, the wander is
// found, and from both the final spacing follows.
func (m schedule) fit(most int) []evidence {
	m.sigma[0] = 3e-8
	seconds := (m.last - m.first) * 1e-9
	wanted := func() int {
		n := int(seconds*knotsPerTime/characteristic(m.noise, m.sigma[0])) + 2
		n = max(n, bending(m).bentKnots())
		return max(min(n, most), min(9, most))
	}
	var tried []evidence
	knots := coarse
	for start := true; ; start = false {
		m.setKnots(knots)
		if start {
			m.minimise(true, 6, 6561, 2187, 729, 243, 81, 27, 9, 3, 1)
		} else {
			m.minimise(true, 6, 81, 27, 9, 3, 1)
		}
		m.minimise(true, 6, 9, 3, 1)
		next := 3 * knots
		if knots >= most || knots >= 40 && m.step <= fine {
			m.minimise(false, 8, 3, 1)
			m.findSigma(allSigmas)
			m.minimise(false, 8, 3, 1)
			tried = m.findSigma(3)
			n := wanted()
			if n <= knots*5/4 || knots >= most {
				knots = n
				break
			}
			next = min(n, next)
		}
		knots = min(next, most)
	}
	m.setKnots(knots)
	m.minimise(false, 10, 27, 9, 3, 1)
	if most <= wildKnots && m.waves() && m.wild(most) {
		knots = wanted()
		m.setKnots(knots)
		m.minimise(false, 10, 27, 9, 3, 1)
	}
	if (&router{m.model}).split() {
		knots = wanted()
	}
	for last := range 2 {
		m.setKnots(knots)
		m.minimise(false, 10, 27, 9, 3, 1)
		m.minimise(false, 10, 3, 1)
		if last == 0 {
			tried = m.findSigma(3)
			m.minimise(false, 10, 1)
			knots = wanted()
		}
	}
	bending(m).bendSharply(15)
	for range 3 {
		m.minimise(false, 15, 1)
	}
	m.reduce(false)
	return tried
}

const (
	// wildKnots is up to how many knots another curve is tried: with more there are so many messages that the wander shows.
	wildKnots = 400
	// wildGain is how many nats it must explain more.
	wildGain = 20
	// wildTime is a characteristic time of its wander, in knots.
	wildTime = 1
	// waveMessages is of how many messages the quickest counts, waveChance how many deviations of chance are more than it.
	waveMessages = 3
	waveChance   = 3
)

// waves reports whether delays one way are long when those the other way are short: those of a clock that waves are, those
// of queues are not.
func (m schedule) waves() bool {
	if len(m.edges) != 2 {
		return false
	}
	bins := min(len(m.edges[0].sample[1]), len(m.edges[1].sample[1])) / waveMessages
	var ranks [2][]float64
	var there, back []float64
	for i := range ranks {
		ranks[i] = m.leastByTime(&m.edges[i], bins)
	}
	for k, v := range ranks[0] {
		if w := ranks[1][k]; !math.IsInf(v, 0) && !math.IsInf(w, 0) {
			there, back = append(there, v), append(back, w)
		}
	}
	toRanks(there)
	toRanks(back)
	return dot(there, back) < -waveChance*math.Sqrt(dot(there, there)*dot(back, back)/float64(max(len(there), 1)))
}

// leastByTime returns the least residual of an edge's sample in each of so many parts of the extent, infinite for none.
func (m schedule) leastByTime(d *edge, parts int) []float64 {
	out := make([]float64, parts)
	for i := range out {
		out[i] = math.Inf(1)
	}
	for k, received := range d.sample[1] {
		i := min(max(int((received-m.first)/(m.last-m.first)*float64(parts)), 0), parts-1)
		out[i] = min(out[i], m.residual(d, d.sample[0][k], received))
	}
	return out
}

// toRanks replaces values by their ranks, from -1 to 1.
func toRanks(values []float64) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	for i, v := range values {
		rank, _ := slices.BinarySearch(sorted, v)
		values[i] = 2*float64(rank)/float64(len(values)) - 1
	}
}

// wild tries the explanation that the clocks wander as fast as so many knots can show, and keeps it if it has more
// evidence. A clock that waves by less than delays vary looks like a straight one with longer queues: the laws of delays, once
// fitted to its residuals, keep the curve from it.
func (m schedule) wild(knots int) bool {
	var values [2]float64
	var tried [2]*model
	for i := range tried {
		c := (&router{m.model}).parted(make([][]float64, len(m.edges)), 0)
		if i == 1 {
			step := (m.last - m.first) * 1e-9 / float64(knots)
			c.sigma[0] = min(max(math.Sqrt(3)*m.noise*1e-9/math.Pow(wildTime*step, 2.5), c.sigma[0]), math.Pow(10, greatestSigma))
		}
		c.setKnots(knots)
		schedule{c}.anneal()
		tried[i], values[i] = c, schedule{c}.explained()
	}
	if !(values[1] > values[0]+wildGain) {
		return false
	}
	*m.model = *tried[1]
	return true
}

// explained finds the wander and returns the evidence.
func (m schedule) explained() float64 {
	best := math.Inf(-1)
	for _, e := range m.findSigma(allSigmas) {
		best = max(best, e.value-(e.exponent-usualSigma)*(e.exponent-usualSigma)/8)
	}
	return best
}

// anneal takes the curve anew from where it is. The laws of one explanation would keep it from another: hard ones let go.
func (m schedule) anneal() {
	m.minimise(true, 6, 81, 27, 9, 3, 1)
	m.minimise(true, 6, 9, 3, 1)
	m.minimise(false, 10, 27, 9, 3, 1)
}
