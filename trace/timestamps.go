package trace

import (
	"slices"

	"meridian/clock"
)

// Timestamps are no evidence of when a packet was seen where a file has none for it, where they are impossible (a
// fraction of a second of more than a second), and where they are absurd:
//
//   - They lie two seconds or more outside of those of the packets before and behind them, longer than any queue holds a packet: zero, a flipped
//     bit, a wrap. Or they lie more than ten years from those of most packets. Absurd timestamps are at most a tenth of all, or all the same. More
//     are of another clock, and so are some that lie as far outside as each other.
//   - All packets of a capture have the same one.
//
// Such packets are [Untimed]. Nothing rests on their timestamps: no message, no direction, no number of clocks, no
// extent, no resolution.
const (
	absurdJump = 2 * 1_000_000_000                    // ns, from the packets around one
	absurdAge  = 10 * 365 * 24 * 3600 * 1_000_000_000 // ns, from most packets
	// maxAbsurd is the part of a capture's packets, one in so many, that may be absurd.
	maxAbsurd = 10
	// minEqual is how many packets with one timestamp show that it is none.
	minEqual = 16
	// around is how many packets on either side of one say where it should lie, minAround how many are needed.
	around    = 8
	minAround = 3
)

// Retimed is a packet of which the time in a [Capture] is not the timestamp of its file.
type Retimed struct {
	Number int
	Time   clock.HostTime
}

// TimestampCheck notes, while packets are added to a capture, whether any of their timestamps may be absurd. The zero
// value is ready.
type TimestampCheck struct {
	last    clock.HostTime
	packets int
	untimed bool
	jumps   bool
	differ  bool
}

// Add takes account of the next packet. An untimed one has no timestamp to check.
func (x *TimestampCheck) Add(p *Packet) {
	if p.Kind == Untimed {
		x.untimed = true
		return
	}
	if x.packets > 0 && p.Time != x.last {
		x.differ = true
		x.jumps = x.jumps || clock.Distance(p.Time, x.last) > absurdJump
	}
	x.last = p.Time
	x.packets++
}

// Settle makes the packets [Untimed] whose timestamps are no evidence, and gives all that are untimed the time of a
// packet beside them. Those that had another one are listed in [Capture.Retimed]. It returns how many packets it has
// found, beside those that were untimed before.
func (x *TimestampCheck) Settle(c *Capture) (absurd int) {
	switch {
	case !x.differ && x.packets >= minEqual:
		absurd = c.dropAll()
	case x.jumps:
		absurd = c.dropAbsurd()
	}
	if absurd > 0 || x.untimed {
		c.retime()
	}
	return absurd
}

// dropAbsurd makes packets untimed whose timestamps are absurd.
func (c *Capture) dropAbsurd() int {
	usual := c.usualTime()
	var absurd []int
	same := true
	var displaced []int64
	for i := range c.Packets.Len() {
		p := c.Packets.At(i)
		if p.Kind == Untimed {
			continue
		}
		by := c.displacement(i)
		if by == 0 && clock.Distance(p.Time, usual) <= absurdAge {
			continue
		}
		same = same && (len(absurd) == 0 || p.Time == c.Packets.At(absurd[0]).Time)
		absurd, displaced = append(absurd, i), append(displaced, by)
	}
	if !same && (len(absurd)*maxAbsurd > c.Packets.Len() || steady(displaced)) {
		return 0
	}
	for _, i := range absurd {
		c.Packets.At(i).Kind = Untimed
	}
	return len(absurd)
}

// steady reports whether timestamps are displaced by about as much as each other, as those of another clock are.
func steady(displaced []int64) bool {
	if len(displaced) < minAround {
		return false
	}
	low, high := slices.Min(displaced), slices.Max(displaced)
	return low > 0 && high-low < high/4 || high < 0 && high-low < -low/4
}

// dropAll makes all packets untimed, and returns how many were not.
func (c *Capture) dropAll() (n int) {
	for i := range c.Packets.Len() {
		p := c.Packets.At(i)
		if p.Kind != Untimed {
			p.Kind = Untimed
			n++
		}
	}
	return n
}

// usualTime returns the median of the timestamps of some packets.
func (c *Capture) usualTime() clock.HostTime {
	const most = 1024
	n := c.Packets.Len()
	var sample []clock.HostTime
	for i := 0; i < n; i += 1 + n/most {
		if p := c.Packets.At(i); p.Kind != Untimed {
			sample = append(sample, p.Time)
		}
	}
	slices.Sort(sample)
	return sample[len(sample)/2]
}

// displacement returns by how much a timestamp lies outside of those around it, ns: of the median of some before it and
// that of some behind it. It is 0 where it does not, or by less than absurdJump or than those on a side differ. A
// silence displaces no timestamp, nor does a clock that was set.
func (c *Capture) displacement(i int) int64 {
	at := c.Packets.At(i).Time
	before, spreadBefore, okBefore := c.beside(i, -1)
	behind, spreadBehind, okBehind := c.beside(i, 1)
	if !okBefore || !okBehind {
		return 0
	}
	low, high := min(before, behind), max(before, behind)
	least := max(absurdJump, spreadBefore, spreadBehind)
	switch {
	case at < low && clock.Distance(at, low) >= least:
		return clock.Sub(at, low)
	case at > high && clock.Distance(at, high) >= least:
		return clock.Sub(at, high)
	}
	return 0
}

// beside returns the median of the timestamps of some packets on one side of a packet, and how far most of them are
// apart, whatever a few are; ok is false where there are too few.
func (c *Capture) beside(i, step int) (median clock.HostTime, spread uint64, ok bool) {
	var room [around]clock.HostTime
	window := room[:0]
	for k := i + step; k >= 0 && k < c.Packets.Len() && len(window) < around; k += step {
		if p := c.Packets.At(k); p.Kind != Untimed {
			window = append(window, p.Time)
		}
	}
	if len(window) < minAround {
		return 0, 0, false
	}
	slices.Sort(window)
	n := len(window)
	median = window[n/2]
	return median, 2 * min(clock.Distance(window[0], median), clock.Distance(median, window[n-1])), true
}

// retime gives untimed packets the time of the last packet before them that has one, or of the first behind them. Where
// all are untimed they keep what they have.
func (c *Capture) retime() {
	first := 0
	for first < c.Packets.Len() && c.Packets.At(first).Kind == Untimed {
		first++
	}
	if first == c.Packets.Len() {
		return // none has a better one
	}
	last := c.Packets.At(first).Time
	for i := range c.Packets.Len() {
		p := c.Packets.At(i)
		if p.Kind != Untimed {
			last = p.Time
			continue
		}
		if p.Time != last {
			p.Time = last
			c.Retimed = append(c.Retimed, Retimed{i, last})
		}
	}
}
