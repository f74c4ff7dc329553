package steps

import "math"

// neighbours is how many points to either side vote on which of two that contradict each other is the outlier.
const neighbours = 64

// markOutliers labels one point of each given conflict as an outlier: the one that more of the points around it contradict,
// the later one if these are as many.
func (v *search) markOutliers(conflicts [][2]int, r segment, w float64) {
	counts := make(map[int]int)
	count := func(i int) int {
		n, known := counts[i]
		if !known {
			n = v.opponents(i, r, w)
			counts[i] = n
		}
		return n
	}
	for _, x := range conflicts {
		switch {
		case v.points[x[0]].label.outlier() || v.points[x[1]].label.outlier():
		case count(x[0]) > count(x[1]):
			v.points[x[0]].label = outlier
		default:
			v.points[x[1]].label = outlier
		}
	}
}

// opponents counts the points around one that contradict it.
func (v *search) opponents(i int, r segment, w float64) (n int) {
	p := &v.points[i]
	t, y := v.at(p, r.rate)
	for j := max(i-neighbours, r.from); j < min(i+neighbours, r.to); j++ {
		q := &v.points[j]
		if q.floor == p.floor {
			continue
		}
		at, z := v.at(q, r.rate)
		if p.floor && y-z > w*math.Abs(t-at) || !p.floor && z-y > w*math.Abs(t-at) {
			n++
		}
	}
	return n
}

// restore takes the label from outliers that no other point left in their segment contradicts, neither one before nor one
// behind.
func (v *search) restore(w float64) {
	for k, r := range v.segments {
		allowed := make(map[int]bool)
		s := openCorridor()
		visit := func(i int) bool {
			p := &v.points[i]
			t, y := v.at(p, r.rate)
			s.move(t, r.slack(w))
			ok := s.allows(y, p.floor)
			if ok && !p.label.outlier() {
				s.narrow(i, y, p.floor)
			}
			return ok
		}
		for i := r.from; i < r.to; i++ {
			if visit(i) && v.points[i].label.outlier() {
				allowed[i] = true
			}
		}
		s = openCorridor()
		for i := r.to - 1; i >= r.from; i-- {
			if allowed[i] && visit(i) {
				v.points[i].label = inPiece(k)
			}
			visit(i)
		}
	}
}
