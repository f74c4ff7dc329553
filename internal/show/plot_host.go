package show

import (
	"fmt"
	"io"
	"math"

	"meridian/clock"
)

// HostPlot is how a clock wandered: its offset, which is its clock minus the timeline's, less its mean line, with the bounds
// (Poirier 2010, figure 3.6).
type HostPlot struct {
	Name, Reference string
	Map             *clock.Map
	First, Last     clock.HostTime // the clock's time to be shown
	Truth           clock.Curve    // the clock's true map to the timeline; nil where it is not known

	whole bool // a second panel shows the offset itself, which is mostly a line
}

// WriteSVG draws the offset, its bounds, and the truth where it is known, less the least-squares line through the estimate.
func (h *HostPlot) WriteSVG(w io.Writer) error { return h.draw(finest).writeTo(w) }

func (h *HostPlot) draw(d detail) *chart {
	name := brief(h.Name, mostOfName)
	title := h.Name + " against " + h.Reference
	if h.Name == h.Reference {
		title = h.Name + ", the reference"
	}
	first, last := h.First, max(h.Last, clock.Add(h.First, 1))
	base := meanLine(h.Map.Mid, first, last)
	c := newChart(d, title, "less its mean line: "+hostLine(base, first, name))
	entries := []entry{{"mid", "estimate"}}
	if h.Map.Low != nil || h.Map.High != nil {
		entries = append(entries, entry{"band", "bounds"})
	}
	less := ahead(base, first)
	mid, low, high := along(h.Map.Mid, first, last, less), along(h.Map.High, first, last, less), along(h.Map.Low, first, last, less)
	var truth []point
	if h.Truth != nil {
		entries = append(entries, entry{"truth", "truth"})
		truth = along(h.Truth, first, last, less)
	}
	y := emptyInterval()
	for _, points := range [][]point{mid, low, high, truth} {
		for _, k := range points {
			y.include(k.y)
		}
	}
	c.legend(entries)
	p := c.panel("", interval{0, float64(clock.Sub(last, first))}, y.padded())
	p.band(low, high)
	p.line("mid", mid)
	p.line("truth", truth)
	p.end("time on "+name+" since its first stamp", "offset less the line")
	if h.whole {
		h.offset(c, first, last)
	}
	return c
}

// offset draws by how much the clock is ahead of the timeline.
func (h *HostPlot) offset(c *chart, first, last clock.HostTime) {
	name := brief(h.Name, mostOfName)
	less := ahead(clock.Identity().Mid, first)
	mid, low, high := along(h.Map.Mid, first, last, less), along(h.Map.High, first, last, less), along(h.Map.Low, first, last, less)
	y := emptyInterval()
	for _, points := range [][]point{mid, low, high} {
		for _, k := range points {
			y.include(k.y)
		}
	}
	p := c.panel("the offset itself", interval{0, float64(clock.Sub(last, first))}, y.padded())
	p.band(low, high)
	p.line("mid", mid)
	p.end("time on "+name+" since its first stamp", name+" less timeline")
}

// ahead returns the function that places an instant of a clock, ns since first, and by how many ns the clock is further ahead
// of the timeline there than by the base: a later instant of the timeline is less. So a lower bound becomes an upper one.
func ahead(base clock.Curve, first clock.HostTime) func(at clock.HostTime, value clock.TimelineTime) point {
	less := relative(base, first)
	return func(at clock.HostTime, value clock.TimelineTime) point {
		k := less(at, value)
		return point{k.x, -k.y}
	}
}

// hostLine says which line it is, as offset and skew of the host against the timeline.
func hostLine(line clock.Curve, first clock.HostTime, host string) string {
	rise, run := float64(max(clock.Sub(line[1].Y, line[0].Y), 1)), float64(clock.Sub(line[1].X, line[0].X))
	return fmt.Sprintf("%s = timeline %s, %s ppm", host, offset(clock.Sub(first, clock.HostTime(line[0].Y))), ppm((run/rise-1)*1e6))
}

// meanLine is the straight line with the least square distance from a curve.
func meanLine(c clock.Curve, first, last clock.HostTime) clock.Curve {
	line := chord(c, first, last)
	points := along(c, first, last, relative(line, first))
	n := float64(len(points))
	var sumY, sumXY, sumXX float64
	for i, k := range points {
		x := float64(i)/(n-1) - 0.5 // -0.5 to 0.5, whose mean is 0
		sumY, sumXY, sumXX = sumY+k.y, sumXY+x*k.y, sumXX+x*x
	}
	level, slope := sumY/n, sumXY/sumXX
	line[0].Y = clock.Add(line[0].Y, int64(math.Round(level-slope/2)))
	line[1].Y = clock.Add(line[1].Y, int64(math.Round(level+slope/2)))
	return line
}

// BroadcastPlot is how far apart broadcasts were received, over time.
type BroadcastPlot struct {
	At    []clock.TimelineTime // when each was first received
	Delay []int64
	// Delay is the differential delay of each, ns; What says in words what that is.
	What string
}

// WriteSVG draws every broadcast, thinned as messages are, and the mean.
func (b *BroadcastPlot) WriteSVG(w io.Writer) error {
	const title = "Broadcast differential delay"
	c := newChart(finest, title, fmt.Sprintf("%s; %s", counted(int64(len(b.At)), "broadcast"), b.What))
	if len(b.At) == 0 {
		return c.writeTo(w)
	}
	first, last := clock.TimelineTime(math.MaxInt64), clock.TimelineTime(math.MinInt64)
	for _, at := range b.At {
		first, last = min(first, at), max(last, at)
	}
	last = max(last, clock.Add(first, 1))
	x, y := interval{0, float64(clock.Sub(last, first))}, emptyInterval()
	y.include(0)
	var points []point
	mean := 0.0
	for i, at := range b.At {
		k := point{float64(clock.Sub(at, first)), float64(b.Delay[i])}
		points = append(points, k)
		y.include(k.y)
		mean += k.y / float64(len(b.At))
	}
	y = y.padded()
	c.legend([]entry{{"there", "broadcast"}, {"mid", "mean, " + duration(int64(math.Round(mean)))}})
	p := c.panel("", x, y)
	p.dots("there", thinned(points, x, y, c.dots, true, true))
	p.line("mid", []point{{x.low, mean}, {x.high, mean}})
	p.end("timeline since the first broadcast", "differential delay")
	return c.writeTo(w)
}
