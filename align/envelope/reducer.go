package envelope

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Reducer takes the messages of one direction one by one and keeps what the smoother needs, in memory that does not grow
// with their number: for each of at most limit windows of time their count and the corners of the lower hull over
// (received, received - sent), and a random sample of them all.
//
// Whatever line is taken from the differences, the least message of a window is a corner of its hull, so the window's
// minimum is exact for any clock that is straight within it. Windows start short and are merged in pairs when they get
// too many; 8192 of them are finer than any spacing of knots that so many messages could support.
//
// The zero value is ready, for any number of messages.
type Reducer struct {
	windows []window
	width   int64          // of a window, ns
	start   clock.HostTime // stamp of the first message, on the receiver's clock
	before  uint64         // how far before it the first window starts, ns
	used    int            // windows up to the last used
	sample  []trace.Message
	count   int64
	state   uint64 // of the generator that draws the sample
}

type window struct {
	count   int64
	hull    int // of the corners, how many were a hull when it was last taken; the others came later
	corners []trace.Message
}

const (
	maxWindows = 8192
	minWindows = 64
	sampleSize = 65536
	// lawSample is how much of the sample the laws are fitted to, again and again; levels take it all, once.
	lawSample = 16384
	// cornerBuffer is how many messages a window gathers before its hull is taken; twice as many as the last hull had, if
	// that is more.
	cornerBuffer = 64
)

// NewReducer returns a reducer for about the given number of messages; 0 if that is unknown.
func NewReducer(messages int) *Reducer {
	limit := maxWindows
	for messages > 0 && limit > minWindows && limit > messages {
		limit /= 2
	}
	return &Reducer{windows: make([]window, limit), width: firstWidth, state: firstState}
}

const (
	firstWidth = 1 << 10 // ns
	firstState = 88172645463325252
)

// Add takes a message. One with a stamp that is not within [clock.Limit] is left out.
func (r *Reducer) Add(m trace.Message) {
	if !clock.Valid(m.Sent) || !clock.Valid(m.Received) {
		return
	}
	if r.count == 0 {
		if r.windows == nil {
			*r = *NewReducer(0)
		}
		r.start = m.Received
	}
	r.count++
	i := r.index(m.Received)
	w := &r.windows[i]
	w.count++
	r.draw(m)
	if w.covers(m) {
		return
	}
	if len(w.corners) >= max(cornerBuffer, 2*w.hull) {
		w.takeHull()
	}
	w.corners = append(w.corners, m)
}

// covers reports whether a message lies on or above the hull that the window has, so that it cannot be a corner.
func (w *window) covers(m trace.Message) bool {
	if w.hull < 2 || m.Received <= w.corners[0].Received || m.Received >= w.corners[w.hull-1].Received {
		return false
	}
	for k := 1; ; k++ {
		if b := w.corners[k]; m.Received <= b.Received {
			return !below(w.corners[k-1], m, b)
		}
	}
}

// takeHull leaves the corners of the hull of what the window holds.
func (w *window) takeHull() {
	w.corners = lowerHull(w.corners)
	w.hull = len(w.corners)
}

// index returns the window of an instant, after making them wide enough.
func (r *Reducer) index(t clock.HostTime) int {
	for {
		// Two instants can be 2^63 ns apart, and the windows reach further: less than 2^64, as they start a power of
		// two times their doubled width before the first message.
		if t < r.start && uint64(r.start)-uint64(t) > r.before {
			r.doubleWidth(len(r.windows))
			continue
		}
		i := (uint64(t) - uint64(r.start) + r.before) / uint64(r.width)
		if i < uint64(len(r.windows)) {
			r.used = max(r.used, int(i)+1)
			return int(i)
		}
		r.doubleWidth(0)
	}
}

// doubleWidth merges windows in pairs, after moving them by that many places to the right.
func (r *Reducer) doubleWidth(by int) {
	r.before += uint64(by) * uint64(r.width)
	r.width *= 2
	merged := r.windows // in place, while windows move to the left: what is read lies at or behind what is written
	if by > 0 {
		merged = make([]window, len(r.windows))
	}
	for i := range r.windows[:r.used] {
		from := r.windows[i]
		if by == 0 {
			r.windows[i] = window{}
		}
		if from.count == 0 {
			continue
		}
		to := &merged[(i+by)/2]
		to.count += from.count
		if to.corners == nil {
			to.corners, to.hull = from.corners, from.hull
		} else {
			to.corners = append(to.corners, from.corners...)
			to.takeHull()
		}
	}
	r.windows, r.used = merged, min((r.used+by+1)/2, len(merged))
}

// draw keeps a message in the sample with the chance that all others have (Vitter's algorithm R).
func (r *Reducer) draw(m trace.Message) {
	if len(r.sample) < sampleSize {
		if n := len(r.sample); n == cap(r.sample) { // twice at most, for many messages
			r.sample = slices.Grow(r.sample, min(max(4*n, len(r.windows)), sampleSize-n))
		}
		r.sample = append(r.sample, m)
		return
	}
	r.state ^= r.state << 13
	r.state ^= r.state >> 7
	r.state ^= r.state << 17
	if k := r.state % uint64(r.count); k < sampleSize {
		r.sample[k] = m
	}
}

// finish takes the last hulls.
func (r *Reducer) finish() {
	for i := range r.windows {
		if w := &r.windows[i]; len(w.corners) > 1 {
			w.takeHull()
		}
	}
}

// lowerHull returns, in place, the corners of the lower hull over (received, received - sent), by time. Differences of
// nearby stamps are exact in float64, and a corner lost to the rounding of a product is lost by less than a picosecond.
func lowerHull(m []trace.Message) []trace.Message {
	order := func(a, b trace.Message) int { // cmp.Or would compare both, always
		switch {
		case a.Received < b.Received:
			return -1
		case a.Received > b.Received:
			return 1
		}
		return cmp.Compare(b.Sent, a.Sent)
	}
	if !slices.IsSortedFunc(m, order) {
		slices.SortFunc(m, order)
	}
	hull := m[:0]
	for _, p := range m {
		if n := len(hull); n > 0 && hull[n-1].Received == p.Received {
			continue
		}
		for n := len(hull); n > 1 && !below(hull[n-2], hull[n-1], p); n-- {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// below reports whether b lies below the line from a to c.
func below(a, b, c trace.Message) bool {
	tb, tc := float64(b.Received-a.Received), float64(c.Received-a.Received)
	vb, vc := tb-float64(b.Sent-a.Sent), tc-float64(c.Sent-a.Sent)
	return tb*vc-tc*vb > 0
}

// affine carries a clock's stamps to the timeline, near enough that what is left is for the smoother: the instant At of
// the clock is Timeline, and from there it runs at Rate.
type affine struct {
	at, timeline clock.HostTime
	rate         float64
}

// on returns a stamp in ns after an origin on the timeline.
func (a *affine) on(stamp, origin clock.HostTime) float64 {
	return float64(a.timeline-origin) + a.rate*float64(stamp-a.at)
}

// stamp returns the clock's reading at t ns after an origin.
func (a *affine) stamp(t float64, origin clock.HostTime) clock.HostTime {
	return a.at + clock.HostTime(math.Round((t-float64(a.timeline-origin))/a.rate))
}
