package show

import (
	"fmt"
	"image/color"
	"math"

	"meridian/clock"
)

// drawBand draws how wide a host's bound is over time: the worst is as high as the strip. Between events, where nothing
// was asked, it goes straight.
func (s *scenery) drawBand(c canvas, h *sceneHost) {
	b := s.bands[h.host]
	if b == nil {
		return
	}
	const high = hostHeight - 6
	base := h.top + hostHeight - 2
	step := s.panel / s.columns
	var top []point
	for i, width := range b.widest {
		if width > 0 {
			x, y := s.left+float64(i)*step, base-max(float64(width)/float64(b.worst)*high, 1)
			if len(top) == 0 {
				top = append(top, point{x, base})
			}
			top = append(top, point{x, y}, point{x + step, y})
		}
	}
	top = append(top, point{top[len(top)-1].x, base})
	c.polygon(top, faint(boundInk, 0.45))
}

// drawRow draws slices, ticks and the curve of a row.
func (s *scenery) drawRow(c canvas, r *sceneRow) {
	top := r.top + rowGap/2
	s.drawBlocks(c, r, top)
	under, high := top, laneHeight
	if r.lanes > 0 {
		under, high = top+float64(r.lanes)*laneHeight+1, tickHeight-1
	}
	if r.curve != nil {
		s.drawCurve(c, r.curve, under, high)
	}
	step := s.panel / s.columns
	for _, t := range r.ticks {
		// One is half as high as many, so that a burst stands out.
		h := high * min(1, 0.55+0.15*math.Log2(float64(t.count)))
		c.rect(s.left+(float64(t.column)+0.5)*step-0.5, under+high-h, 1, h, tickInk)
	}
}

// drawBlocks draws the slices colour by colour, which keeps an SVG small, and then their names where there is room.
func (s *scenery) drawBlocks(c canvas, r *sceneRow, top float64) {
	byColour := make(map[color.NRGBA][]*block)
	var order []color.NRGBA
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.level >= deepestLane {
			continue
		}
		k := s.strength(b)
		if byColour[k] == nil {
			order = append(order, k)
		}
		byColour[k] = append(byColour[k], b)
	}
	for _, k := range order {
		for _, b := range byColour[k] {
			x0, x1 := s.x(b.start), s.x(b.end)
			w := x1 - x0
			if w > 3 {
				w -= 0.6 // neighbours stay apart
			}
			c.rect(x0, top+float64(b.level)*laneHeight+0.5, max(w, 0.7), laneHeight-1, k)
		}
	}
	f := font{size: 10.5, align: -1}
	for i := range r.blocks {
		b := &r.blocks[i]
		x, w := s.x(b.start), s.x(b.end)-s.x(b.start)
		if w < 24 || b.level >= deepestLane {
			continue
		}
		if name := fit(s.class(b.class), f, w-6); len([]rune(name)) > 2 {
			c.text(x+3, top+float64(b.level+1)*laneHeight-4.5, name, f, legible(s.strength(b)))
		}
	}
}

// strength is a block's colour: paler where it stands for slices that did not fill it, in eight steps.
func (s *scenery) strength(b *block) color.NRGBA {
	k := s.colour(b.class)
	if whole := clock.Sub(b.end, b.start); b.busy < whole {
		k = faint(k, 0.3+0.7*math.Round(8*float64(b.busy)/float64(whole))/8)
	}
	return k
}

// legible is black or white, whichever is read better on a colour.
func legible(on color.NRGBA) color.NRGBA {
	a := float64(on.A) / 255
	light := 0.299*float64(on.R) + 0.587*float64(on.G) + 0.114*float64(on.B)
	if light*a+255*(1-a) > 140 {
		return ink
	}
	return ground
}

// drawCurve draws a counter as steps, from its lowest to its highest value.
func (s *scenery) drawCurve(c canvas, k *curve, top, high float64) {
	step := s.panel / s.columns
	y := func(v float64) float64 {
		if k.high == k.low {
			return top + high/2
		}
		// Halves, because the distance of two numbers can be more than the greatest number; of small ones that loses nothing
		// that can be seen, but all of the smallest.
		part := (v/2 - k.low/2) / (k.high/2 - k.low/2)
		if whole := k.high - k.low; !math.IsInf(whole, 1) {
			part = (v - k.low) / whole
		}
		return top + high - 1 - part*(high-2)
	}
	line := classColours[0]
	for i, w := range k.at {
		x := s.left + float64(w.column)*step
		if w.low < w.high {
			c.rect(x, y(w.high), max(step, 0.7), y(w.low)-y(w.high), line)
		}
		next := s.left + s.panel
		if i+1 < len(k.at) {
			next = s.left + float64(k.at[i+1].column)*step
			a, b := y(w.last), y(k.at[i+1].last)
			c.rect(next, min(a, b), 1, math.Abs(a-b)+1, line)
		}
		c.rect(x, y(w.last), max(next-x, 0.7), 1, line)
		c.rect(x, y(w.last), max(next-x, 0.7), top+high-y(w.last), faint(line, 0.15))
	}
}

// drawArrows draws the messages between rows that are drawn, inverted ones last and red, with the bounds of their ends.
func (s *scenery) drawArrows(c canvas) {
	n := s.shownArrows()
	// The more there are the lighter each.
	strength, thin := 0.9, 1.1
	long, half := 8.0, 3.2 // the head
	if n > 200 {
		strength, thin, long, half = 0.5, 0.8, 5, 2
	}
	for _, inverted := range []bool{false, true} {
		for i := range s.arrows.all {
			a := &s.arrows.all[i]
			from, to := s.place[a.from.stream], s.place[a.to.stream]
			if a.inverted() != inverted || from == nil || to == nil {
				continue
			}
			colour, width := faint(messageInk, strength), thin
			if inverted {
				colour, width = wrongInk, 1.8
			}
			x0, y0, x1, y1 := s.x(a.from.at), from.anchor(), s.x(a.to.at), to.anchor()
			s.drawBounds(c, a.from, y0)
			s.drawBounds(c, a.to, y1)
			if from == to {
				c.line(x0, y0, x1, y1, width, colour)
				continue
			}
			// The head ends where the message arrived, and the line where the head begins.
			d := math.Hypot(x1-x0, y1-y0)
			ux, uy := (x1-x0)/d, (y1-y0)/d
			bx, by := x1-ux*long, y1-uy*long
			c.line(x0, y0, bx, by, width, colour)
			c.polygon([]point{{x1, y1}, {bx - uy*half, by + ux*half}, {bx + uy*half, by - ux*half}}, colour)
			c.rect(x0-1.5, y0-1.5, 3, 3, colour)
		}
	}
}

// shownArrows counts the arrows between rows that are drawn.
func (s *scenery) shownArrows() (n int) {
	for _, a := range s.arrows.all {
		if s.place[a.from.stream] != nil && s.place[a.to.stream] != nil {
			n++
		}
	}
	return n
}

// thinArrows leaves no more arrows than a picture can hold, and says so.
func (s *scenery) thinArrows() {
	n := s.shownArrows()
	for ; n > mostDrawn && float64(s.arrows.coarse) < s.columns; n = s.shownArrows() {
		s.arrows.coarsen(s.Picture)
	}
	if int64(n) < s.arrows.messages {
		s.notes = append(s.notes, fmt.Sprintf("%s arrows are drawn for %s messages: one for those between the same two rows at nearly the same time.",
			count(int64(n)), count(s.arrows.messages)))
	}
}

// anchor is where messages begin and end on a row.
func (r *sceneRow) anchor() float64 { return r.top + rowGap/2 + laneHeight/2 }

// drawBounds draws where an end lies at the least and the most, where that is more than its dot.
func (s *scenery) drawBounds(c canvas, e arrowEnd, y float64) {
	x0, x1 := s.x(e.low), s.x(e.high)
	if x1-x0 < 2 {
		return
	}
	c.rect(x0, y-0.6, x1-x0, 1.2, boundInk)
	c.rect(x0-0.5, y-3, 1, 6, boundInk)
	c.rect(x1-0.5, y-3, 1, 6, boundInk)
}

// key is an entry of the legend.
type key struct {
	text string
	draw func(c canvas, x, y float64)
}

func (s *scenery) keys() (all []key) {
	box := func(k color.NRGBA) func(canvas, float64, float64) {
		return func(c canvas, x, y float64) { c.rect(x, y-9, 18, 11, k) }
	}
	for i, name := range s.names {
		all = append(all, key{fit(name, font{size: 12}, 220), box(classColours[i])})
	}
	if len(s.colours) < len(s.spent) {
		all = append(all, key{"other slices", box(otherClass)})
	}
	all = append(all, key{"instant", func(c canvas, x, y float64) { c.rect(x+8, y-9, 1, 11, tickInk) }})
	if s.arrows.messages > 0 {
		arrow := func(k color.NRGBA, width float64) func(canvas, float64, float64) {
			return func(c canvas, x, y float64) {
				c.line(x, y-4, x+12, y-4, width, k)
				c.polygon([]point{{x + 19, y - 4}, {x + 11, y - 7.2}, {x + 11, y - 0.8}}, k)
			}
		}
		all = append(all, key{"message", arrow(messageInk, 1.1)})
		if s.arrows.inverted > 0 {
			all = append(all, key{"received before it was sent", arrow(wrongInk, 1.8)})
		}
	}
	if len(s.bands) > 0 {
		all = append(all, key{"bounds", func(c canvas, x, y float64) {
			c.rect(x, y-4.6, 18, 1.2, boundInk)
			c.rect(x, y-8, 1, 8, boundInk)
			c.rect(x+17, y-8, 1, 8, boundInk)
		}})
	}
	return all
}

// eachKey places the legend's entries in lines.
func (s *scenery) eachKey(yield func(k key, x float64, line int)) (lines int) {
	x, line := 14.0, 0
	for _, k := range s.keys() {
		w := 26 + textWidth(k.text, font{size: 12}) + 22
		if x+w > s.width && x > 14 {
			x = 14
			line++
		}
		yield(k, x, line)
		x += w
	}
	return line + 1
}

func (s *scenery) legendLines() int { return s.eachKey(func(key, float64, int) {}) }

func (s *scenery) drawLegend(c canvas) {
	y := s.bottom + 24
	lines := s.eachKey(func(k key, x float64, line int) {
		k.draw(c, x, y+20*float64(line))
		c.text(x+25, y+20*float64(line), k.text, font{size: 12, align: -1}, ink)
	})
	y += 20 * float64(lines)
	for _, n := range s.notes {
		c.text(14, y+2, fit(n, font{size: 12}, s.width-28), font{size: 12, align: -1}, dim)
		y += 18
	}
}
