package clock

import (
	"fmt"
	"sort"
)

// Limit bounds the instants that Meridian takes: beyond ±2^62 ns (the year 2116) the difference of two instants could
// leave int64, and a stamp there is damage rather than time.
const Limit = int64(1) << 62

// Knot is one corner of a curve: the instant Host on the host's clock is Timeline on the timeline, both in ns.
type Knot struct {
	Host, Timeline int64
}

// Curve is a polyline with strictly increasing Host and non-decreasing Timeline. Outside its knots it goes on along its
// first and its last piece; a single knot stands for a line of slope one.
type Curve []Knot

// Check says what is wrong with a curve that is not a function of the host's time or that runs backwards.
func (c Curve) Check() error {
	if len(c) == 0 {
		return fmt.Errorf("clock: a curve without knots")
	}
	for i := 1; i < len(c); i++ {
		if c[i].Host <= c[i-1].Host {
			return fmt.Errorf("clock: knot %d at host time %d does not follow %d", i, c[i].Host, c[i-1].Host)
		}
		if c[i].Timeline < c[i-1].Timeline {
			return fmt.Errorf("clock: knot %d at timeline %d runs back from %d", i, c[i].Timeline, c[i-1].Timeline)
		}
	}
	return nil
}

// At returns the timeline's time at host time t, rounded as r says.
func (c Curve) At(t int64, r Rounding) int64 {
	return c.on(c.piece(t), t, r)
}

// piece returns the index of the knot that begins the piece on which t lies.
func (c Curve) piece(t int64) int {
	if len(c) <= 2 {
		return 0
	}
	i := sort.Search(len(c), func(i int) bool { return c[i].Host > t }) - 1
	return min(max(i, 0), len(c)-2)
}

// on evaluates the piece that begins at knot i.
func (c Curve) on(i int, t int64, r Rounding) int64 {
	a := c[i]
	if len(c) == 1 {
		return Add(a.Timeline, Sub(t, a.Host))
	}
	b := c[i+1]
	return Add(a.Timeline, MulDiv(Sub(t, a.Host), b.Timeline-a.Timeline, b.Host-a.Host, r))
}

// Inverse returns the curve that leads from the timeline back to the host. Where the curve stands still (two knots at
// one timeline instant) the inverse keeps the earlier knot, except at the end, where it keeps the later one.
func (c Curve) Inverse() Curve {
	inv := make(Curve, 0, len(c))
	for i, k := range c {
		if n := len(inv); n > 0 && inv[n-1].Host == k.Timeline {
			if i == len(c)-1 && n > 1 {
				inv[n-1].Timeline = k.Host
			}
			continue
		}
		inv = append(inv, Knot{Host: k.Timeline, Timeline: k.Host})
	}
	return inv
}

// Then returns the curve that applies c first and next to its result, each rounded as r says. At every integer instant
// the result with r Up is nowhere below, and with r Down nowhere above, the exact composition.
func (c Curve) Then(next Curve, r Rounding) Curve {
	hosts := make([]int64, 0, len(c)+2*len(next))
	for _, k := range c {
		hosts = append(hosts, k.Host)
	}
	if len(c) > 1 || len(next) > 1 {
		back := c.Inverse()
		for _, k := range next {
			// The corner of next lies between two nanoseconds of the host: both become knots, so that no
			// integer instant is interpolated across it.
			h := back.At(k.Host, Down)
			hosts = append(hosts, h, Add(h, 1))
		}
	}
	sort.Slice(hosts, func(i, j int) bool { return hosts[i] < hosts[j] })
	if first, last := hosts[0], hosts[len(hosts)-1]; first < last {
		// Two corners a nanosecond apart say nothing of the slope beyond them.
		far := max(last-first, int64(1)<<40)
		hosts = append([]int64{Sub(first, far)}, append(hosts, Add(last, far))...)
	}
	out := make(Curve, 0, len(hosts))
	for i, h := range hosts {
		if i > 0 && h == hosts[i-1] {
			continue
		}
		out = append(out, Knot{Host: h, Timeline: next.At(c.At(h, r), r)})
	}
	return out
}

// Cursor evaluates a curve at instants that mostly move forward, without searching and without allocating.
type Cursor struct {
	curve Curve
	piece int
}

// NewCursor returns a cursor at the beginning of a curve that passes [Curve.Check].
func NewCursor(c Curve) Cursor { return Cursor{curve: c} }

// At returns the timeline's time at host time t to the nearest nanosecond.
func (u *Cursor) At(t int64) int64 { return u.Rounded(t, Nearest) }

// Rounded returns the timeline's time at host time t, rounded as r says.
func (u *Cursor) Rounded(t int64, r Rounding) int64 {
	c := u.curve
	for u.piece+2 < len(c) && t >= c[u.piece+1].Host {
		u.piece++
	}
	for u.piece > 0 && t < c[u.piece].Host {
		u.piece--
	}
	return c.on(u.piece, t, r)
}
