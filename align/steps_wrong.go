package align

import "math"

// neighbours is how many points to either side decide which of two that contradict each other is wrong.
const neighbours = 64

// blame marks points as wrong, so that of every two that contradict each other one is: the one that more of the points
// around contradict, of equals the later.
func (v *sweep) blame(pairs [][2]int, r rated, w float64) {
	counts := make(map[int]int)
	count := func(i int) int {
		n, known := counts[i]
		if !known {
			n = v.opponents(i, r, w)
			counts[i] = n
		}
		return n
	}
	for _, x := range pairs {
		switch {
		case v.points[x[0]].piece == wrongPoint || v.points[x[1]].piece == wrongPoint:
		case count(x[0]) > count(x[1]):
			v.points[x[0]].piece = wrongPoint
		default:
			v.points[x[1]].piece = wrongPoint
		}
	}
}

// opponents counts the points around one that contradict it.
func (v *sweep) opponents(i int, r rated, w float64) (n int) {
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

// pardon takes back what was found wrong though nothing that is left of its piece contradicts it.
func (v *sweep) pardon(w float64) {
	for k, r := range v.everyPiece {
		allowed := make(map[int]bool)
		s := unknown()
		visit := func(i int) bool {
			p := &v.points[i]
			t, y := v.at(p, r.rate)
			s.move(t, v.slack(r, w))
			ok := s.allows(y, p.floor)
			if ok && p.piece != wrongPoint {
				s.take(i, y, p.floor)
			}
			return ok
		}
		for i := r.from; i < r.to; i++ {
			if visit(i) && v.points[i].piece == wrongPoint {
				allowed[i] = true
			}
		}
		s = unknown()
		for i := r.to - 1; i >= r.from; i-- {
			if allowed[i] && visit(i) {
				v.points[i].piece = int16(k)
			}
			visit(i)
		}
	}
}
