package envelope

import (
	"math"
	"runtime"
	"sort"
	"sync"
)

// perWindow is how many messages a window should hold: fewer leave the minimum too noisy, more leave curves unseen.
const perWindow = 6

// maxPerWindow bounds them from above: the law of the least of n delays is that of their lowest n-th part, of which a
// sample must still hold some.
const maxPerWindow = 128

// sufficientWindows is how many are enough for that, however many the messages: so many leave less than a nanosecond.
const sufficientWindows = 2048

// reduce takes the least delay of each window under the present curves, and the law that it follows.
//
// A hard reduction does not trust the residuals yet, since they hold what the curves still miss: its law is a cliff at
// the minimum, and the edge's delay is taken anew.
func (m *model) reduce(hard bool) {
	var group sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for e := range m.edges {
		turns <- struct{}{}
		group.Go(func() {
			m.reduceEdge(e, hard)
			<-turns
		})
	}
	group.Wait()
	// In the order of the edges, whichever goroutine was first.
	m.points = m.points[:0]
	information := 0.0
	for e := range m.edges {
		d := &m.edges[e]
		if len(d.points) == 0 {
			continue
		}
		m.points = append(m.points, d.points...)
		information += float64(len(d.points)) / ((m.last - m.first) * 1e-9) / spreadOf(d.points)
	}
	m.noise = 1 / (information / max(1, float64(len(m.column)-1)))
}

// reduceEdge takes the points of one edge.
func (m *model) reduceEdge(number int, hard bool) {
	d := &m.edges[number]
	n := max(min(m.knots-1, int(d.whole/perWindow)), min(int(d.whole/maxPerWindow), sufficientWindows), 2)
	m.minima(d, number, n)
	if len(d.points) == 0 {
		return
	}
	if hard { // cliffs asks for no residual
		m.delay[number] = d.cliffs()
		return
	}
	d.residuals = m.residuals(d, min(len(d.sample[0]), lawSample), d.lawShare(float64(n)), d.residuals)
	d.fitLaws(float64(n))
	m.delay[number] = 0
}

// quantile returns the value below which the share p of an ascending list lies, between its values by proportion.
func quantile(sorted []float64, p float64) float64 {
	at := p*float64(len(sorted)) - 0.5
	i := int(math.Floor(at))
	switch {
	case i < 0:
		return sorted[0]
	case i+1 >= len(sorted):
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// cliffs gives the points of an edge a law that is nearly a bound, as wide as the minima are apart, and returns the delay
// that goes with it.
func (d *edge) cliffs() (delay float64) {
	points := d.points
	delay = d.least[len(d.least)/10]
	floor := d.least[len(d.least)/50]
	scaled := make([]float64, len(points))
	for i := range points {
		scaled[i] = (points[i].excess - floor) * points[i].info
	}
	each := median(scaled) / math.Ln2
	for i := range points {
		p := &points[i]
		scale := max(each/p.info, 0.4*d.granularity, 2)
		p.width = max(0.15*scale, 0.3*(d.granularity-1))
		p.steep, p.flat = 8/scale, 1/scale
		p.excess -= delay
		p.tail, p.tailScale = 3*scale, scale
		p.info = 1
	}
	return delay
}

// fitLaws gives the points of an edge the law of the least of as many messages as their window holds. Windows that hold
// nearly as many share one.
func (d *edge) fitLaws(windows float64) {
	fitted := make(map[int]law)
	wide := d.correlation(windows)
	for i := range d.points {
		p := &d.points[i]
		bucket := bucketOf(p.info)
		l, known := fitted[bucket]
		if !known {
			values := leastOf(d.residuals, countOf(bucket))
			if before, again := d.laws[bucket]; again {
				l = before.refit(values)
			} else {
				l = fitLaw(values)
			}
			fitted[bucket] = l
		}
		l.s = max(l.s, 1)
		p.zero = l.zero
		p.excess -= l.zero
		p.width = l.s * wide
		p.steep, p.flat = l.a/p.width, l.b/p.width
		p.tailScale = l.deviation() * wide
		p.tail = max(0, l.mean()*wide) + 3*p.tailScale
		p.info = min(1, math.Sqrt((l.a+l.b+1)/(l.a*l.b)))
		p.constant = math.Log(p.width) + logBeta(l.a, l.b)
	}
	d.laws = fitted
}

// bucketOf returns the number of the law for windows of about n messages, and countOf how many that law is for.
func bucketOf(n float64) int     { return int(math.Round(math.Log2(n) * 4)) }
func countOf(bucket int) float64 { return math.Exp2(float64(bucket) / 4) }

// lawShare returns which lowest share of the residuals fitLaws asks for: the least of as many messages as the emptiest window
// holds reaches furthest up.
func (d *edge) lawShare(windows float64) float64 {
	fewest := math.Inf(1)
	for i := range d.points {
		fewest = min(fewest, d.points[i].info)
	}
	fewest = min(countOf(bucketOf(fewest)), d.whole/windows)
	return shareOf(lawQuantiles-1, fewest)
}

// lawQuantiles is to how many values a law is fitted.
const lawQuantiles = 64

// shareOf returns at which share of all values the k-th of lawQuantiles even quantiles of the least of n of them lies.
func shareOf(k int, n float64) float64 {
	u := (float64(k) + 0.5) / lawQuantiles
	return 1 - math.Pow(1-u, 1/n)
}

// leastOf returns lawQuantiles even quantiles of the least of n values drawn from a list that is ascending so far.
func leastOf(sorted []float64, n float64) []float64 {
	out := make([]float64, lawQuantiles)
	for k := range out {
		out[k] = quantile(sorted, shareOf(k, n))
	}
	return out
}

// correlation returns by how much the windows' minima spread more than those of independent delays would: queues last
// longer than a window.
func (d *edge) correlation(windows float64) float64 {
	if len(d.least) < 8 {
		return 1
	}
	n := d.whole / windows
	predicted := quantile(d.residuals, 1-math.Pow(0.5, 1/n)) - quantile(d.residuals, 1-math.Pow(0.9, 1/n))
	actual := d.least[len(d.least)/2] - d.least[len(d.least)/10]
	return min(max(0.8*actual/max(predicted, 1), 1), 5)
}

// spreadOf returns the median width of points' laws, ns.
func spreadOf(points []point) float64 {
	widths := make([]float64, len(points))
	for i := range points {
		p := &points[i]
		widths[i] = max(p.width, 1/(p.steep+p.flat)) * 2 * p.info
	}
	return median(widths)
}

func median(values []float64) float64 {
	sort.Float64s(values)
	return values[len(values)/2]
}
