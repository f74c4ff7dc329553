package order

import (
	"math"

	"meridian/clock"
)

// push corrects forward and returns the instants in the order in which they were visited. Corrections fall along a line
// from the latest push; it is kept by its beginning, since what is rounded from one instant to the next would add up.
func (g *causality) push(r rates) (sequence []int32) {
	type line struct {
		shift int64
		at    clock.TimelineTime
	}
	last := make([]line, len(g.base)-1)
	sequence = make([]int32, 0, len(g.host))
	g.walk(func(c int, i int32) {
		sequence = append(sequence, i)
		carried := r.fallen(last[c].shift, clock.Sub(g.time[i], last[c].at))
		shift := carried
		for _, m := range g.in.of(i) {
			if e := &g.messages[m]; !e.cut {
				shift = max(shift, clock.Sub(g.arrival(e), g.time[i]))
			}
		}
		if shift > carried || shift == 0 {
			last[c] = line{shift, g.time[i]}
		}
		g.shift[i], g.rise[i] = shift, clock.Sub(shift, carried)
	})
	return sequence
}

// pull raises corrections ahead of a push, backward along the same sequence: whatever hears of an instant has been raised
// before it, which leaves a send all the room that there is. Of a clock's pushes one line at a time is followed, the
// nearest; it begins no lower than the one that it follows and is no flatter.
func (g *causality) pull(r rates, sequence []int32) {
	type line struct {
		on    bool
		shift int64
		at    clock.TimelineTime
		slope int64
	}
	lines := make([]line, len(g.base)-1)
	c := 0
	for k := len(sequence) - 1; k >= 0; k-- {
		i := sequence[k]
		if i < g.base[c] || i >= g.base[c+1] {
			c = g.clockOf(i)
		}
		l := &lines[c]
		shift, pushed := g.shift[i], g.rise[i]
		carried := clock.Sub(shift, pushed)
		g.rise[i] = 0
		if l.on {
			raised := clock.Sub(l.shift, clock.MulDiv(l.slope, clock.Sub(l.at, g.time[i]), r.window, clock.Nearest))
			room := g.room(i)
			if raised > room {
				raised = room
				l.shift, l.at = raised, g.time[i]
			}
			if l.on = raised > shift; l.on {
				shift = raised
				g.rise[i] = l.slope
			}
		}
		if pushed > 0 {
			slope := r.slope(clock.Sub(shift, carried))
			if l.on {
				slope = max(slope, l.slope)
			}
			*l = line{on: true, shift: shift, at: g.time[i], slope: slope}
			g.rise[i] = slope
		}
		g.shift[i] = shift
	}
}

// clockOf returns the clock of an instant.
func (g *causality) clockOf(i int32) int {
	low, high := 0, len(g.base)-1
	for high-low > 1 {
		if middle := (low + high) / 2; g.base[middle] <= i {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// room returns how far an instant may be corrected before a message that it sent would be received too early.
func (g *causality) room(i int32) int64 {
	room := int64(math.MaxInt64)
	for _, m := range g.out.of(i) {
		if e := &g.messages[m]; !e.cut {
			room = min(room, clock.Sub(clock.Add(g.at(e.to), -g.least[e.channel]), g.time[i]))
		}
	}
	return room
}

// account says what the curves made of it all.
func (g *causality) account(curves []clock.Curve, r *Repairs) {
	final := g.shift // whose values have become the curves
	for c, curve := range curves {
		u := clock.NewCursor(curve)
		for i := g.base[c]; i < g.base[c+1]; i++ {
			final[i] = int64(u.At(g.host[i]))
			by := clock.Sub(clock.TimelineTime(final[i]), g.time[i])
			r.Largest[c] = max(r.Largest[c], by, clock.Sub(0, by))
		}
	}
	for m, e := range g.messages {
		early := clock.Sub(g.least[e.channel], clock.Sub(final[e.to], final[e.from]))
		if early <= 0 {
			continue
		}
		r.Remaining++
		if early > r.Worst.Early {
			r.Worst = Inversion{Channel: int(e.channel), Message: m - g.first[e.channel], Early: early}
		}
	}
}
