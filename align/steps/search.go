package steps

import "slices"

// rateSlacks are the slacks of rates with which the series is searched in turn. No two clocks differ by more than the first.
// Around the rate that prevails in a segment, wander and slewing (500 ppm, adjtime) stay below the last. The slacks between
// the two correct rates that a step or an outlier distorted. The last is used twice, since one outlier may hide another.
var rateSlacks = []float64{0.05, 0.01, 0.001, 0.001}

// fineSlacks find small steps between dense messages of clocks that nobody slews: one of a millisecond contradicts only
// messages within a second of it if the rate may depart by 0.001, and those within ten seconds if it may by 0.0001.
var fineSlacks = []float64{0.0001, 0.0001}

// lastSlack is the slack under which segments are final.
const lastSlack = 0.001

const (
	// minSupport is by how many messages a new segment must be the better explanation. Fewer that contradict all others
	// are outliers, not a clock that was set and set back.
	minSupport = 4
	// maxPieces is how many pieces the offset of two clocks may have. More are not the work of a clock that is set now and
	// then. Segments without a known rate are not split again and may come on top in each of four rounds: 255 at most,
	// which label.piece holds.
	maxPieces     = 64
	maxCandidates = 8
)

// search finds the segments of a series between which the offset steps. On the way it labels points as outliers.
type search struct {
	*series
	slacks   []float64 // in turn
	segments []segment
}

// run searches the series with each slack in turn. It returns false if there are too many segments.
func (v *search) run() bool {
	v.segments = []segment{{from: 0, to: len(v.points), known: true}}
	for _, w := range v.slacks {
		var next []segment
		for _, r := range v.segments {
			if !r.known {
				next = append(next, r)
				continue
			}
			starts := v.split(r, w)
			if len(next)+len(starts) > maxPieces {
				return false
			}
			for k, from := range starts {
				to := r.to
				if k+1 < len(starts) {
					to = starts[k+1]
				}
				next = append(next, v.segment(from, to))
			}
		}
		v.segments = next
		v.merge(w)
	}
	v.restore(v.last())
	v.joinSlews()
	return true
}

// last is the slack under which segments are final.
func (v *search) last() float64 { return v.slacks[len(v.slacks)-1] }

// candidate is a segment that may begin within another one.
type candidate struct {
	corridor
	start   int
	floor   bool // its first point is a floor
	votes   int  // points that it allows and the present segment does not
	others  int  // points that it allows and that are of the other kind than its first
	against int  // points that it does not allow and the present segment does
}

// split returns where segments begin within one. A new one begins at the first point that the present one does not allow, if
// [minSupport] more points speak for it than against it. Points that neither the present segment nor a candidate with that
// support allows are outliers.
func (v *search) split(r segment, w float64) []int {
	starts := []int{r.from}
	present := openCorridor()
	var candidates []candidate
	var conflicts [][2]int // points of the segment that contradict each other, the later one second
	restart := func(i int) int {
		starts = append(starts, i)
		v.markOutliers(slices.DeleteFunc(conflicts, func(x [2]int) bool { return x[1] >= i }), r, w)
		present, candidates, conflicts = openCorridor(), candidates[:0], conflicts[:0]
		return i - 1
	}
	for i := r.from; i < r.to; i++ {
		p := &v.points[i]
		if p.label.outlier() {
			continue
		}
		t, y := v.at(p, r.rate)
		present.move(t, w)
		fits := present.allows(y, p.floor)
		if fits {
			present.narrow(i, y, p.floor)
		} else {
			conflicts = append(conflicts, [2]int{present.opponent(p.floor), i})
		}
		supported := fits
		for k := range candidates {
			x := &candidates[k]
			x.move(t, w)
			switch ok := x.allows(y, p.floor); {
			case ok:
				x.narrow(i, y, p.floor)
				if p.floor != x.floor {
					x.others++
				}
				if !fits {
					x.votes++
					supported = true
				}
			case fits:
				x.against++
			}
		}
		candidates = slices.DeleteFunc(candidates, func(x candidate) bool { return x.against-x.votes >= minSupport })
		if !supported {
			if len(candidates) == maxCandidates {
				candidates = slices.Delete(candidates, 0, 1)
			}
			x := candidate{corridor: openCorridor(), start: i, floor: p.floor, votes: 1}
			x.move(t, w)
			x.narrow(i, y, p.floor)
			candidates = append(candidates, x)
		}
		for k := range candidates {
			x := &candidates[k]
			enough := x.votes-x.against >= minSupport
			if enough && (x.others >= 2 || i == r.to-1 && x.against == 0) {
				i = restart(x.start)
				break
			}
		}
		if len(starts) > maxPieces {
			break
		}
	}
	restart(r.to)
	return starts[:len(starts)-1]
}

// merge joins neighbouring segments of which too few points contradict each other; these points are outliers then.
func (v *search) merge(w float64) {
	for k := 0; k+1 < len(v.segments); {
		one, two := v.segments[k], v.segments[k+1]
		if both := v.segment(one.from, two.to); both.known && v.consistent(both, w) { // only the rates were distorted
			v.segments = slices.Replace(v.segments, k, k+2, both)
			k = max(k-1, 0)
			continue
		}
		outliers, others := v.contradictions(two, one, w), v.contradictions(one, two, w)
		if len(outliers) >= minSupport && len(others) >= minSupport {
			k++
			continue
		}
		if len(others) < len(outliers) {
			outliers = others
		}
		for _, i := range outliers {
			v.points[i].label = outlier
		}
		v.segments = slices.Replace(v.segments, k, k+2, v.segment(one.from, two.to))
		k = max(k-1, 0)
	}
}
