package pair

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
)

// interval is a time in which one offset satisfies all messages.
type interval struct {
	first, last clock.HostTime // of a's clock
	// What the messages leave for the offset less the base, ns: at least low, at most high; infinite where there were
	// none of that direction.
	low, high float64
}

func (v *interval) holds(low, high float64) bool { return max(v.low, low) <= min(v.high, high) }
func (v *interval) bounded() bool                { return !math.IsInf(v.low, 0) && !math.IsInf(v.high, 0) }
func (v *interval) offset() float64              { return v.low + (v.high-v.low)/2 }

// Interval returns the estimate in intervals that are short enough for an offset alone to put every message in order
// (Hofmann and Hilgers 1998; Poirier 2010, section 2.2.3). An interval ends before the message that would leave it no
// offset, and when it is longest ns of a's clock long; 0 stands for a tenth of the messages' extent. Its offset is the
// middle of what its messages leave. The skew is the regression line's over the offsets of all intervals, and the map
// goes on with it beyond the messages. Exchanges is the number of intervals, Residual their deviation from that line in
// ns.
//
// Within an interval clocks are taken to run evenly, and from one to the next the offset steps. A step back would make
// time run back: the map then stands still until the next interval is reached, and messages received meanwhile may be
// inverted by no more than the step. Clocks that differ by a skew s pass a corridor of width w in intervals of w/s, and
// the error swings over the whole width; what the paper gains by it is simplicity. It takes O(n log n).
// The bounds are those of [Hull]. It fails, and the hull's estimate is returned, where messages went one way, and where
// no interval has messages both ways.
func Interval(p *Problem, longest int64) (Estimate, error) {
	e, c := hull(p)
	if p.AB.Len() == 0 || p.BA.Len() == 0 {
		return e, nil
	}
	if longest <= 0 {
		longest = clock.Sub(c.last, c.first)/10 + 1
	}
	intervals, base := c.intervals(p, longest)
	if len(intervals) == 0 {
		return e, nil
	}
	exchanges := make([]exchange, 0, len(intervals))
	for _, v := range intervals {
		exchanges = append(exchanges, exchange{at: clock.Add(v.first, clock.Sub(v.last, v.first)/2), offset: v.offset()})
	}
	line, ok := leastSquares(exchanges)
	if !ok || math.Abs(line.skew) > 0.5 {
		line.skew, line.residual = 0, 0
	}
	e.Map.Mid, e.Skew = c.stepping(intervals, base, line.skew), line.skew*1e6
	e.Exchanges, e.Residual = len(intervals), line.residual
	return e, nil
}

// intervals divides the messages, in the order of a's clock. An interval without one of each direction goes on, whatever
// its length, until a message contradicts it.
func (c *corridor) intervals(p *Problem, longest int64) ([]interval, int64) {
	ceiling, floor := p.points()
	type limit struct {
		point
		above bool
	}
	limits := make([]limit, 0, p.AB.Len()+p.BA.Len())
	for m := range p.AB.All() {
		limits = append(limits, limit{ceiling(m), true})
	}
	for m := range p.BA.All() {
		limits = append(limits, limit{floor(m), false})
	}
	order := func(l, m limit) int { return cmp.Or(cmp.Compare(l.x, m.x), cmp.Compare(l.y, m.y)) }
	slices.SortFunc(limits, order)
	base := limits[0].y - int64(limits[0].x)
	var out []interval
	for _, l := range limits {
		low, high := math.Inf(-1), math.Inf(1)
		if offset := float64(l.y - int64(l.x) - base); l.above {
			high = offset
		} else {
			low = offset
		}
		n := len(out)
		if n > 0 {
			v := &out[n-1]
			if v.holds(low, high) && (!v.bounded() || int64(l.x-v.first) <= longest) {
				v.last, v.low, v.high = l.x, max(v.low, low), min(v.high, high)
				continue
			}
		}
		out = append(out, interval{l.x, l.x, low, high})
	}
	if !fillOneWay(out) {
		return nil, base
	}
	return out, base
}

// fillOneWay gives intervals with messages of one direction the offset of their neighbour, moved by no more than they ask
// for: of the one before, of the next where there is none. It returns false where all intervals are such.
func fillOneWay(intervals []interval) bool {
	i := slices.IndexFunc(intervals, func(v interval) bool { return v.bounded() })
	if i < 0 {
		return false
	}
	near := func(v *interval, o float64) {
		o = min(max(o, v.low), v.high)
		v.low, v.high = o, o
	}
	for j := i - 1; j >= 0; j-- {
		near(&intervals[j], intervals[j+1].offset())
	}
	for j := i + 1; j < len(intervals); j++ {
		if !intervals[j].bounded() {
			near(&intervals[j], intervals[j-1].offset())
		}
	}
	return true
}

// stepping returns the curve that keeps an interval's offset from its first message to its last.
func (c *corridor) stepping(intervals []interval, base int64, skew float64) clock.PairCurve {
	var curve clock.PairCurve
	add := func(x clock.HostTime, y float64) {
		v := clock.Add(clock.Add(x, base), int64(math.Round(y)))
		if n := len(curve); n > 0 {
			if x <= curve[n-1].X {
				return
			}
			v = max(v, curve[n-1].Y)
		}
		curve = append(curve, clock.PairKnot{X: x, Y: v})
	}
	first, last := intervals[0], intervals[len(intervals)-1]
	add(c.from, first.offset()+skew*float64(c.from-first.first))
	for _, v := range intervals {
		// Where the curve stands still it must not do so for the whole interval, only until the offset is reached.
		if n := len(curve); n > 1 {
			before := curve[n-1]
			reached := before.Y - clock.HostTime(base) - clock.HostTime(int64(math.Round(v.offset())))
			if reached > v.first {
				add(v.first, v.offset())
				if reached < v.last {
					add(reached, v.offset())
				}
				add(v.last, v.offset())
				continue
			}
		}
		add(v.first, v.offset())
		add(v.last, v.offset())
	}
	add(c.to, last.offset()+skew*float64(c.to-last.last))
	return curve
}
