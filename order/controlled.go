package order

import (
	"errors"
	"fmt"
	"math"

	"meridian/clock"
	"meridian/trace"
)

// ControlledOptions says how [Controlled] repairs. The zero value is the usual way.
type ControlledOptions struct {
	// MinDelay is what a message from one clock to another takes at least, in ns. Below zero it forgives so much, as where
	// stamps are coarse. Nil is 0 for all.
	MinDelay func(from, to int) int64
	// Gamma is the control variable, above 0 and at most 1: how fast a clock that was pushed forward runs, against its
	// estimate, until it has come back to it. At 1 it never does. 0 is 0.99.
	Gamma float64
	// Window is the time on the timeline, in ns, during which a clock runs ahead to meet the instant to which it is
	// pushed. 0 is as long as it takes to come back: the push divided by 1-Gamma, or a hundred times the push where
	// Gamma is 1.
	Window int64
}

// Repairs says what [Controlled] found and did.
type Repairs struct {
	Inverted  int64     // messages that the estimate lets arrive before they were sent, or sooner than they can
	Remaining int64     // messages that still do, because their stamps contradict those of others or are a century off
	Worst     Inversion // of those that remain
	Largest   []int64   // by clock: its largest correction in ns, 0 where its curve is the estimate
}

// Inversion is a message that arrives Early ns before it can: Message counts within its Channel of the problem.
type Inversion struct {
	Channel, Message int
	Early            int64
}

// million is the unit of the rates at which corrections fall.
const million = 1_000_000

// Controlled returns for each clock a curve from its time to the timeline which follows the estimate, maps[i].Mid, except
// where a message would arrive before it was sent: the controlled logical clock of Rabenseifner (1997) and of Becker,
// Rabenseifner, Wolf and Linford, Scalable timestamp synchronization for event traces of message-passing applications
// (Parallel Computing 35, 2009).
//
//	correction
//	               jump: as late as the message demands
//	               /| .
//	            /   |    .   falls by 1-gamma: intervals after it keep
//	         /      |       .    almost their length
//	      /         |          .
//	----+-----------+-------------+----> estimate
//	     <- window ->
//
// Forward, in an order in which all that happened before comes before: a receive is pushed to the send of its message
// plus the least delay (the clock condition), and what follows it on its clock is pushed along, ever less. Backward: what
// precedes a push is pulled towards it over the window, so that no interval is torn open, but a send no further than
// its receive allows.
//
// The repaired curves never run backwards, keep every message that can be kept, and differ from the estimate only where
// that was needed; without an inversion they are the estimate itself. A correction is at most the sum of the inversions
// on a chain of messages that ends there; events of clocks to which no such chain leads are never moved. Only the stamps
// of messages are events here, and stamps that are equal stay equal. Knots stand only where the correction changes, and
// may lie up to 2 ns beside it where no message is that tight.
//
// The corrections are a consequence of causality, not of a model of the clock: bounds do not move with the curve, which
// may leave them. The estimate should be good already, since a clock that is late everywhere pushes all that hear of it.
//
// Stamps may contradict each other whatever the curves: a reply sent before its request came, on one clock. Of every
// such circle of messages the one that is worst by the estimate is given up, and counted in [Repairs] if it is inverted
// in the end.
//
// It is an error if the problem is nil, maps are not one for each clock, a curve does not pass [clock.Curve.Check], a channel names no clock,
// an instant is beyond clock.Limit, or Gamma or Window are out of range. The cost is O(n) for n messages without inversion, else O(n log n), and some 250
// bytes for each message.
func Controlled(p *trace.Problem, maps []clock.Map, o ControlledOptions) ([]clock.Curve, Repairs, error) {
	r, err := newRates(o)
	if err != nil {
		return nil, Repairs{}, err
	}
	if err := checkProblem(p, maps); err != nil {
		return nil, Repairs{}, err
	}
	least := make([]int64, len(p.Channels))
	if o.MinDelay != nil {
		for i, c := range p.Channels {
			least[i] = o.MinDelay(c.From, c.To)
		}
	}
	curves := make([]clock.Curve, len(maps))
	for i := range maps {
		curves[i] = maps[i].Mid
	}
	repairs := Repairs{Largest: make([]int64, len(maps))}
	for i := range p.Channels {
		repairs.Inverted += inverted(&p.Channels[i], curves, least[i])
	}
	if repairs.Inverted == 0 {
		return curves, repairs, nil
	}
	g, err := newCausality(p, curves, least)
	if err != nil {
		return nil, Repairs{}, err
	}
	sequence := g.push(r)
	g.pull(r, sequence)
	for i := range curves {
		curves[i] = g.curve(i, curves[i], r)
	}
	g.account(curves, &repairs)
	return curves, repairs, nil
}

func checkProblem(p *trace.Problem, maps []clock.Map) error {
	if p == nil {
		return errors.New("order: the problem is nil")
	}
	if len(maps) != len(p.Clocks) {
		return fmt.Errorf("order: %d maps for %d clocks; want one for each", len(maps), len(p.Clocks))
	}
	for i := range maps {
		if err := maps[i].Mid.Check(); err != nil {
			return fmt.Errorf("order: clock %s: %w", p.Clocks[i].Name, err)
		}
		for _, k := range maps[i].Mid {
			if !within(k.X) || !within(k.Y) {
				return fmt.Errorf("order: clock %s: knot %d, %d ns is beyond ±2^62 ns", p.Clocks[i].Name, k.X, k.Y)
			}
		}
	}
	for i, c := range p.Channels {
		if min(c.From, c.To) < 0 || max(c.From, c.To) >= len(maps) {
			return fmt.Errorf("order: channel %d: from clock %d or to clock %d is not one of the %d clocks", i, c.From, c.To, len(maps))
		}
		for _, m := range c.Messages {
			if !clock.Valid(m.Sent) || !clock.Valid(m.Received) {
				return fmt.Errorf("order: channel %d: message sent at %d ns, received at %d ns, is not within ±2^62 ns", i, m.Sent, m.Received)
			}
		}
	}
	return nil
}

// within reports whether an instant may be a knot of a curve.
func within[T clock.Time](t T) bool { return t >= -clock.Limit && t <= clock.Limit }

// inverted counts the messages of a channel that take less than they can.
func inverted(c *trace.Channel, curves []clock.Curve, least int64) (count int64) {
	from, to := clock.NewCursor(curves[c.From]), clock.NewCursor(curves[c.To])
	for _, m := range c.Messages {
		if clock.Sub(to.At(m.Received), from.At(m.Sent)) < least {
			count++
		}
	}
	return count
}

// rates is the options in integers.
type rates struct {
	loss   int64 // by how much a correction falls after a push, in ns for every million on the timeline
	climb  int64 // by how much it rises towards one, in ns for every span; 0 where that depends on its height
	window int64
}

func newRates(o ControlledOptions) (rates, error) {
	gamma := o.Gamma
	if gamma == 0 {
		gamma = 0.99
	}
	if !(gamma > 0 && gamma <= 1) {
		return rates{}, fmt.Errorf("order: gamma %v out of range: above 0, at most 1", gamma)
	}
	if o.Window < 0 {
		return rates{}, fmt.Errorf("order: window of %d ns is negative", o.Window)
	}
	r := rates{loss: int64(math.Round((1 - gamma) * million)), window: o.Window}
	if r.window == 0 {
		r.window, r.climb = million, r.loss
		if r.climb == 0 {
			r.climb = million / 100
		}
	}
	return r, nil
}

// fallen returns what is left of a correction when time has passed.
func (r *rates) fallen(shift, passed int64) int64 {
	if shift == 0 {
		return 0
	}
	return max(clock.Sub(shift, clock.MulDiv(r.loss, passed, million, clock.Nearest)), 0)
}

// slope returns how much a correction must rise in a window to reach a height at its end.
func (r *rates) slope(height int64) int64 {
	if r.climb > 0 {
		return r.climb
	}
	return height
}
