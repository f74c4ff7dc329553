package envelope

import (
	"math"

	"meridian/align/pair"
)

// deviations returns the statistical error of every clock against the reference, from what the last Newton step left: the
// variance of each clock while all others stand still, which its band has, times by how much more it is when they do not.
// That ratio is the one of resistances in the network whose conductances are what the edges' points say: between the clock
// and the reference, against that of both to everything else held together. To it comes the error of the level.
func (m *jointModel) deviations(levels []float64) [][]pair.Deviation {
	reference := m.network.Reference
	s, ok := m.solver.(*iterative)
	if !ok {
		return nil
	}
	if (bending{m.model}).bent() { // as for two clocks: where the corners are is not known
		bending{m.model}.limit()
		m.cost(m.x, m.delay, 1)
		s.derive(m.model)
	}
	ratio := m.resistances(s, reference)
	base := s.bands[reference].variances()
	out := make([][]pair.Deviation, m.columns)
	for c := range out {
		if c == reference {
			continue
		}
		own := s.bands[c].variances()
		n := min(m.knots, maxDeviations)
		for i := range n {
			k := i * (m.knots - 1) / (n - 1)
			t := m.first + float64(k)*m.step
			sd := jointConfidence * math.Sqrt(ratio[c]*(own[k]+base[k]))
			out[c] = append(out[c], pair.Deviation{Host: m.affines[c].stamp(t, m.origin), Ns: calibration * math.Hypot(sd, levels[c])})
		}
	}
	return out
}

const (
	// jointConfidence is by how much curvature misstates the error of many clocks: what a law gets wrong on one edge,
	// others make good.
	jointConfidence = 0.95
	// calibration brings 95 of 100 truths within two deviations.
	calibration = 0.82
)

// resistances returns for every clock the resistance between it and the reference, over that of the two to all others
// shorted together.
func (m *jointModel) resistances(s *iterative, reference int) []float64 {
	n := m.columns
	laplacian := make([]float64, n*n)
	for e := range m.edges {
		a, b, g := m.edges[e].from, m.edges[e].to, s.curve[e]
		laplacian[a*n+a] += g
		laplacian[b*n+b] += g
		laplacian[max(a, b)*n+min(a, b)] -= g
	}
	degree := make([]float64, n)
	for i := range n {
		degree[i] = max(laplacian[i*n+i], 1e-12)
	}
	inverse := grounded(laplacian, n, reference)
	out := make([]float64, n)
	for i := range out {
		out[i] = max(inverse[i*n+i]/(1/degree[i]+1/degree[reference]), 1)
	}
	return out
}

// grounded returns the inverse of a Laplacian, given by its lower half, with one node held at zero.
func grounded(laplacian []float64, n, node int) []float64 {
	a := append([]float64(nil), laplacian...)
	greatest := 0.0
	for i := range n {
		greatest = max(greatest, a[i*n+i])
	}
	for i := range n {
		a[i*n+i] += 1e-12 * greatest
	}
	a[node*n+node] += 1e6 * greatest
	cholesky(a, n)
	inverse := make([]float64, n*n)
	for i := range n {
		column := inverse[i*n : i*n+n]
		column[i] = 1
		choleskySolve(a, n, column)
	}
	return inverse
}

// deviationOf returns the error of the levels against that of a reference, for terms whose wants have the given errors.
func (q *quadratic) deviationOf(errors []float64, reference int) []float64 {
	n := q.n
	laplacian := make([]float64, n*n)
	for _, t := range q.terms {
		laplacian[t.from*n+t.from] += t.weight
		laplacian[t.to*n+t.to] += t.weight
		laplacian[max(t.from, t.to)*n+min(t.from, t.to)] -= t.weight
	}
	inverse := grounded(laplacian, n, reference)
	out := make([]float64, n)
	for i := range out {
		sum := 0.0
		for k, t := range q.terms {
			g := t.weight * (inverse[i*n+t.to] - inverse[i*n+t.from]) * errors[k]
			sum += g * g
		}
		out[i] = math.Sqrt(sum)
	}
	return out
}
