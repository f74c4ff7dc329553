package online

import "math"

// corner is one constraint: x ns of a's clock after the origin, u ns of offset above the base.
type corner struct{ x, u float64 }

// hull is the lower (side 1) or upper (side -1) hull of u + side·wander·x²/2 over the constraints of a window. Points come
// at the right end or near it, so that one costs a few corners.
//
// Of each sixtieth of the window the hull of its own is kept. When the oldest part leaves the window, the whole is scanned
// again from those of the others. To let corners fall off at the left instead would be sound, but they hid others that count
// then.
type hull struct {
	side, k float64 // k: wander, ns per ns²
	window  float64 // ns
	c       []corner
	parts   []hullPart // in the order of time
	grid    float64    // where a part may begin: here, and a length further on, or back
	spare   [][]corner
	tail    []corner
}

// hullPart is the hull of the constraints with from <= x < until.
type hullPart struct {
	from, until float64
	c           []corner
}

// hullParts is into how many parts a window is divided.
const hullParts = 60

// partCorners is how many corners a part has at most. Messages that are equally late, as by stamps of a coarse clock, are all corners.
const partCorners = 64

// take adds a constraint and forgets what is older than the window.
func (h *hull) take(p corner) {
	part := h.part(p.x)
	all := h.c
	h.c = part.c
	h.add(p)
	part.c, h.c = h.c, all
	thinned := part.thin()
	newest, gone := h.parts[len(h.parts)-1].from, 0
	for h.parts[gone].until < newest-h.window {
		gone++
	}
	if gone == 0 && !thinned {
		h.add(p)
		return
	}
	for i := range gone {
		h.spare = append(h.spare, h.parts[i].c)
	}
	h.parts = h.parts[:copy(h.parts, h.parts[gone:])]
	h.c = h.c[:0]
	for i := range h.parts {
		for _, q := range h.parts[i].c {
			h.add(q)
		}
	}
}

// thin drops every second corner where there are too many: without a constraint the bound is wider, not wrong.
func (p *hullPart) thin() bool {
	if len(p.c) <= partCorners {
		return false
	}
	n := 0
	for i, q := range p.c {
		if i%2 == 0 || i == len(p.c)-1 {
			p.c[n] = q
			n++
		}
	}
	p.c = p.c[:n]
	return true
}

// part returns the part of the window in which x lies, a new one where there is none. All begin on a grid, so that there are as many as fit in
// the window, in whatever order messages come.
func (h *hull) part(x float64) *hullPart {
	length := h.window / hullParts
	i := len(h.parts)
	for i > 0 && h.parts[i-1].from > x {
		i--
	}
	if i > 0 && x < h.parts[i-1].until {
		return &h.parts[i-1]
	}
	from := h.grid + math.Floor((x-h.grid)/length)*length
	fresh := hullPart{from: min(from, x), until: max(from+length, math.Nextafter(x, math.Inf(1)))}
	if i < len(h.parts) {
		fresh.until = min(fresh.until, h.parts[i].from)
	}
	if i > 0 {
		fresh.from = max(fresh.from, h.parts[i-1].until)
	}
	if k := len(h.spare); k > 0 {
		fresh.c, h.spare = h.spare[k-1][:0], h.spare[:k-1]
	}
	h.parts = append(h.parts, hullPart{})
	copy(h.parts[i+1:], h.parts[i:])
	h.parts[i] = fresh
	return &h.parts[i]
}

// add adds a constraint to the hull. What lies behind one that comes late is taken off and put back.
func (h *hull) add(p corner) {
	n := len(h.c)
	if n == 0 || p.x > h.c[n-1].x {
		h.push(p)
		return
	}
	m := n
	for m > 0 && h.c[m-1].x > p.x {
		m--
	}
	if m > 0 && h.c[m-1].x == p.x {
		if h.side*(p.u-h.c[m-1].u) >= 0 {
			return
		}
		m--
	}
	h.tail = append(h.tail[:0], h.c[m:]...)
	h.c = h.c[:m]
	h.push(p)
	for _, q := range h.tail {
		if q.x > p.x {
			h.push(q)
		}
	}
}

// push adds a constraint behind all others: Graham's step. Heights are lifted relative to the newest, whose own lift is zero.
func (h *hull) push(p corner) {
	for n := len(h.c); n > 1; n-- {
		a, b := h.c[n-2], h.c[n-1]
		xa, xb := a.x-p.x, b.x-p.x
		ya := a.u - p.u + h.side*h.k*xa*xa/2
		yb := b.u - p.u + h.side*h.k*xb*xb/2
		if h.side*(yb-ya*(xb/xa)) < 0 {
			break
		}
		h.c = h.c[:len(h.c)-1]
	}
	h.c = append(h.c, p)
}

// touch returns the corner with the least (side 1) or greatest value at t for a rate y. The values of a hull's corners fall and
// then rise, so a binary search finds it.
func (h *hull) touch(t, y float64) int {
	lo, hi := 0, len(h.c)-1
	for lo < hi {
		m := (lo + hi) / 2
		if h.side*(h.value(m+1, t, y)-h.value(m, t, y)) <= 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// value returns what a corner says of the offset at t for a rate y, without epsilon.
func (h *hull) value(i int, t, y float64) float64 {
	s := t - h.c[i].x
	return h.c[i].u + h.side*h.k*s*s/2 + y*s
}

// move moves the origin to the right by x and up by u.
func (h *hull) move(x, u float64) {
	shift := func(c []corner) {
		for i := range c {
			c[i].x -= x
			c[i].u -= u
		}
	}
	shift(h.c)
	h.grid -= x
	for i := range h.parts {
		h.parts[i].from -= x
		h.parts[i].until -= x
		shift(h.parts[i].c)
	}
}
