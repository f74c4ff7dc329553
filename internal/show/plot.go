package show

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// chart is a picture as SVG: a title, a legend, and panels one below the other. It is written as text, with coordinates
// to a tenth of a pixel, so that equal data give equal bytes. Its colours are those of Okabe and Ito (2008), which the
// colour-blind tell apart; a second set serves readers whose system is dark.
type chart struct {
	detail
	title  string // whole; the picture may show it shortened
	body   strings.Builder
	height float64
}

// detail is how finely a picture is drawn, which decides how large it is.
type detail struct {
	dots int     // in a panel at most
	bend float64 // pixels by which a line may leave out a corner
}

// finest is for pictures that are files of their own. Coordinates are written to a tenth of a pixel: half of that does
// not show.
var finest = detail{dots: mostDots, bend: 0.05}

const (
	chartWidth  = 960
	chartLeft   = 84 // room for the numbers of the y axis
	chartRight  = 20
	panelWidth  = chartWidth - chartLeft - chartRight
	panelHeight = 320
	panelHead   = 26 // room for what a panel says above it
	panelFoot   = 46 // and for the x axis below it
	mostDots    = 4000
)

// chartStyle is the same in every picture, so that several may stand in one page.
const chartStyle = `
.plot{--ground:#fff;--frame:#5d6975;--grid:#e3e8ed;--ink:#17212b;--dim:#566575;--there:#0072b2;--back:#c45500;--mid:#17212b;--band:#cc79a7;--truth:#007a5a;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
@media (prefers-color-scheme:dark){.plot{--ground:#0f141a;--frame:#8a99a8;--grid:#232d38;--ink:#dbe3ea;--dim:#9aa8b6;--there:#56b4e9;--back:#f0a14a;--mid:#f2f5f8;--band:#d98fb8;--truth:#2fc79c}}
.plot text{fill:var(--ink)}.plot .dim{fill:var(--dim)}.plot .head{font-size:15px;font-weight:600}
.plot .ground{fill:var(--ground)}.plot .frame{fill:none;stroke:var(--frame)}.plot .grid{stroke:var(--grid);fill:none}
.plot .zero{stroke:var(--frame);stroke-dasharray:2 3;fill:none}
.plot .there,.plot .back{fill:none;stroke-width:2.4;stroke-linecap:round}.plot .there{stroke:var(--there)}.plot .back{stroke:var(--back)}
.plot .hull{stroke-width:1.3;stroke-linecap:butt;stroke-dasharray:7 3}
.plot .mid{fill:none;stroke:var(--mid);stroke-width:1.6}.plot .band{fill:var(--band);fill-opacity:.22;stroke:none}
.plot .edge{fill:none;stroke:var(--band);stroke-width:1.2}.plot .edged{stroke:var(--band);stroke-width:1.2}.plot .truth{fill:none;stroke:var(--truth);stroke-width:1.6;stroke-dasharray:4 3}
`

// newChart begins a picture.
func newChart(d detail, title, note string) *chart {
	c := &chart{detail: d, title: title, height: 34}
	fmt.Fprintf(&c.body, `<text class="head" x="%d" y="22">%s</text>`+"\n", 12, escaped(brief(title, 100)))
	if note != "" {
		c.height += 18
		fmt.Fprintf(&c.body, `<text class="dim" x="%d" y="41">%s</text>`+"\n", 12, escaped(note))
	}
	return c
}

// escaped makes a text safe in SVG and HTML: names come from files that anybody may have written. Controls, which XML
// does not allow at all, are replaced.
func escaped(s string) string { return html.EscapeString(printable(s)) }

// brief cuts a text that would not fit.
func brief(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// mostOfName is how much of a host's name stands in a legend, of which a picture has room for several.
const mostOfName = 32

// entry is one line of a legend.
type entry struct {
	class, text string
}

// legend writes what each class of lines and dots means.
func (c *chart) legend(entries []entry) {
	x := 14.0
	y := c.height + 8
	for _, e := range entries {
		width := 34 + 6.6*float64(len([]rune(e.text))) + 18
		if x+width > chartWidth && x > 14 {
			x, y = 14, y+19
		}
		switch {
		case e.class == "band":
			fmt.Fprintf(&c.body, `<path class="band" d="M%s %sh22v10h-22z"/><path class="edge" d="M%s %sh22m0 10h-22"/>`,
				number(x), number(y-9), number(x), number(y-9))
		case e.class == "there" || e.class == "back":
			fmt.Fprintf(&c.body, `<path class="%s" d="M%s %sh0m7 -3h0m7 5h0m5 -3h0"/>`, e.class, number(x+2), number(y-4))
		default:
			fmt.Fprintf(&c.body, `<path class="%s" d="M%s %sh22"/>`, e.class, number(x), number(y-4))
		}
		fmt.Fprintf(&c.body, `<text x="%s" y="%s">%s</text>`+"\n", number(x+29), number(y), escaped(e.text))
		x += width
	}
	c.height = y + 10
}

// writeTo writes the picture as a file of its own.
func (c *chart) writeTo(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" viewBox="0 0 %d %s" width="%d" height="%s">`+
		"\n<title>%s</title>\n<style>%s</style>\n"+`<rect class="ground" width="100%%" height="100%%"/>`+"\n%s</svg>\n",
		chartWidth, number(c.height), chartWidth, number(c.height), escaped(c.title), chartStyle, c.body.String())
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// interval is what an axis shows, ns from an origin of the axis.
type interval struct {
	low, high float64
}

// emptyInterval is the interval that any value extends.
func emptyInterval() interval { return interval{math.Inf(1), math.Inf(-1)} }

func (v *interval) include(x float64) { v.low, v.high = min(v.low, x), max(v.high, x) }

// padded adds room at both ends, and makes something of an interval that is nothing or a point.
func (v interval) padded() interval {
	if v.low > v.high {
		return interval{-1, 1}
	}
	more := max((v.high-v.low)*0.06, 1)
	return interval{v.low - more, v.high + more}
}

// panel is one rectangle of a chart with axes. What is drawn in it is cut off at its frame.
type panel struct {
	*chart
	top  float64
	x, y interval
	in   strings.Builder // what lies within the frame
}

// panel begins a panel below all that is there.
func (c *chart) panel(says string, x, y interval) *panel {
	p := &panel{chart: c, top: c.height + panelHead, x: x, y: y}
	if says == "" {
		p.top = c.height + 4
	} else {
		fmt.Fprintf(&c.body, `<text class="dim" x="%d" y="%s">%s</text>`+"\n", chartLeft, number(p.top-8), escaped(says))
	}
	c.height = p.top + panelHeight + panelFoot
	return p
}

// at returns a point's place within the frame, in pixels.
func (p *panel) at(x, y float64) (float64, float64) {
	return (x - p.x.low) / (p.x.high - p.x.low) * panelWidth, (p.y.high - y) / (p.y.high - p.y.low) * panelHeight
}

// point is a value to be drawn, ns on both axes.
type point struct {
	x, y float64
}

// line draws a polyline.
func (p *panel) line(class string, points []point) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&p.in, `<path class="%s" d="%s"/>`+"\n", class, pathOf(p.pixels(points)))
}

// pixels places the points of a line and leaves out those that would not be missed.
func (p *panel) pixels(points []point) []point {
	placed := make([]point, len(points))
	for i, k := range points {
		placed[i].x, placed[i].y = p.at(k.x, k.y)
	}
	return straightened(placed, p.bend)
}

// straightened returns the first and the last point of a line and as many between as keep it within so many pixels,
// upwards, of where it was (Douglas and Peucker 1973).
func straightened(points []point, within float64) []point {
	if len(points) < 3 {
		return points
	}
	keep := make([]bool, len(points))
	keep[0], keep[len(points)-1] = true, true
	for todo := [][2]int{{0, len(points) - 1}}; len(todo) > 0; {
		first, last := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		a, b := points[first], points[last]
		worst, off := first, within
		for i := first + 1; i < last; i++ {
			share := 0.5
			if b.x != a.x {
				share = (points[i].x - a.x) / (b.x - a.x)
			}
			if d := math.Abs(points[i].y - a.y - share*(b.y-a.y)); d > off {
				worst, off = i, d
			}
		}
		if worst > first {
			keep[worst] = true
			todo = append(todo, [2]int{first, worst}, [2]int{worst, last})
		}
	}
	var kept []point
	for i, k := range points {
		if keep[i] {
			kept = append(kept, k)
		}
	}
	return kept
}

// pathOf writes a polyline.
func pathOf(pixels []point) string {
	var d strings.Builder
	for i, k := range pixels {
		d.WriteByte("ML"[min(i, 1)])
		d.WriteString(number(k.x) + " " + number(k.y))
	}
	return d.String()
}

// band fills what lies between two polylines and draws both.
func (p *panel) band(low, high []point) {
	if len(low) > 0 && len(high) > 0 {
		back := p.pixels(high)
		slices.Reverse(back)
		round := append(slices.Clip(p.pixels(low)), back...)
		fmt.Fprintf(&p.in, `<path class="band edged" d="%sz"/>`+"\n", pathOf(round))
		return // its ends lie under the frame
	}
	p.line("edge", low)
	p.line("edge", high)
}

// dots draws points that were thinned.
func (p *panel) dots(class string, points []point) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&p.in, `<path class="%s" d="`, class)
	for _, k := range points {
		x, y := p.at(k.x, k.y)
		fmt.Fprintf(&p.in, "M%s %sh0", number(x), number(y))
	}
	p.in.WriteString("\"/>\n")
}

// end draws the axes and what lies between them.
func (p *panel) end(xTitle, yTitle string) {
	xs, ys := ticksOf(p.x, timeUnits), ticksOf(p.y, delayUnits)
	out := &p.body
	for _, t := range xs.at {
		x, _ := p.at(t.value, 0)
		fmt.Fprintf(out, `<path class="grid" d="M%s %sv%d"/><text class="dim" x="%s" y="%s" text-anchor="middle">%s</text>`+"\n",
			number(chartLeft+x), number(p.top), panelHeight, number(chartLeft+x), number(p.top+panelHeight+16), t.text)
	}
	for _, t := range ys.at {
		_, y := p.at(0, t.value)
		class := "grid"
		if t.value == 0 {
			class = "zero"
		}
		fmt.Fprintf(out, `<path class="%s" d="M%d %sh%d"/><text class="dim" x="%d" y="%s" text-anchor="end">%s</text>`+"\n",
			class, chartLeft, number(p.top+y), panelWidth, chartLeft-6, number(p.top+y+4), t.text)
	}
	// A nested picture cuts off what reaches over its edge.
	fmt.Fprintf(out, `<svg x="%d" y="%s" width="%d" height="%d">`+"\n%s</svg>\n", chartLeft, number(p.top), panelWidth, panelHeight, p.in.String())
	fmt.Fprintf(out, `<rect class="frame" x="%d" y="%s" width="%d" height="%d"/>`+"\n", chartLeft, number(p.top), panelWidth, panelHeight)
	fmt.Fprintf(out, `<text x="%d" y="%s" text-anchor="middle">%s, %s</text>`+"\n",
		chartLeft+panelWidth/2, number(p.top+panelHeight+36), escaped(xTitle), xs.unit)
	middle := number(p.top + panelHeight/2)
	fmt.Fprintf(out, `<text x="16" y="%s" text-anchor="middle" transform="rotate(-90 16 %s)">%s, %s</text>`+"\n",
		middle, middle, escaped(yTitle), ys.unit)
}

// number writes a coordinate to a tenth of a pixel. Far outside of the picture it does not matter where.
func number(v float64) string {
	v = math.Round(min(max(v, -1e5), 1e5)*10) / 10
	return strconv.FormatFloat(v+0, 'f', -1, 64) // + 0 makes a zero of -0
}
