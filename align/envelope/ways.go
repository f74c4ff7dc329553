package envelope

import (
	"cmp"
	"math"
	"slices"
)

// way is the messages of one direction for the posterior: how delays q beyond the least lie follows the beta prime law,
//
//	p(q) = q^(shape-1) (1 + q/scale)^-(shape+tail) / (scale^shape B(shape, tail)),   scale = mean (shape+tail) / shape
//
// with the shape of its edge (1 as an exponential law has, 3 as three queues in a row, less for delays that crowd at the
// least) and the tail, a power, apart. Its four unknowns are the gap between the floor and the quickest message, as
// log(1 + gap/near), and the logarithms of mean, shape and tail.
type way struct {
	excesses []excess // at least one; quickest with those of the same weight as neighbours
	sign     float64  // of the curve's error in the residuals' floor
	total    float64  // weight of all
	near     float64  // scale of the gap, ns
	moved    []float64
}

const wayUnknowns = 4

// excess is a message, or some of them, by time and residual.
type excess struct {
	at       float64 // share of the extent
	shapes   shapes
	residual float64 // ns, under the curve
	weight   float64 // messages that it stands for
}

// Bounds and priors of a way's law: medians of shape and tail, and the deviations of their logarithms.
const (
	leastShape, greatestShape = 0.4, 12.0
	leastTail, greatestTail   = 0.6, 60.0
	usualShape, shapeWidth    = 1.5, 0.7
	usualTail, tailWidth      = 7.5, 1.2
)

// The prior that both ways are alike, a Laplace distribution: by how much the logarithms of mean, shape and tail differ.
const (
	meanLikeness  = 0.7
	shapeLikeness = 0.35
	tailLikeness  = 1.0
)

func square(x float64) float64 { return x * x }

// alike returns minus the logarithm of the prior that both ways' laws are alike.
func alike(there, back []float64) float64 {
	return math.Abs(there[1]-back[1])/meanLikeness + math.Abs(there[2]-back[2])/shapeLikeness + math.Abs(there[3]-back[3])/tailLikeness
}

// unlikely returns minus the logarithm of the likelihood and prior of a way's unknowns where the curve lacks error, and the
// floor of the residuals, ns.
func (w *way) unlikely(x []float64, error *shapes) (cost, floor float64) {
	mean, shape, tail := math.Exp(x[1]), math.Exp(x[2]), math.Exp(x[3])
	if x[0] < 0 || shape < leastShape || shape > greatestShape || tail < leastTail || tail > greatestTail {
		return math.Inf(1), 0
	}
	low := math.Inf(1)
	moved := w.moved[:len(w.excesses)]
	for i := range w.excesses {
		e := &w.excesses[i]
		s := &e.shapes // of fixed length: a loop over them would take twice as long
		sum := s[0]*error[0] + s[1]*error[1] + s[2]*error[2] + s[3]*error[3] + s[4]*error[4] + s[5]*error[5] + s[6]*error[6]
		at := e.residual - w.sign*sum
		moved[i] = at
		if at < low {
			low = at
		}
	}
	floor = low - w.near*math.Expm1(x[0])
	scale := (shape + tail) * mean / shape
	inverse := 1 / scale
	edge, far := 0.0, 0.0
	// One logarithm for the product of neighbours of the same weight, as far as it stays a float64.
	const most = 1e150
	nearProduct, farProduct, weight := 1.0, 1.0, w.excesses[0].weight
	for i := range w.excesses {
		if of := w.excesses[i].weight; of != weight || nearProduct > most || farProduct > most {
			edge += weight * fastLog(nearProduct)
			far += weight * fastLog(farProduct)
			nearProduct, farProduct, weight = 1, 1, of
		}
		q := moved[i] - floor
		nearProduct *= q + halfStep
		farProduct *= 1 + q*inverse
	}
	edge += weight * fastLog(nearProduct)
	far += weight * fastLog(farProduct)
	cost = (1-shape)*edge + (shape+tail)*far + w.total*(shape*math.Log(scale)+logBeta(shape, tail))
	cost += square((x[2]-math.Log(usualShape))/shapeWidth)/2 + square((x[3]-math.Log(usualTail))/tailWidth)/2
	return cost - x[0], floor // even in the floor itself
}

// halfStep keeps a delay that is the least from an infinite density, ns.
const halfStep = 0.5

// logTable holds the logarithms and the inverses of the middles of logCells parts of 1 to 2.
var logTable = func() (table [logCells]struct{ log, inverse float64 }) {
	for i := range table {
		middle := 1 + (float64(i)+0.5)/logCells
		table[i].log, table[i].inverse = math.Log(middle), 1/middle
	}
	return table
}()

const (
	logBits  = 7
	logCells = 1 << logBits
)

// fastLog returns the natural logarithm of a positive normal number, off by less than 1e-7.
func fastLog(x float64) float64 {
	bits := math.Float64bits(x)
	cell := &logTable[bits>>(52-logBits)%logCells]
	t := math.Float64frombits(bits&(1<<52-1)|1023<<52)*cell.inverse - 1
	return float64(int(bits>>52)-1023)*math.Ln2 + cell.log + t*(1-t/2)
}

// likeliest returns the unknowns of greatest likelihood among a few under the curve as it is, and sets near.
func (w *way) likeliest() []float64 {
	residuals := make([]float64, len(w.excesses))
	low := math.Inf(1)
	for i := range residuals {
		residuals[i] = w.excesses[i].residual
		low = min(low, residuals[i])
	}
	slices.Sort(residuals)
	most := 3 * (residuals[len(residuals)*3/4] - low) // so that a heavy tail does not make the mean
	mean := 0.0
	for i := range w.excesses {
		mean += w.excesses[i].weight * min(w.excesses[i].residual-low, most) / w.total
	}
	mean = max(mean, 1)
	w.near = 2 * mean / w.total
	best, found := math.Inf(1), make([]float64, wayUnknowns)
	for _, gap := range []float64{0.5 * w.near, 0.03 * mean, 0.1 * mean, 0.3 * mean, mean} {
		for _, shape := range []float64{0.6, 1, 1.7, 3, 5} {
			for _, tail := range []float64{2, 20} {
				x := []float64{math.Log1p(gap / w.near), math.Log(mean + gap), math.Log(shape), math.Log(tail)}
				if c, _ := w.unlikely(x, new(shapes)); c < best {
					best = c
					copy(found, x)
				}
			}
		}
	}
	return found
}

// The messages of a way are parted by time, and the slower ones of each part put together.
const (
	timeParts   = 8
	leastInPart = 12
	singles     = 32 // messages that count one by one, of all parts together
	mostSingles = 4  // of each part, at least
)

// wayOf returns the messages between two clocks. Those of routes with a longer least delay count as if it were the same.
func (m *model) wayOf(from, to int, sign float64) *way {
	var all []excess
	least := math.Inf(1)
	for i := range m.edges {
		d := &m.edges[i]
		if d.from != from || d.to != to || len(d.least) == 0 {
			continue
		}
		lower := min(d.least[0]-least, 0)
		for k := range all {
			if !math.IsInf(lower, 0) {
				all[k].residual += lower
			}
		}
		least = min(least, d.least[0])
		all = slices.Grow(all, min(len(d.sample[1]), lawSample))
		for k, received := range d.sample[1][:min(len(d.sample[1]), lawSample)] {
			all = append(all, excess{
				at:       (received - m.first) / (m.last - m.first),
				residual: m.residual(d, d.sample[0][k], received) - d.least[0] + least,
			})
		}
	}
	slices.SortFunc(all, func(a, b excess) int { return cmp.Compare(a.at, b.at) })
	all = quickestOf(all, (len(all)+enoughExcesses-1)/enoughExcesses)
	w := &way{sign: sign}
	w.group(all, 1/correlationTime(all))
	w.moved = make([]float64, len(w.excesses))
	return w
}

// group takes messages, ordered by time, of which each has the given weight.
func (w *way) group(all []excess, weight float64) {
	parts := min(max(len(all)/leastInPart, 1), timeParts)
	single := max(singles/parts, mostSingles)
	for p := range parts {
		part := all[p*len(all)/parts : (p+1)*len(all)/parts]
		slices.SortFunc(part, func(a, b excess) int { return cmp.Compare(a.residual, b.residual) })
		for i := 0; i < len(part); {
			size := 1
			if i >= single {
				size = min(i*2/3, len(part)-i)
			}
			g := excess{weight: float64(size) * weight}
			for _, e := range part[i : i+size] {
				g.at += e.at / float64(size)
				g.residual += e.residual / float64(size)
			}
			g.shapes = shapesAt(g.at)
			w.total += g.weight
			w.excesses = append(w.excesses, g)
			i += size
		}
	}
	slices.SortStableFunc(w.excesses, func(a, b excess) int { return cmp.Compare(a.weight, b.weight) }) // as unlikely likes them
}

// enoughExcesses is how many delays tell what the law can. Of more, the least of every few count: they follow a law with
// an edge of the same shape, and what the bulk of the delays is like says nothing about the edge.
const enoughExcesses = 1000

// quickestOf returns the quickest of every few messages, ordered by time.
func quickestOf(all []excess, few int) []excess {
	if few <= 1 {
		return all
	}
	out := all[:0]
	for part := range slices.Chunk(all, few) {
		out = append(out, slices.MinFunc(part, func(a, b excess) int { return cmp.Compare(a.residual, b.residual) }))
	}
	return out
}

// correlationTime returns over how many messages, ordered by time, the delays of the quicker half are alike: the sum of
// the correlations of their ranks, as far as they are beyond chance (Geyer 1992). Delays that are alike tell as much as one.
func correlationTime(all []excess) float64 {
	residuals := make([]float64, len(all))
	for i := range all {
		residuals[i] = all[i].residual
	}
	middle := median(residuals)
	var quick []float64 // by rank, -1 to 1
	for i := range all {
		if r := all[i].residual; r < middle {
			rank, _ := slices.BinarySearch(residuals, r)
			quick = append(quick, 4*float64(rank)/float64(len(residuals))-1)
		}
	}
	n := len(quick)
	if n < 8 {
		return 1
	}
	power, chance := dot(quick, quick), 2/math.Sqrt(float64(n))
	out := 1.0
	for lag := 1; lag <= n/8; lag++ {
		correlation := dot(quick[lag:], quick[:n-lag]) / power
		if correlation < chance {
			break
		}
		out += 2 * correlation
	}
	return out
}
