package bound

import (
	"math"
	"slices"
	"sort"
)

// unsmooth bounds the offset where nothing limits the wander: in stretches in which clocks are slewed or set, and where a part of
// the trace lacks messages one way. The offset moves by [MaxRate] at most, except that it may jump once. So either all
// messages shortly before an instant bound the offset there, or all shortly behind it; the bound is the weaker of the two:
//
//	left    least of u_i + epsilon + MaxRate (x - x_i)   over the last ceilings before x
//	right   least of u_i + epsilon + MaxRate (x_i - x)   over the first ceilings behind x
//	high    the greater of left and right
//
// No more than [nearby] ceilings count on either side, so that jumps may follow each other as closely as that. A clock that was
// set back shows readings twice. Messages closer to x than the reach are left out, since they may belong to the other time.
type unsmooth struct {
	ceilings, floors nearest
	reach            float64 // ns: the least round trip, beyond which a jump contradicts messages
	epsilon          float64
}

// nearest is the messages of one direction in the order of x.
type nearest struct {
	points []point
	side   float64 // 1 for ceilings, -1 for floors
	wrong  int     // how many of those around an instant may be false
}

// nearby is how many messages of each direction bound the offset from either side.
const nearby = 8

// newUnsmooth takes the messages of both directions, which it reorders.
func newUnsmooth(ceilings, floors []point, epsilon float64) *unsmooth {
	u := &unsmooth{reach: math.Inf(1), epsilon: epsilon}
	highest, lowest := newCones(ceilings, MaxRate, 1, epsilon), newCones(floors, MaxRate, -1, epsilon)
	for _, corners := range [][]point{highest.corners, lowest.corners} {
		for _, q := range corners {
			u.reach = min(u.reach, highest.at(q.x)-lowest.at(q.x))
		}
	}
	if math.IsInf(u.reach, 0) {
		u.reach = 0
	}
	u.reach = max(u.reach, 0)
	u.ceilings, u.floors = nearest{points: ceilings, side: 1}, nearest{points: floors, side: -1} // newCones put them in order
	return u
}

// before returns so many of the last messages before x, or all there are; behind, of the first behind x.
func (n *nearest) before(x float64, most int) []point {
	i := sort.Search(len(n.points), func(i int) bool { return n.points[i].x > x })
	return n.points[max(i-most, 0):i]
}

func (n *nearest) behind(x float64, most int) []point {
	i := sort.Search(len(n.points), func(i int) bool { return n.points[i].x >= x })
	return n.points[i:min(i+most, len(n.points))]
}

// bounds returns numbers between which all offsets between two instants lie; infinite without messages.
func (u *unsmooth) bounds(from, to float64) (low, high float64) {
	return u.floors.over(from, to, u.reach) - u.epsilon, u.ceilings.over(from, to, u.reach) + u.epsilon
}

// over returns the weakest bound between two instants. A side with so few messages that all of them may be false says
// nothing.
func (n *nearest) over(from, to, reach float64) float64 {
	left, right := math.Inf(-1), math.Inf(-1)
	if points := n.before(from-reach, nearby+n.wrong); len(points) > n.wrong {
		left = n.tightest(points, func(q point) float64 { return n.side*q.y + MaxRate*(to-q.x) })
	}
	if points := n.behind(to+reach, nearby+n.wrong); len(points) > n.wrong {
		right = n.tightest(points, func(q point) float64 { return n.side*q.y + MaxRate*(q.x-from) })
	}
	if weakest := max(left, right); !math.IsInf(weakest, -1) {
		return n.side * weakest
	}
	if reach > 0 {
		return n.over(from, to, 0)
	}
	return n.side * math.Inf(1)
}

// tightest returns the tightest bound of some messages that holds although as many of them are false as may be. They
// are more than that.
func (n *nearest) tightest(points []point, bound func(point) float64) float64 {
	best := make([]float64, 0, 2*nearby) // the tightest so far, ascending, one more than may be false
	for _, q := range points {
		v := bound(q)
		i, _ := slices.BinarySearch(best, v)
		if i > n.wrong {
			continue
		}
		if len(best) > n.wrong {
			best = best[:n.wrong]
		}
		best = slices.Insert(best, i, v)
	}
	return best[n.wrong]
}

// positions appends the instants of the messages between two instants, or so many even steps if they are more.
func (u *unsmooth) positions(xs []float64, from, to float64, most int) []float64 {
	inside := func(n *nearest) []point {
		i := sort.Search(len(n.points), func(i int) bool { return n.points[i].x > from })
		k := sort.Search(len(n.points), func(i int) bool { return n.points[i].x >= to })
		return n.points[i:max(i, k)]
	}
	ceilings, floors := inside(&u.ceilings), inside(&u.floors)
	if len(ceilings)+len(floors) > most {
		for i := range most {
			xs = append(xs, from+(to-from)*float64(i)/float64(most))
		}
		return xs
	}
	for _, points := range [][]point{ceilings, floors} {
		for _, q := range points {
			xs = append(xs, q.x)
		}
	}
	return xs
}
