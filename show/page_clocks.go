package show

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"meridian/trace"
)

// gallery is the part of the page that shows how the clocks wandered: pictures of hosts, then of pairs.
type gallery struct {
	pictures     []string // SVG without a style
	hosts, pairs int
	left         string // what is not drawn; "" for nothing
}

const (
	mostPictures = 12       // of hosts, and of pairs
	mostPicture  = 60 << 10 // bytes that a picture should not exceed
)

// details are tried one after the other until a picture is small enough.
var details = []detail{{dots: 1600, bend: 0.2}, {dots: 900, bend: 0.4}, {dots: 400, bend: 0.8}, {dots: 160, bend: 2}}

// gallery draws the clocks with the widest bounds, and the pairs between those. References are the timeline itself, and
// between timelines there is nothing to be drawn.
func (s *scene) gallery() (*gallery, error) {
	g := &gallery{}
	if s.Report == nil || len(s.Report.Hosts) < len(s.Rows) {
		return g, nil
	}
	hosts, pairs := s.drawnHosts(), s.drawnPairs()
	for _, row := range hosts[:min(len(hosts), mostPictures)] {
		h, r := &s.Report.Hosts[row], &s.Rows[row]
		plot := &HostPlot{Name: h.Name, Reference: h.Reference, Map: s.maps[row], First: r.First, Last: r.Last}
		if err := g.add(plot.draw); err != nil {
			return nil, err
		}
		g.hosts++
	}
	for _, p := range pairs[:min(len(pairs), mostPictures)] {
		if err := g.add(s.pairPlot(p).picture); err != nil {
			return nil, err
		}
		g.pairs++
	}
	var left []string
	if n := len(hosts) - g.hosts; n > 0 {
		left = append(left, fmt.Sprintf("%s of %s", count(int64(n)), counted(int64(len(hosts)), "host")))
	}
	if n := len(pairs) - g.pairs; n > 0 {
		left = append(left, fmt.Sprintf("%s of %s", count(int64(n)), counted(int64(len(pairs)), "pair")))
	}
	if len(left) > 0 {
		g.left = "The widest bounds come first; " + strings.Join(left, " and ") + " are left out."
	}
	return g, nil
}

// add draws a picture as finely as its size allows.
func (g *gallery) add(draw func(detail) *chart) error {
	var svg bytes.Buffer
	for _, d := range details {
		svg.Reset()
		if err := draw(d).writeStyled(&svg, ""); err != nil {
			return err
		}
		if svg.Len() <= mostPicture {
			break
		}
	}
	g.pictures = append(g.pictures, svg.String())
	return nil
}

// write writes the pictures as a JSON array, deflated and in base64: no name in them is near any markup of the page.
func (g *gallery) write(w io.Writer) error {
	text := base64.NewEncoder(base64.StdEncoding, w)
	small, err := flate.NewWriter(text, flate.BestSpeed)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(small).Encode(append([]string{}, g.pictures...)); err != nil {
		return err
	}
	if err := small.Close(); err != nil {
		return err
	}
	return text.Close()
}

// width is how far off a row's clock may be; nothing is wider than what is unbounded.
func (s *scene) width(row int) float64 {
	if b := s.Report.Hosts[row].BoundNs; b != nil {
		return float64(*b)
	}
	return math.Inf(1)
}

// drawnHosts lists the rows worth a picture, those with the widest bounds first.
func (s *scene) drawnHosts() []int {
	var rows []int
	for i, r := range s.Rows {
		if h := &s.Report.Hosts[i]; h.Name != h.Reference && r.Last > r.First {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(s.width(b), s.width(a)) })
	return rows
}

// traffic is what went between two rows, a < b.
type traffic struct {
	a, b     int
	channels []int
	messages int
}

// drawnPairs lists the pairs worth a picture, those with the widest bounds first, and of these those with the most
// messages.
func (s *scene) drawnPairs() []traffic {
	at := make(map[[2]int]int)
	var pairs []traffic
	for i, c := range s.Channels {
		if c.From == c.To || len(c.Messages) == 0 || s.Report.Hosts[c.From].Component != s.Report.Hosts[c.To].Component {
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
	width := func(p traffic) float64 { return s.width(p.a) + s.width(p.b) }
	slices.SortFunc(pairs, func(p, q traffic) int {
		return cmp.Or(cmp.Compare(width(q), width(p)), q.messages-p.messages, p.a-q.a, p.b-q.b)
	})
	return pairs
}

// pairPlot prepares the picture of a pair.
func (s *scene) pairPlot(p traffic) *PairPlot {
	back := s.maps[p.b].Inverse()
	m := s.maps[p.a].Then(&back)
	plot := &PairPlot{A: s.Report.Hosts[p.a].Name, B: s.Report.Hosts[p.b].Name, Map: &m}
	var channels [2][]trace.Channel // from a to b, and back
	var total [2]int64
	for _, i := range p.channels {
		c, way := s.Channels[i], 0
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
