package show

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/trace"
)

// Gallery has pictures, for a page, of how the clocks of a timeline wandered. A clock is drawn against its reference:
// offset, and offset less a line, with bounds. A pair is drawn with its messages, convex hulls and residuals.
type Gallery struct {
	Clocks   []GalleryClock
	Channels []trace.Channel // between Clocks, stamps by them
}

// GalleryClock is a clock of a gallery.
type GalleryClock struct {
	Name, Reference string
	Component       int
	Map             *clock.Map
	First, Last     clock.HostTime // its stamps; it is not drawn where they are equal
	BoundNs         *int64         // its worst; nil for none
}

// Drawing is one picture, as SVG that needs no style of a page.
type Drawing struct {
	Title string `json:"title"`
	SVG   string `json:"svg"`
}

const (
	mostPictures = 12       // of clocks, and of pairs
	mostPicture  = 60 << 10 // bytes that a picture should not exceed
)

// details are tried one after the other until a picture is small enough.
var details = []detail{{dots: 1600, bend: 0.2}, {dots: 900, bend: 0.4}, {dots: 400, bend: 0.8}, {dots: 160, bend: 2}}

// Draw draws the clocks with the widest bounds, then the pairs between those, and says what it leaves out. References are
// the timeline itself, and between timelines there is nothing to be drawn.
func (g *Gallery) Draw() (drawings []Drawing, left string, err error) {
	clocks, pairs := g.drawnClocks(), g.drawnPairs()
	add := func(title string, draw func(detail) *chart) {
		var d Drawing
		if d, err = drawing(title, draw); err == nil {
			drawings = append(drawings, d)
		}
	}
	for _, i := range clocks[:min(len(clocks), mostPictures)] {
		c := &g.Clocks[i]
		plot := &HostPlot{Name: c.Name, Reference: c.Reference, Map: c.Map, First: c.First, Last: c.Last, whole: true}
		if add(c.Name+" against "+c.Reference, plot.draw); err != nil {
			return nil, "", err
		}
	}
	for _, p := range pairs[:min(len(pairs), mostPictures)] {
		plot := g.pairPlot(p)
		if add(plot.A+" and "+plot.B, plot.picture); err != nil {
			return nil, "", err
		}
	}
	var lines []string
	if n := len(clocks) - mostPictures; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s", count(int64(n)), counted(int64(len(clocks)), "host")))
	}
	if n := len(pairs) - mostPictures; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of %s", count(int64(n)), counted(int64(len(pairs)), "pair")))
	}
	if len(lines) > 0 {
		left = "The widest bounds come first; " + strings.Join(lines, " and ") + " are left out."
	}
	return drawings, left, nil
}

// drawing draws a picture as finely as its size allows.
func drawing(title string, draw func(detail) *chart) (Drawing, error) {
	var svg bytes.Buffer
	for _, d := range details {
		svg.Reset()
		if err := draw(d).writeTo(&svg); err != nil {
			return Drawing{}, err
		}
		if svg.Len() <= mostPicture {
			break
		}
	}
	return Drawing{Title: title, SVG: svg.String()}, nil
}

// width is how far off a clock may be; nothing is wider than what is unbounded.
func (g *Gallery) width(i int) float64 {
	if b := g.Clocks[i].BoundNs; b != nil {
		return float64(*b)
	}
	return math.Inf(1)
}

// drawnClocks lists the clocks worth a picture, those with the widest bounds first.
func (g *Gallery) drawnClocks() []int {
	var clocks []int
	for i, c := range g.Clocks {
		if c.Name != c.Reference && c.Last > c.First {
			clocks = append(clocks, i)
		}
	}
	slices.SortStableFunc(clocks, func(a, b int) int { return cmp.Compare(g.width(b), g.width(a)) })
	return clocks
}

// traffic is what went between two clocks, a < b.
type traffic struct {
	a, b     int
	channels []int
	messages int
}

// drawnPairs lists the pairs worth a picture, those with the widest bounds first, and of these those with the most
// messages.
func (g *Gallery) drawnPairs() []traffic {
	at := make(map[[2]int]int)
	var pairs []traffic
	for i, c := range g.Channels {
		if c.From == c.To || len(c.Messages) == 0 || g.Clocks[c.From].Component != g.Clocks[c.To].Component {
			continue
		}
		key := [2]int{min(c.From, c.To), max(c.From, c.To)}
		n, known := at[key]
		if !known {
			n = len(pairs)
			at[key] = n
			pairs = append(pairs, traffic{a: key[0], b: key[1]})
		}
		pairs[n].channels = append(pairs[n].channels, i)
		pairs[n].messages += len(c.Messages)
	}
	width := func(p traffic) float64 { return g.width(p.a) + g.width(p.b) }
	slices.SortFunc(pairs, func(p, q traffic) int {
		return cmp.Or(cmp.Compare(width(q), width(p)), q.messages-p.messages, p.a-q.a, p.b-q.b)
	})
	return pairs
}

// pairPlot prepares the picture of a pair.
func (g *Gallery) pairPlot(p traffic) *PairPlot {
	back := g.Clocks[p.b].Map.Inverse()
	m := clock.ComposeMaps(g.Clocks[p.a].Map, &back)
	plot := &PairPlot{A: g.Clocks[p.a].Name, B: g.Clocks[p.b].Name, Map: &m, whole: true}
	var channels [2][]trace.Channel // from a to b, and back
	var total [2]int64
	for _, i := range p.channels {
		c, way := g.Channels[i], 0
		if c.From != p.a {
			way = 1
		}
		channels[way] = append(channels[way], c)
		total[way] += int64(len(c.Messages))
	}
	if max(total[0], total[1]) > mostReduced {
		plot.reduced = &total
	}
	plot.AB, plot.BA = reduced(channels[0], m.Mid, 1), reduced(channels[1], m.Mid, -1)
	return plot
}
