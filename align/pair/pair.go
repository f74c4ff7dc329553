// Package pair estimates how two clocks relate from the messages between them.
//
// In goes a [Problem]: the messages from a to b and from b to a, stamped at both ends. Out comes an [Estimate]: the map
// from a's clock to b's, with strict bounds, and the known offset and skew.
//
// The idea is that of Duda, Harrus, Haddad and Bernard (1987). Let f carry a's clock to b's and plot each message at
// its stamp on a (x) and on b (y). Nothing is received before it was sent, so f passes below every message from a to b
// and above every message from b to a:
//
//	b ^        c  c     .'        c: sent on a, received on b: ceiling, f(sent) <= received
//	  |   c      c   .'    f
//	  |      c    .'   o    o     o: sent on b, received on a: floor,   f(received) >= sent
//	  |        .'  o
//	  |     .'   o
//	  +----------------------> a
//
// While both clocks are linear f is a straight line, only the corners of two convex hulls matter, and the set of all
// lines through the corridor gives exact bounds at every instant (hull.go, line.go). Where no line fits, the clocks are
// not linear. Hull then has a line that inverts few messages and no bounds (ashton.go). Cones, which is none of the published
// estimators, passes the corridor under a bound on the wander instead (cones.go).
//
// The other published estimators are there for comparison. They have the hull's bounds, and their estimates may leave them:
//
//	Regression            least squares over the offsets of exchanges
//	LeastTrimmedSquares   the same over the better half of them
//	TwoPoint              a line through two exchanges, quick and far apart
//	WidestCorridor        the line farthest from both hulls
//	Interval              a constant offset for each interval whose messages allow one
//	Cristian, NTP         the clock a client of that protocol would have shown
//	Segmented             any of them, piece by piece, for clocks that are not linear for long
//	Broadcasts            all clocks at once, from what they heard together
//
// Everything that decides an order or an orientation is an exact integer: stamps are nanoseconds since 1970 and
// products of their differences take 128 bits. The cost is O(n) for messages in order, a sort of blocks otherwise.
package pair

import (
	"fmt"
	"iter"
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Problem is two clocks and what was sent between them.
//
// A problem is valid if all stamps are within [clock.Limit] and the clocks' granularities are not over an hour; one below
// 1 ns counts as 1 ns. The functions that take a problem rely on it, and panic on nil. Of an invalid problem their results
// mean nothing. align.Solve checks what it is given.
type Problem struct {
	A, B   trace.Clock
	AB, BA Messages // from a to b, from b to a

	// MinAB and MinBA are the least delays possible each way, ns; 0 where nothing is known of them. No message is
	// quicker, so the corridor narrows by as much on each side (Ashton 1995; Poirier 2010, section 2.2.3). They are
	// taken as spans of b's clock: over a delay the clocks' skew is far below a nanosecond. A least delay that is too
	// long makes every bound wrong, or leaves no line at all. Negative ones count as 0, ones of over an hour as an hour.
	MinAB, MinBA int64

	// Unsure tells, for stamps that are not exact, by how much a round trip is longer than it was at an instant of a's clock, ns:
	// its messages were sent at the earliest instants that the stamps may mean and received at the latest. It is nil for exact ones.
	Unsure func(clock.HostTime) int64
}

// Messages is the messages of one direction, in pieces and in any order.
type Messages [][]trace.Message

// Len returns their number.
func (m Messages) Len() int {
	n := 0
	for _, piece := range m {
		n += len(piece)
	}
	return n
}

// All yields them one by one.
func (m Messages) All() iter.Seq[trace.Message] {
	return func(yield func(trace.Message) bool) {
		for _, piece := range m {
			for _, x := range piece {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// Fit says what kind of estimate the messages allowed.
type Fit uint8

const (
	Absent   Fit = iota // no messages
	OneWay              // messages in one direction only: one side is unbounded
	Fallback            // no straight line passes between the messages
	Exact               // straight lines pass; the bounds contain them all
)

// String returns the name of the fit as reports have it: "one-way", "exact".
func (f Fit) String() string {
	if f > Exact {
		return fmt.Sprintf("fit %d", uint8(f))
	}
	return [...]string{"absent", "one-way", "fallback", "exact"}[f]
}

// Estimate is what the messages say about two clocks.
type Estimate struct {
	Fit Fit
	Map clock.PairMap // a's clock to b's

	// Skew is b's frequency against a's in ppm. With SkewBounded, SkewLow and SkewHigh are its strict bounds; OneWay and
	// Fallback have none. Determined is false, and Skew meaningless, if the bounds are more than UndeterminedPPM apart,
	// or if the messages contradict each other under any clock. Fallback without bounds and with Determined is Ashton's line.
	Skew, SkewLow, SkewHigh float64
	Determined, SkewBounded bool

	// First and Last are the extent of the messages on a's clock.
	First, Last clock.HostTime

	// Wander is the assumed greatest departure of the rate from a straight line, in ppb, for [Cones] and Fallback.
	Wander int64

	// Residual is the residual standard deviation E_r in ns, Exchanges the number it was taken over, for the
	// estimators that work on exchanges.
	Residual  float64
	Exchanges int

	// Lines are those of [Regression]: one, or one of each segment in the order of time.
	Lines []Line

	// Sigma is the wander of the two clocks against each other, fractional frequency per square root of a second, and
	// Gain by how many nats it explains the messages better than none: above six the clocks are not linear. Deviation is
	// the statistical error, in ascending order of instants: 95 of 100 truths lie within twice as much of the estimate,
	// half the difference of the least delays both ways apart, which no method can see. For the envelope smoother.
	Sigma, Gain float64
	Deviation   []Deviation
	Routes      []Route // changes of the least delay one way, as the envelope smoother finds them
}

// Route is a change of the least delay one way: from the instant At of the receiver's clock on it is longer by By, ns.
type Route struct {
	FromA bool // from a to b; otherwise back
	At    clock.HostTime
	By    int64
}

// Deviation is a standard deviation (ns) at an instant of a host's clock.
type Deviation struct {
	Host clock.HostTime
	Ns   float64
}

// UndeterminedPPM is the width of the skew's interval from which on the messages do not determine it: clocks of real
// machines differ by less.
const UndeterminedPPM = 200

// Hull returns the estimate by convex hulls with strict bounds (Poirier 2010, sections 3.2 and 3.3). Where no line passes
// between the messages it is Ashton's line, without bounds ([Cones] has some), and the fit is Fallback.
func Hull(p *Problem) Estimate {
	e, _ := hull(p)
	return e
}

// hull returns the estimate with the corridor that it was taken from; it is nil where there are no messages.
func hull(p *Problem) (Estimate, *corridor) {
	if p.AB.Len() == 0 && p.BA.Len() == 0 {
		return Estimate{}, nil
	}
	c := newCorridor(p)
	return c.estimate(p), c
}

func (c *corridor) estimate(p *Problem) Estimate {
	lines, ok := c.lines()
	if !ok {
		return c.fallback(p)
	}
	e := Estimate{Fit: Exact, Map: lines.curves(c), First: c.first, Last: c.last}
	if p.AB.Len() == 0 || p.BA.Len() == 0 {
		e.Fit = OneWay
		e.Map, e.Skew = lines.oneWay(c, p)
		e.Determined = c.last-c.first >= minSkewSpan
		return e
	}
	e.SkewBounded = true
	e.SkewLow, e.SkewHigh = lines.least.ppm(), lines.most.ppm()
	e.Determined = e.SkewHigh-e.SkewLow <= UndeterminedPPM
	e.Skew = slopeOf(e.Map.Mid).ppm()
	return e
}

// minSkewSpan is how long messages must flow before a one-way hull's slope says anything of the skew, ns.
const minSkewSpan = 10_000_000_000

// Spread is the error of a map over an interval of host time, ns.
type Spread struct {
	Best, Mean, Worst int64
}

// Error returns the error of the estimate's map over the messages' extent; false where a side is unbounded.
func (e *Estimate) Error() (Spread, bool) { return SpreadOf(&e.Map, e.First, e.Last) }

// SpreadOf returns the error of a map between two host times, the mean over even steps; false where a side is
// unbounded.
func SpreadOf[Y clock.Time](m *clock.MapOf[clock.HostTime, Y], first, last clock.HostTime) (Spread, bool) {
	if m.Low == nil || m.High == nil {
		return Spread{}, false
	}
	const steps = 256
	span := clock.Sub(last, first)
	s := Spread{Best: math.MaxInt64}
	var sum float64
	for i := range int64(steps + 1) {
		err, _ := m.Error(clock.Add(first, clock.MulDiv(span, i, steps, clock.Nearest)))
		sum += float64(err)
		s.Best, s.Worst = min(s.Best, err), max(s.Worst, err)
	}
	// The error is piecewise linear, so its extremes are at corners.
	for _, c := range []clock.CurveOf[clock.HostTime, Y]{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.X > first && k.X < last {
				err, _ := m.Error(k.X)
				s.Best, s.Worst = min(s.Best, err), max(s.Worst, err)
			}
		}
	}
	s.Mean = int64(sum / (steps + 1))
	return s, true
}
