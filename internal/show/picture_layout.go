package show

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// canvas is what a picture is drawn on: a text of SVG or an image. Places are in pixels, y goes down.
type canvas interface {
	rect(x, y, w, h float64, c color.NRGBA)
	line(x0, y0, x1, y1, width float64, c color.NRGBA)
	polygon(points []point, c color.NRGBA)
	text(x, y float64, s string, f font, c color.NRGBA)
}

// font is how a text is set. align is -1 where x is its left end, 0 where it is the middle, 1 where it is the right end.
type font struct {
	size  float64
	bold  bool
	align int
}

// The colours: Okabe and Ito's (2008) for classes, which the colour-blind tell apart, with two more; the ground and the
// ink are those of the other pictures.
var (
	classColours = []color.NRGBA{rgb(0x0072b2), rgb(0xe69f00), rgb(0x009e73), rgb(0xcc79a7), rgb(0x56b4e9), rgb(0xd55e00),
		rgb(0x8b7bc8), rgb(0xb3a100), rgb(0x7f6a3f), rgb(0x44a8a0)}
	otherClass = rgb(0x9aa5b1)
	ground     = rgb(0xffffff)
	ink        = rgb(0x17212b)
	dim        = rgb(0x566575)
	gridLine   = rgb(0xe3e8ed)
	hostGround = rgb(0xf0f3f6)
	tickInk    = rgb(0x2f3b47)
	messageInk = rgb(0x3d4a57)
	wrongInk   = rgb(0xcf1f2e)
	boundInk   = rgb(0xb07400)
)

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// faint returns a colour with some of its strength.
func faint(c color.NRGBA, strength float64) color.NRGBA {
	c.A = uint8(math.Round(255 * min(max(strength, 0), 1)))
	return c
}

const (
	sceneTop    = 86.0 // the title and the axis
	sceneRight  = 24.0
	hostHeight  = 24.0
	laneHeight  = 16.0
	tickHeight  = 8.0 // under lanes
	rowGap      = 6.0
	deepestLane = 6 // levels of slices that are drawn
)

// scenery is a picture laid out.
type scenery struct {
	*Picture
	width, height float64
	left, panel   float64 // where the panel begins, and its width
	title         string
	notes         []string
	hosts         []sceneHost
	colours       map[int32]color.NRGBA
	names         []string // of classes with a colour
	place         map[int]*sceneRow
	bottom        float64 // of the panel
}

type sceneHost struct {
	host   int
	name   string
	top    float64
	rows   []*sceneRow
	hidden int
}

type sceneRow struct {
	*pictureRow
	label  string
	top    float64
	height float64
	lanes  int
}

// newScenery decides what is drawn where.
func newScenery(p *Picture) *scenery {
	s := &scenery{Picture: p, width: float64(p.options.Width), title: p.schema.Title, place: make(map[int]*sceneRow)}
	if s.title == "" {
		s.title = "Timeline"
	}
	s.gather()
	s.paint()
	label := 90.0
	for _, h := range s.hosts {
		label = max(label, textWidth(h.name, font{size: 13, bold: true})+textWidth(s.worst(&h), font{size: 11})+44)
		for _, r := range h.rows {
			label = max(label, textWidth(r.label, font{size: 12})+textWidth(r.reach(), font{size: 10})+50)
		}
	}
	s.left = min(label, s.width/4)
	s.panel = s.width - s.left - sceneRight
	y := sceneTop
	for i := range s.hosts {
		h := &s.hosts[i]
		h.top = y
		y += hostHeight
		for _, r := range h.rows {
			r.top = y
			y += r.height
		}
		if h.hidden > 0 {
			y += 14
		}
		y += 6
	}
	s.bottom = max(y, sceneTop+60)
	s.height = s.bottom + 30 + 20*float64(s.legendLines()) + 18*float64(len(s.notes)) + 10
	return s
}

// gather chooses the rows and puts them under their hosts, the kernel's above those of programs.
func (s *scenery) gather() {
	all := s.busiest()
	drawn := all[:min(len(all), s.options.Rows)]
	byHost := make(map[int]*sceneHost)
	var deep, left, absent int
	for n, w := range all {
		h := byHost[w.host]
		if h == nil {
			h = &sceneHost{host: w.host, name: "?"}
			if w.host >= 0 && w.host < len(s.schema.Hosts) {
				h.name = s.schema.Hosts[w.host]
			}
			byHost[w.host] = h
		}
		if n >= len(drawn) {
			h.hidden++
			left++
			continue
		}
		r := &sceneRow{pictureRow: w, label: s.schema.Streams[w.stream].Name}
		for _, b := range w.blocks {
			r.lanes = max(r.lanes, int(b.level)+1)
		}
		if r.lanes > deepestLane {
			deep++
			r.lanes = deepestLane
		}
		switch {
		case r.lanes == 0:
			r.height = laneHeight + rowGap
		case len(w.ticks) > 0 || w.curve != nil:
			r.height = float64(r.lanes)*laneHeight + tickHeight + rowGap
		default:
			r.height = float64(r.lanes)*laneHeight + rowGap
		}
		h.rows = append(h.rows, r)
		s.place[w.stream] = r
	}
	for _, h := range byHost {
		if len(h.rows) == 0 {
			absent++
			continue
		}
		slices.SortFunc(h.rows, func(a, b *sceneRow) int {
			x, y := &s.schema.Streams[a.stream], &s.schema.Streams[b.stream]
			return cmp.Or(cmp.Compare(kindRank(x.Kind), kindRank(y.Kind)), cmp.Compare(x.ID, y.ID), cmp.Compare(a.stream, b.stream))
		})
		s.hosts = append(s.hosts, *h)
	}
	slices.SortFunc(s.hosts, func(a, b sceneHost) int { return cmp.Compare(a.host, b.host) })
	s.thinArrows()
	if left > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s not drawn, but the %d with inverted messages and most events.", counted(int64(left), "row"), len(drawn)))
	}
	if absent > 0 {
		s.notes = append(s.notes, fmt.Sprintf("Nothing is drawn of %s.", counted(int64(absent), "host")))
	}
	if deep > 0 {
		s.notes = append(s.notes, fmt.Sprintf("Slices more than %d deep are not drawn.", deepestLane))
	}
	if s.homeless > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s events of no row are not drawn.", count(s.homeless)))
	}
}

func kindRank(k trace.StreamKind) int {
	for i, other := range []trace.StreamKind{trace.CPU, trace.Interrupt, trace.Device, trace.Messages, trace.Process, trace.Thread, trace.OtherStream} {
		if k == other {
			return i
		}
	}
	return int(trace.StreamKinds)
}

// paint gives colours to the classes that take most time.
func (s *scenery) paint() {
	var all []int32
	for c := range s.spent {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b int32) int { return cmp.Or(cmp.Compare(s.spent[b], s.spent[a]), cmp.Compare(a, b)) })
	s.colours = make(map[int32]color.NRGBA)
	// Classes of one name, as they come from several hosts, share a colour.
	byName := make(map[string]color.NRGBA)
	for _, c := range all {
		name := s.class(c)
		k, ok := byName[name]
		if !ok {
			if len(s.names) == len(classColours) {
				continue
			}
			k = classColours[len(s.names)]
			byName[name] = k
			s.names = append(s.names, name)
		}
		s.colours[c] = k
	}
}

func (s *scenery) class(c int32) string {
	if c < 0 || int(c) >= len(s.schema.Classes) {
		return "?"
	}
	return s.schema.Classes[c].Name
}

func (s *scenery) colour(class int32) color.NRGBA {
	if c, ok := s.colours[class]; ok {
		return c
	}
	return otherClass
}

// x places an instant.
func (s *scenery) x(at clock.TimelineTime) float64 { return s.left + s.part(at)*s.panel }

func (s *scenery) draw(c canvas) {
	c.rect(0, 0, s.width, s.height, ground)
	c.text(14, 27, fit(s.title, font{size: 18, bold: true}, s.width-28), font{size: 18, bold: true, align: -1}, ink)
	c.text(14, 46, fit(s.about(), font{size: 12}, s.width-28), font{size: 12, align: -1}, dim)
	s.drawGround(c)
	for _, h := range s.hosts {
		s.drawBand(c, &h)
		for _, r := range h.rows {
			s.drawRow(c, r)
		}
	}
	s.drawArrows(c)
	s.drawLegend(c)
}

// about says by which method, under which assumption, and how much there is.
func (s *scenery) about() string {
	var parts []string
	switch {
	case s.schema.Method == "":
		parts = append(parts, "clocks as recorded")
	case s.schema.Assumption == "":
		parts = append(parts, "clocks by "+s.schema.Method)
	default:
		parts = append(parts, "clocks by "+s.schema.Method+", bounds hold under: "+s.schema.Assumption)
	}
	parts = append(parts, count(s.records)+" events")
	if s.arrows.messages > 0 {
		parts = append(parts, count(s.arrows.messages)+" messages", count(s.arrows.inverted)+" received before sent")
	}
	return strings.Join(parts, "  ·  ")
}

// drawGround draws the axis and what lies behind the rows.
func (s *scenery) drawGround(c canvas) {
	for _, h := range s.hosts {
		c.rect(0, h.top, s.width, hostHeight, hostGround)
	}
	axis := ticksOf(interval{0, float64(clock.Sub(s.options.Last, s.options.First))}, timeUnits)
	span := float64(clock.Sub(s.options.Last, s.options.First))
	for _, t := range axis.at {
		x := s.left + t.value/span*s.panel
		c.line(x, sceneTop-6, x, s.bottom, 1, gridLine)
		c.text(x, sceneTop-10, t.text, font{size: 11}, dim)
	}
	c.line(s.left, sceneTop-6, s.left+s.panel, sceneTop-6, 1, dim)
	origin := "since " + time.Unix(0, int64(s.options.First)).UTC().Format("2006-01-02 15:04:05.999999999") + " UTC"
	c.text(s.left, sceneTop-25, axis.unit+" "+origin, font{size: 11, align: -1}, dim)
	for _, h := range s.hosts {
		says := s.worst(&h)
		room := s.left - 28 - textWidth(says, font{size: 11})
		c.text(14, h.top+16.5, fit(h.name, font{size: 13, bold: true}, room), font{size: 13, bold: true, align: -1}, ink)
		c.text(s.left-8, h.top+16.5, says, font{size: 11, align: 1}, boundInk)
		for i, r := range h.rows {
			if i > 0 {
				c.line(s.left, r.top, s.left+s.panel, r.top, 0.6, gridLine)
			}
			reach := r.reach()
			room := s.left - 44 - textWidth(reach, font{size: 10})
			c.text(26, r.top+rowGap/2+12, fit(r.label, font{size: 12}, room), font{size: 12, align: -1}, ink)
			c.text(s.left-8, r.top+rowGap/2+12, reach, font{size: 10, align: 1}, dim)
		}
		if h.hidden > 0 {
			last := h.rows[len(h.rows)-1]
			c.text(26, last.top+last.height+9, counted(int64(h.hidden), "quieter row"), font{size: 10.5, align: -1}, dim)
		}
	}
}

// worst says how wide a host's bounds are at the most.
func (s *scenery) worst(h *sceneHost) string {
	if b := s.bands[h.host]; b != nil {
		return "≤ " + duration(b.worst)
	}
	return ""
}

// reach says between which values a row's curve lies.
func (r *sceneRow) reach() string {
	if r.curve == nil {
		return ""
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	return short(r.curve.low) + "…" + short(r.curve.high)
}
