package pair

import "math"

// likelihood is the linear program of [Broadcasts]: over lines p and instants T,
//
//	minimise  sum of s    where  s[r] = z[r] + p[r].offset + p[r].rise x[r] - T[k] >= 0
//
// for every reception r of every broadcast k. It is solved by a primal-dual interior point method, Mehrotra's predictor
// and corrector. With multipliers λ of the delays, the dual asks for
//
//	sum of λ over a broadcast = its receptions,    sum of (1 - λ) over a line = 0,    sum of (1 - λ) x over a line = 0
//
// which λ = 1 satisfies, and the primal has a strictly feasible point wherever all T are early enough: both sides are
// feasible from the first step to the last, and what remains is the gap sum of λ s. The T are eliminated, so each step
// solves a system in the lines alone, which every broadcast fills with one square of its receivers.
type likelihood struct {
	lines      int // their parameters are offset and rise, two in a row; line -1 is fixed at 0
	receptions []reception
	ends       []int  // of each broadcast in receptions
	even       []bool // lines whose rise is fixed at 0

	solution []float64 // offset and rise of every line
}

// reception is one clock's of one broadcast, in ns: z is its stamp, x its place in [-1, 1].
type reception struct {
	line int
	x, z float64
}

// maximise solves the program and returns the least sum.
func (l *likelihood) maximise() float64 {
	n, m := len(l.receptions), len(l.ends)
	l.solution = make([]float64, 2*l.lines)
	instants := make([]float64, m)
	s, lambda := make([]float64, n), make([]float64, n)
	// Start with every instant before all receptions, by as much as they differ.
	spread := 1.0
	l.each(func(k, from, to int) {
		low, high := math.Inf(1), math.Inf(-1)
		for _, r := range l.receptions[from:to] {
			low, high = min(low, r.z), max(high, r.z)
		}
		instants[k], spread = low, max(spread, high-low)
	})
	l.each(func(k, from, to int) {
		instants[k] -= spread / 2
		for i := from; i < to; i++ {
			s[i], lambda[i] = l.receptions[i].z-instants[k], 1
		}
	})
	step := newNewton(l)
	best, least := append([]float64(nil), l.solution...), math.Inf(1)
	for range 200 {
		gap, sum := 0.0, 0.0
		for i := range s {
			gap, sum = gap+s[i]*lambda[i], sum+s[i]
		}
		if sum < least {
			least = sum
			copy(best, l.solution)
		}
		// The sum exceeds the least one by no more than the gap: a thousandth of a nanosecond for each reception.
		if !(gap > 1e-3*float64(n) && gap > 1e-10*sum) {
			break
		}
		mu := gap / float64(n)
		if !step.factor(s, lambda) {
			break
		}
		step.toward(0, s, lambda)
		primal, dual := step.reach(s, lambda)
		predicted := 0.0
		for i := range s {
			predicted += (s[i] + primal*step.ds[i]) * (lambda[i] + dual*step.dl[i])
		}
		centre := math.Pow(predicted/gap, 3)
		step.toward(centre*mu, s, lambda)
		primal, dual = step.reach(s, lambda)
		primal, dual = min(1, 0.995*primal), min(1, 0.995*dual)
		for i := range s {
			lambda[i] += dual * step.dl[i]
		}
		for i := range l.solution {
			l.solution[i] += primal * step.dp[i]
		}
		for k := range instants {
			instants[k] += primal * step.dt[k]
		}
		// From the solution anew, so that s and it never drift apart; a delay rounded away keeps a trace of itself.
		l.each(func(k, from, to int) {
			for i := from; i < to; i++ {
				s[i] = max(l.at(i)-instants[k], (s[i]+primal*step.ds[i])*0.5, 1e-12)
			}
		})
	}
	copy(l.solution, best)
	return l.sum()
}

// each calls f for every broadcast with its receptions.
func (l *likelihood) each(f func(k, from, to int)) {
	from := 0
	for k, to := range l.ends {
		f(k, from, to)
		from = to
	}
}

// at returns when a reception was by the present lines.
func (l *likelihood) at(i int) float64 {
	r := &l.receptions[i]
	if r.line < 0 {
		return r.z
	}
	return r.z + l.solution[2*r.line] + l.solution[2*r.line+1]*r.x
}

// sum returns the sum of the delays with the present lines and every broadcast sent when the first received it.
func (l *likelihood) sum() (total float64) {
	l.each(func(_, from, to int) {
		earliest, all := math.Inf(1), 0.0
		for i := from; i < to; i++ {
			t := l.at(i)
			earliest, all = min(earliest, t), all+t
		}
		total += all - earliest*float64(to-from)
	})
	return total
}

// newton finds the steps.
type newton struct {
	l              *likelihood
	matrix         []float64 // lower triangle of the system in the lines, then its Cholesky factor
	weight         []float64 // λ/s of each reception
	total          []float64 // of each broadcast
	ds, dl, dp, dt []float64 // of delays, multipliers, lines and instants
	held           []float64 // ds dl of the predictor, which the corrector makes up for
	dim            int
}

func newNewton(l *likelihood) *newton {
	n, m, dim := len(l.receptions), len(l.ends), 2*l.lines
	return &newton{
		l: l, dim: dim, matrix: make([]float64, dim*dim), weight: make([]float64, n), total: make([]float64, m),
		ds: make([]float64, n), dl: make([]float64, n), dp: make([]float64, dim), dt: make([]float64, m), held: make([]float64, n),
	}
}

// factor builds and factors the system: for every line the sum of w g gᵀ with g = (1, x), less for every broadcast
// u uᵀ / sum of w, where u gathers w g. It returns false where rounding leaves nothing to divide by.
func (n *newton) factor(s, lambda []float64) bool {
	l, a, dim := n.l, n.matrix, n.dim
	clear(a)
	clear(n.held)
	l.each(func(k, from, to int) {
		n.total[k] = 0
		for i := from; i < to; i++ {
			n.weight[i] = lambda[i] / s[i]
			n.total[k] += n.weight[i]
		}
		for i := from; i < to; i++ {
			r := l.receptions[i]
			if r.line < 0 {
				continue
			}
			w, row := n.weight[i], 2*r.line
			// w - w²/total without the difference of what is nearly equal.
			others := 0.0
			for j := from; j < to; j++ {
				if j != i {
					others += n.weight[j]
				}
			}
			d := w * (others / n.total[k])
			a[row*dim+row] += d
			a[(row+1)*dim+row] += d * r.x
			a[(row+1)*dim+row+1] += d * r.x * r.x
			for j := from; j < i; j++ { // receptions stand in order of their lines
				q := l.receptions[j]
				if q.line < 0 {
					continue
				}
				d, column := -w*(n.weight[j]/n.total[k]), 2*q.line
				a[row*dim+column] += d
				a[row*dim+column+1] += d * q.x
				a[(row+1)*dim+column] += d * r.x
				a[(row+1)*dim+column+1] += d * r.x * q.x
			}
		}
	})
	for line, even := range l.even {
		if even {
			i := 2*line + 1
			for j := range dim {
				a[max(i, j)*dim+min(i, j)] = 0
			}
			a[i*dim+i] = 1
		}
	}
	return cholesky(a, dim)
}

// cholesky factors a symmetric matrix in place. A direction in which the program is flat, because nothing holds a line
// there, has a pivot that is all rounding; a large one stands for it, so that the line stays where it is.
func cholesky(a []float64, dim int) bool {
	for j := range dim {
		row := a[j*dim : j*dim+dim]
		before, d := row[j], row[j]
		for k := range j {
			d -= row[k] * row[k]
		}
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return false
		}
		if d <= 1e-14*before || d == 0 {
			d = max(before, 1) * 1e30
		}
		pivot := math.Sqrt(d)
		row[j] = pivot
		for i := j + 1; i < dim; i++ {
			other := a[i*dim : i*dim+j+1]
			v := other[j]
			for k := range j {
				v -= other[k] * row[k]
			}
			other[j] = v / pivot
		}
	}
	return true
}

// toward finds the step to where every λ s is mu, less what the step before it left over.
func (n *newton) toward(mu float64, s, lambda []float64) {
	l := n.l
	clear(n.dp)
	l.each(func(k, from, to int) {
		rest := -float64(to - from)
		for i := from; i < to; i++ {
			rest += (mu - n.held[i]) / s[i]
		}
		n.dt[k] = rest
		for i := from; i < to; i++ {
			r := l.receptions[i]
			if r.line < 0 {
				continue
			}
			g := -(1 - (mu-n.held[i])/s[i]) - n.weight[i]*rest/n.total[k]
			n.dp[2*r.line] += g
			if !l.even[r.line] {
				n.dp[2*r.line+1] += g * r.x
			}
		}
	})
	n.solve(n.dp)
	l.each(func(k, from, to int) {
		moved := 0.0
		for i := from; i < to; i++ {
			n.ds[i] = 0
			if r := l.receptions[i]; r.line >= 0 {
				n.ds[i] = n.dp[2*r.line] + n.dp[2*r.line+1]*r.x
			}
			moved += n.weight[i] * n.ds[i]
		}
		n.dt[k] = (moved - n.dt[k]) / n.total[k]
		for i := from; i < to; i++ {
			n.ds[i] -= n.dt[k]
			n.dl[i] = (mu-n.held[i])/s[i] - lambda[i] - n.weight[i]*n.ds[i]
		}
	})
	for i := range n.held {
		n.held[i] = n.ds[i] * n.dl[i]
	}
}

// solve replaces b by the solution of the factored system.
func (n *newton) solve(b []float64) {
	a, dim := n.matrix, n.dim
	for i := range dim {
		for k := range i {
			b[i] -= a[i*dim+k] * b[k]
		}
		b[i] /= a[i*dim+i]
	}
	for i := dim - 1; i >= 0; i-- {
		b[i] /= a[i*dim+i]
		for k := range i {
			b[k] -= a[i*dim+k] * b[i]
		}
	}
}

// reach returns how far the step can be taken until a delay or a multiplier is 0, at most 1.
func (n *newton) reach(s, lambda []float64) (primal, dual float64) {
	primal, dual = 1, 1
	for i := range s {
		if n.ds[i] < 0 {
			primal = min(primal, -s[i]/n.ds[i])
		}
		if n.dl[i] < 0 {
			dual = min(dual, -lambda[i]/n.dl[i])
		}
	}
	return primal, dual
}
