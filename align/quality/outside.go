package quality

import (
	"meridian/clock"
	"meridian/trace"
)

// Outside says where an estimate lies outside of the bounds beside it. Those of published methods may: the bounds rest on an
// assumption of their own, and hold the truth all the same.
// A nanosecond outside is one of rounding, and does not count.
type Outside struct {
	Events  int64 // ends of messages at which it does
	Largest int64 // the greatest distance from such an estimate to the bound, ns; 0 without any
}

// OutsideOf takes the stamps of one clock's messages in a problem. Where the curves' corners show that the estimate is
// nowhere outside between first and last, which are to contain all stamps, the messages are not looked at.
func OutsideOf(p *trace.Problem, m *clock.Map, number int, first, last clock.HostTime) Outside {
	var out Outside
	if m.Low == nil && m.High == nil || inside(m, first, last) {
		return out
	}
	for i := range p.Channels {
		c := &p.Channels[i]
		if endpoints(c, number) == 0 {
			continue
		}
		mid, low, high := clock.NewCursor(m.Mid), clock.NewCursor(m.Low), clock.NewCursor(m.High)
		see := func(stamp clock.HostTime) {
			at, by := mid.At(stamp), int64(0)
			if m.Low != nil {
				by = clock.Sub(low.Rounded(stamp, clock.Down), at)
			}
			if m.High != nil {
				by = max(by, clock.Sub(at, high.Rounded(stamp, clock.Up)))
			}
			if by > 1 {
				out.Events++
				out.Largest = max(out.Largest, by)
			}
		}
		for _, x := range c.Messages {
			if c.From == number {
				see(x.Sent)
			}
			if c.To == number {
				see(x.Received)
			}
		}
	}
	return out
}

// Add adds those of another clock.
func (x *Outside) Add(o Outside) { x.Events, x.Largest = x.Events+o.Events, max(x.Largest, o.Largest) }

// inside reports whether an estimate is within its bounds from first to last: it is if it is at all corners there, since
// between two of them all curves are straight.
func inside(m *clock.Map, first, last clock.HostTime) bool {
	// All are rounded so that a rounded nanosecond at a corner does not hide one outside beside it.
	at := func(host clock.HostTime) bool {
		return (m.Low == nil || m.Mid.At(host, clock.Down) >= m.Low.At(host, clock.Up)) &&
			(m.High == nil || m.Mid.At(host, clock.Up) <= m.High.At(host, clock.Down))
	}
	if !at(first) || !at(last) {
		return false
	}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.X > first && k.X < last && !at(k.X) {
				return false
			}
		}
	}
	return true
}
