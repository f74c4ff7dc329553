package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// PairPlot is the corridor between the messages of two clocks (Duda et al. 1987; Poirier 2010, figures 3.2 and 3.5).
type PairPlot struct {
	A, B   string
	AB, BA []trace.Message // from a to b, from b to a, in any order
	Map    *clock.PairMap  // a's clock to b's; without bounds where there are none
	// reduced counts the messages of which AB and BA are only a selection, in either direction.
	reduced *[2]int64
	whole   bool // the residuals are shown however straight the estimate is
}

// WriteSVG draws every message at its stamp on a (x) and on b (y), less a straight line, so that microseconds are
// visible. Messages from a to b are above, those from b to a below. Between them are the estimate with its bounds and
// the two convex hulls. Where the estimate is not straight, a second panel shows all of it less the estimate. Of each
// direction no more than 2,000 messages are drawn; at every pixel the one nearest to the corridor is among them.
func (p *PairPlot) WriteSVG(w io.Writer) error { return p.picture(finest).writeTo(w) }

func (p *PairPlot) picture(d detail) *chart {
	a, b := brief(p.A, mostOfName), brief(p.B, mostOfName)
	first, last, ok := p.extent()
	there, back := int64(len(p.AB)), int64(len(p.BA))
	if p.reduced != nil {
		there, back = p.reduced[0], p.reduced[1]
	}
	c := newChart(d, fmt.Sprintf("%s and %s", p.A, p.B), fmt.Sprintf("%s from %s to %s, %s back", counted(there, "message"), a, b, count(back)))
	if !ok {
		return c
	}
	entries := []entry{{"there", a + " to " + b}, {"back", b + " to " + a}, {"there hull", "convex hulls"}, {"mid", "estimate"}}
	if p.Map.Low != nil || p.Map.High != nil {
		entries = append(entries, entry{"band", "bounds"})
	}
	c.legend(entries)
	line := chord(p.Map.Mid, first, last)
	y := p.draw(c, line, first, last, true)
	// A bend shows in the first panel only if it is large against it; the second is worth its room from there on.
	if bend := departure(p.Map.Mid, line, first, last); p.whole || bend > (y.high-y.low)/50 {
		p.draw(c, p.Map.Mid, first, last, false)
	}
	return c
}

// extent returns from when to when messages were stamped on a.
func (p *PairPlot) extent() (first, last clock.HostTime, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for _, m := range p.AB {
		first, last = min(first, m.Sent), max(last, m.Sent)
	}
	for _, m := range p.BA {
		first, last = min(first, m.Received), max(last, m.Received)
	}
	return first, max(last, clock.Add(first, 1)), first <= last
}

// draw draws a panel of everything less a base, with hulls if the base is straight, and returns what its y axis shows.
func (p *PairPlot) draw(c *chart, base clock.PairCurve, first, last clock.HostTime, straight bool) interval {
	less := relative(base, first)
	var there, back []point
	for _, m := range p.AB {
		there = append(there, less(m.Sent, m.Received))
	}
	for _, m := range p.BA {
		back = append(back, less(m.Received, m.Sent))
	}
	mid, low, high := along(p.Map.Mid, first, last, less), along(p.Map.Low, first, last, less), along(p.Map.High, first, last, less)
	var hulls [2][]point
	if straight {
		hulls[0], hulls[1] = hull(there, 1), hull(back, -1)
	}
	y := emptyInterval()
	for _, points := range [][]point{mid, low, high, hulls[0], hulls[1]} {
		for _, k := range points {
			y.include(k.y)
		}
	}
	// Of delays with a long tail the quicker two thirds show the corridor; the rest would press it flat.
	for _, k := range []struct {
		points []point
		from   float64
	}{{there, 0}, {there, 0.66}, {back, 0.34}, {back, 1}} {
		if len(k.points) > 0 {
			y.include(level(k.points, k.from))
		}
	}
	y = y.padded()
	nameA, nameB := brief(p.A, mostOfName), brief(p.B, mostOfName)
	says, yTitle := "less the estimate", nameB+" less the estimate"
	if straight {
		yTitle = nameB + " less the line"
		says = "less a straight line: " + pairLine(base, first, nameA, nameB)
	}
	x := interval{0, float64(clock.Sub(last, first))}
	thereShown, backShown := thinned(there, x, y, c.dots/2, true, false), thinned(back, x, y, c.dots/2, false, true)
	hidden := outside(there, y) + outside(back, y)
	if total := int64(len(there) + len(back)); hidden > 0 && p.reduced == nil {
		says += fmt.Sprintf("; %s of %s lie beyond the edges", count(hidden), counted(total, "message"))
	}
	panel := c.panel(says, x, y)
	panel.band(low, high)
	panel.dots("there", thereShown)
	panel.dots("back", backShown)
	panel.line("there hull", hulls[0])
	panel.line("back hull", hulls[1])
	panel.line("mid", mid)
	panel.end("time on "+nameA+" since "+nameA+"'s first message", yTitle)
	return y
}

// chord is the straight line from one instant of a curve to another.
func chord[Y clock.Time](c clock.CurveOf[clock.HostTime, Y], first, last clock.HostTime) clock.CurveOf[clock.HostTime, Y] {
	return clock.CurveOf[clock.HostTime, Y]{{X: first, Y: c.At(first, clock.Nearest)}, {X: last, Y: c.At(last, clock.Nearest)}}
}

// pairLine says which line it is, as offset and skew of b against a.
func pairLine(line clock.PairCurve, first clock.HostTime, a, b string) string {
	rise, run := float64(clock.Sub(line[1].Y, line[0].Y)), float64(clock.Sub(line[1].X, line[0].X))
	return fmt.Sprintf("%s = %s %s, %s ppm", b, a, offset(clock.Sub(line[0].Y, first)), ppm((rise/run-1)*1e6))
}

// relative returns the function that places an instant of a clock and its value: ns since first, and ns above the base.
func relative[Y clock.Time](base clock.CurveOf[clock.HostTime, Y], first clock.HostTime) func(at clock.HostTime, value Y) point {
	cursor := clock.NewCursor(base)
	return func(at clock.HostTime, value Y) point {
		return point{float64(clock.Sub(at, first)), float64(clock.Sub(value, cursor.At(at)))}
	}
}

// along samples a curve once per pixel; nil for one that is not there.
func along[Y clock.Time](c clock.CurveOf[clock.HostTime, Y], first, last clock.HostTime, less func(at clock.HostTime, value Y) point) []point {
	if c == nil {
		return nil
	}
	var points []point
	cursor := clock.NewCursor(c)
	for i := range int64(panelWidth + 1) {
		at := clock.Add(first, clock.MulDiv(clock.Sub(last, first), i, panelWidth, clock.Nearest))
		points = append(points, less(at, cursor.At(at)))
	}
	return points
}

// departure is the largest distance of a curve from a line, ns.
func departure(c, line clock.PairCurve, first, last clock.HostTime) float64 {
	most := 0.0
	for _, k := range along(c, first, last, relative(line, first)) {
		most = max(most, math.Abs(k.y))
	}
	return most
}

// hull returns the corners of the lower convex hull of points (side 1) or of the upper one (side -1), after Andrew
// (1979). It is for the eye: differences from a line are small enough for float64.
func hull(points []point, side float64) []point {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b point) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(side*a.y, side*b.y))
	})
	var corners []point
	for _, k := range sorted {
		if n := len(corners); n > 0 && corners[n-1].x == k.x {
			continue // the first of an instant is the nearest to the corridor
		}
		for n := len(corners); n > 1; n = len(corners) {
			a, b := corners[n-2], corners[n-1]
			if side*((b.x-a.x)*(k.y-a.y)-(b.y-a.y)*(k.x-a.x)) > 0 {
				break
			}
			corners = corners[:n-1]
		}
		corners = append(corners, k)
	}
	return corners
}

// level returns the value that a share of the points do not exceed.
func level(points []point, share float64) float64 {
	values := make([]float64, len(points))
	for i, k := range points {
		values[i] = k.y
	}
	slices.Sort(values)
	return values[int(share*float64(len(values)-1))]
}

// outside counts the points that an axis does not show.
func outside(points []point, y interval) int64 {
	n := int64(0)
	for _, k := range points {
		if k.y < y.low || k.y > y.high {
			n++
		}
	}
	return n
}

// thinned returns at most so many of the points that an axis shows. It returns the lowest or the highest or both of each
// column of pixels, so that the edges of a cloud stay. Of the others it returns an even sample, so that the density
// stays.
func thinned(points []point, x, y interval, most int, lowest, highest bool) []point {
	var shown []point
	for _, k := range points {
		if k.y >= y.low && k.y <= y.high {
			shown = append(shown, k)
		}
	}
	if len(shown) <= most {
		return shown
	}
	columns := min(panelWidth, most*2/5)                    // which leaves a fifth at least
	low, high := make([]int, columns), make([]int, columns) // the number of a point plus one
	for i, k := range shown {
		n := int(min(max((k.x-x.low)/(x.high-x.low)*float64(columns), 0), float64(columns-1)))
		if lowest && (low[n] == 0 || k.y < shown[low[n]-1].y) {
			low[n] = i + 1
		}
		if highest && (high[n] == 0 || k.y > shown[high[n]-1].y) {
			high[n] = i + 1
		}
	}
	keep := make([]bool, len(shown))
	left := most
	for n := range columns {
		for _, i := range []int{low[n] - 1, high[n] - 1} {
			if i >= 0 && !keep[i] {
				keep[i] = true
				left--
			}
		}
	}
	stride := (len(shown) + left - 1) / max(left, 1)
	var out []point
	for i, k := range shown {
		if keep[i] || i%stride == 0 {
			out = append(out, k)
		}
	}
	return out
}
