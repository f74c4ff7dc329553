package clock

import "fmt"

// KnotOf is one corner of a curve: the instant X on one clock is the instant Y on the other, both in ns.
type KnotOf[X, Y Time] struct {
	X X
	Y Y
}

// CurveOf is a polyline with strictly increasing X and non-decreasing Y. Outside its knots it goes on along its first and
// its last piece; a single knot stands for a line of slope one. A curve without knots has no values: its At panics, as an
// index out of range does. Methods rely on [CurveOf.Check]; of a curve that does not pass it they return wrong values.
type CurveOf[X, Y Time] []KnotOf[X, Y]

// Curves between the clocks there are.
type (
	Knot         = KnotOf[HostTime, TimelineTime]
	Curve        = CurveOf[HostTime, TimelineTime] // from a host's clock to the timeline
	PairKnot     = KnotOf[HostTime, HostTime]
	PairCurve    = CurveOf[HostTime, HostTime] // from one host's clock to another's
	InverseKnot  = KnotOf[TimelineTime, HostTime]
	InverseCurve = CurveOf[TimelineTime, HostTime] // from the timeline to a host's clock
)

// Check returns an error if the curve has no knots, is not a function of X, runs backwards, or has neighbouring knots
// whose difference leaves int64.
func (c CurveOf[X, Y]) Check() error {
	if len(c) == 0 {
		return fmt.Errorf("clock: curve has no knots")
	}
	for i := 1; i < len(c); i++ {
		if c[i].X <= c[i-1].X {
			return fmt.Errorf("clock: knot %d at %d does not follow the one at %d", i, c[i].X, c[i-1].X)
		}
		if c[i].Y < c[i-1].Y {
			return fmt.Errorf("clock: knot %d runs back from %d to %d", i, c[i-1].Y, c[i].Y)
		}
	}
	// Differences are positive now, unless they wrap round, which none does if those of the ends do not.
	first, last := c[0], c[len(c)-1]
	if last.X-first.X >= 0 && last.Y-first.Y >= 0 {
		return nil
	}
	for i := 1; i < len(c); i++ {
		if c[i].X-c[i-1].X < 0 || c[i].Y-c[i-1].Y < 0 {
			return fmt.Errorf("clock: knots %d and %d are further apart than 2^63 ns", i-1, i)
		}
	}
	return nil
}

// At returns the value of the curve at t, rounded as r says.
func (c CurveOf[X, Y]) At(t X, r Rounding) Y {
	return c.on(c.piece(t), t, r)
}

// piece returns the index of the knot that begins the piece on which t lies. A corner belongs to the piece after it.
func (c CurveOf[X, Y]) piece(t X) int {
	// Invariant: knots up to low begin a piece at or before t, knots from high on begin one after it.
	low, high := 0, len(c)-1
	for low+1 < high {
		if middle := int(uint(low+high) >> 1); c[middle].X > t {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// on evaluates the piece that begins at knot i.
func (c CurveOf[X, Y]) on(i int, t X, r Rounding) Y {
	a := c[i]
	if len(c) == 1 {
		return Add(a.Y, Sub(t, a.X))
	}
	b := c[i+1]
	return Add(a.Y, MulDiv(Sub(t, a.X), int64(b.Y-a.Y), int64(b.X-a.X), r))
}

// Inverse returns the curve that leads back from Y to X. Where the curve stands still (several knots with one Y) the
// inverse keeps the first X, except at the end of a curve that moved before, where it keeps the last.
func (c CurveOf[X, Y]) Inverse() CurveOf[Y, X] {
	inv := make(CurveOf[Y, X], 0, len(c))
	for i, k := range c {
		if n := len(inv); n > 0 && inv[n-1].X == k.Y {
			if i == len(c)-1 && n > 1 {
				inv[n-1].Y = k.X
			}
			continue
		}
		inv = append(inv, KnotOf[Y, X]{X: k.Y, Y: k.X})
	}
	return inv
}

// ConvertCurve returns a copy of c between other time bases; see [ConvertMap].
func ConvertCurve[X2, Y2, X, Y Time](c CurveOf[X, Y]) CurveOf[X2, Y2] {
	if c == nil {
		return nil
	}
	out := make(CurveOf[X2, Y2], len(c))
	for i, k := range c {
		out[i] = KnotOf[X2, Y2]{X: X2(k.X), Y: Y2(k.Y)}
	}
	return out
}

// CursorOf evaluates a curve at instants that mostly move forward by little, without searching and without allocating.
type CursorOf[X, Y Time] struct {
	curve CurveOf[X, Y]
	piece int
}

// Cursors on curves between the clocks there are.
type (
	Cursor        = CursorOf[HostTime, TimelineTime]
	PairCursor    = CursorOf[HostTime, HostTime]
	InverseCursor = CursorOf[TimelineTime, HostTime]
)

// NewCursor returns a cursor at the beginning of a curve that passes [CurveOf.Check].
func NewCursor[X, Y Time](c CurveOf[X, Y]) CursorOf[X, Y] { return CursorOf[X, Y]{curve: c} }

// At returns the value of the curve at t to the nearest nanosecond. It panics on a curve without knots, as that of the zero
// value is.
func (u *CursorOf[X, Y]) At(t X) Y { return u.Rounded(t, Nearest) }

// Rounded returns the value of the curve at t, rounded as r says.
func (u *CursorOf[X, Y]) Rounded(t X, r Rounding) Y {
	c, i := u.curve, u.piece
	if len(c) == 1 {
		return c.on(0, t, r)
	}
	if t < c[i].X && i > 0 || t >= c[i+1].X && i+2 < len(c) {
		i = u.move(t)
	}
	a, b := &c[i], &c[i+1]
	return Add(a.Y, MulDiv(Sub(t, a.X), int64(b.Y-a.Y), int64(b.X-a.X), r))
}

// move takes the cursor to the piece on which t lies. The curve has two knots or more.
func (u *CursorOf[X, Y]) move(t X) int {
	c, i, last := u.curve, u.piece, len(u.curve)-2
	if t >= c[i].X {
		for n := maxCursorSteps; i < last && t >= c[i+1].X; n-- {
			if i++; n == 0 {
				i = c.piece(t)
				break
			}
		}
	} else {
		for n := maxCursorSteps; i > 0 && t < c[i].X; n-- {
			if i--; n == 0 {
				i = c.piece(t)
				break
			}
		}
	}
	u.piece = i
	return i
}

// maxCursorSteps is how many pieces a cursor moves one by one before it searches.
const maxCursorSteps = 8

// Piece returns the index of the knot that begins the piece on which the last instant lay.
func (u *CursorOf[X, Y]) Piece() int { return u.piece }
