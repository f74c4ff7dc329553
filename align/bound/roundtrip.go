package bound

import (
	"math"
	"slices"
)

// roundTripLevel is the level whose blocks, of some 32 messages, tell the least round trip: with fewer messages none may be quick,
// and over more the clock may bend. Of a short trace it is lower, so that there are some 8 blocks.
const roundTripLevel, minBlockLevels = 3, 4

// findRoundTrips finds what the least round trip around each block is at least. The room that the messages of a block leave to a
// straight line is not below it, unless the clock bends within the block, and above it by what queues add to the quickest
// messages.
//
// Of the blocks around, a low quantile of the rooms counts, so that a block in which the clock bends does not. A lower room counts
// instead if it hangs on a single message and is no less than half of that. It is lowered by as much as the quantile lies below
// the median: where queues are long, quick messages one way and the other are rarely close together, and over longer windows the
// room is less than in any block. Where the rooms are smaller than elsewhere and differ by far more, the clock bends in many of
// them, and what holds elsewhere counts.
func (f *finder) findRoundTrips() {
	level := min(roundTripLevel, max(len(f.ceilings)-minBlockLevels, 0))
	f.blocks = level
	f.roundTrip = make([]float64, len(f.ceilings[level]))
	rooms := make([]float64, len(f.roundTrip))
	for i := range rooms {
		rooms[i] = f.room(f.ceilings[level][i], f.floors[level][i])
	}
	// The low quantile and how far it lies below the median, of each stretch of blocks.
	lows, spreads := make([]float64, 0, len(rooms)/roundTripReach+1), make([]float64, 0, len(rooms)/roundTripReach+1)
	var around []float64
	for i := 0; i < len(rooms); i += roundTripReach {
		from, to := max(i-roundTripReach, 0), min(i+2*roundTripReach, len(rooms))
		around = around[:0]
		for _, r := range rooms[from:to] {
			if r > 0 && !math.IsInf(r, 1) {
				around = append(around, r)
			}
		}
		slices.Sort(around)
		low, spread := 0.0, 0.0
		if n := len(around); n > 0 {
			low = around[min(max(1, n/8), n-1)]
			spread = max(around[n/2]-low, 0)
			for k := from; k < to; k++ {
				if r := rooms[k]; r > low/2 && r < low && f.lonely(level, k, r) {
					low = r
				}
			}
		}
		lows, spreads = append(lows, low), append(spreads, spread)
	}
	usual, usualSpread := median(lows), median(spreads)
	for k, low := range lows {
		least := max(low-spreads[k], 0)
		if elsewhere := max(usual-usualSpread, 0); least < elsewhere && spreads[k] > 2*usualSpread {
			least = elsewhere // the clock bends in many of these blocks
		}
		i := k * roundTripReach
		fill(f.roundTrip[i:min(i+roundTripReach, len(rooms))], least)
	}
}

// median returns the median of numbers.
func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// lonely reports whether the room of a block hangs on a single message, without which it would be more: that is a message without
// a queue, while a clock that bends shows it by many.
func (f *finder) lonely(level, block int, room float64) bool {
	var ceilings, floors []point
	for i := block << level; i < (block+1)<<level; i++ {
		ceilings, floors = append(ceilings, f.ceilings[0][i]...), append(floors, f.floors[0][i]...)
	}
	ceiling, floor := scan(slices.Clone(ceilings), 1), scan(slices.Clone(floors), -1)
	const more = 1.2
	without := func(points []point, q point) []point {
		return slices.DeleteFunc(slices.Clone(points), func(o point) bool { return o == q })
	}
	for _, q := range ceiling {
		if f.room(scan(without(ceilings, q), 1), floor) > more*room {
			return true
		}
	}
	for _, q := range floor {
		if f.room(ceiling, scan(without(floors, q), -1)) > more*room {
			return true
		}
	}
	return false
}

// roundTripReach is over how many blocks on either side the least round trip is taken to be the same.
const roundTripReach = 32

// room returns the least height between ceilings and floors, infinite where either are missing: that between the lower hull of
// ceilings and the upper hull of floors, or that between the cones of the greatest rate over the ceilings and under the floors.
// The hulls know the rate where messages are many, the cones limit it where they are few.
func (f *finder) room(ceiling, floor []point) float64 {
	least := math.Inf(1)
	if len(ceiling) == 0 || len(floor) == 0 {
		return least
	}
	from, to := max(ceiling[0].x, floor[0].x), min(ceiling[len(ceiling)-1].x, floor[len(floor)-1].x)
	at := func(x float64) {
		if x >= from && x <= to {
			least = min(least, heightOver(ceiling, x)-heightOver(floor, x))
		}
	}
	for _, q := range ceiling {
		at(q.x)
	}
	for _, q := range floor {
		at(q.x)
	}
	rate := f.Corridor.steepest(0, 0)
	for _, q := range ceiling {
		for _, o := range floor {
			least = min(least, q.y-o.y+rate*math.Abs(q.x-o.x))
		}
	}
	return least
}

// heightOver returns the height of a chain of corners over x, which lies between its ends.
func heightOver(corners []point, x float64) float64 {
	i, _ := slices.BinarySearchFunc(corners, x, func(q point, x float64) int {
		if q.x < x {
			return -1
		}
		return 1
	})
	i = min(max(i, 1), len(corners)-1)
	if len(corners) == 1 {
		return corners[0].y
	}
	p, q := corners[i-1], corners[i]
	return p.y + (q.y-p.y)*(x-p.x)/(q.x-p.x)
}
