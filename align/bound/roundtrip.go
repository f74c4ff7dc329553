package bound

import (
	"math"
	"slices"

	"meridian/align/pair"
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
//
// What stamps that are not exact may add to round trips is known and changes over a trace. Rooms are asked with it and without it, and what is
// less counts: the truth moves inside of what stamps may mean, so that a room may be lengthened by less.
func (f *finder) findRoundTrips(p *pair.Problem) {
	level := min(roundTripLevel, max(len(f.ceilings)-minBlockLevels, 0))
	f.blocks = level
	rooms := make([]float64, f.ceilings[level].len())
	rate := f.Corridor.steepest(0, 0)
	for i := range rooms {
		rooms[i] = room(f.ceilings[level].of(i, i+1), f.floors[level].of(i, i+1), rate, math.Inf(-1))
	}
	single := singles{finder: f, known: make([]int8, len(rooms))}
	f.roundTrip = f.leastRooms(rooms, make([]float64, len(rooms)), &single)
	if p.Unsure == nil {
		return
	}
	for i, least := range f.leastRooms(rooms, f.unsure(p), &single) {
		f.roundTrip[i] = min(f.roundTrip[i], least)
	}
}

// leastRooms returns for each block the least of the rooms around it, less what was added to them, and with what was added to its own.
func (f *finder) leastRooms(rooms, added []float64, single *singles) []float64 {
	out := make([]float64, len(rooms))
	// The low quantile and how far it lies below the median, of each stretch of blocks.
	lows, spreads := make([]float64, 0, len(rooms)/roundTripReach+1), make([]float64, 0, len(rooms)/roundTripReach+1)
	var around []float64
	for i := 0; i < len(rooms); i += roundTripReach {
		from, to := max(i-roundTripReach, 0), min(i+2*roundTripReach, len(rooms))
		around = around[:0]
		for k, r := range rooms[from:to] {
			if r > 0 && !math.IsInf(r, 1) {
				around = append(around, r-added[from+k])
			}
		}
		slices.Sort(around)
		low, spread := 0.0, 0.0
		if n := len(around); n > 0 {
			low = around[min(max(1, n/8), n-1)]
			spread = max(around[n/2]-low, 0)
			for k := from; k < to; k++ {
				if r := rooms[k] - added[k]; r > low/2 && r < low && single.supports(f.blocks, k, rooms[k]) {
					low = r
				}
			}
		}
		lows, spreads = append(lows, low), append(spreads, spread)
	}
	usual, usualSpread := median(lows), median(spreads)
	for k, low := range lows {
		least := low - spreads[k]
		if elsewhere := usual - usualSpread; least < elsewhere && spreads[k] > 2*usualSpread {
			least = elsewhere // the clock bends in many of these blocks
		}
		for i := k * roundTripReach; i < min((k+1)*roundTripReach, len(rooms)); i++ {
			out[i] = max(least+added[i], 0)
		}
	}
	return out
}

// unsure returns for each block by how much stamps that are not exact may lengthen a round trip in it at least, ns: at its messages, and
// at the borders of its cells.
func (f *finder) unsure(p *pair.Problem) []float64 {
	ceilings, floors := &f.ceilings[f.blocks], &f.floors[f.blocks]
	out := make([]float64, ceilings.len())
	for i := range out {
		least := int64(math.MaxInt64)
		for cell := i << f.blocks; cell <= min((i+1)<<f.blocks, len(f.wander)); cell++ {
			least = min(least, p.Unsure(f.instant(f.first+float64(cell)*f.cell)))
		}
		for _, corners := range [...][]point{ceilings.of(i, i+1), floors.of(i, i+1)} {
			for _, q := range corners {
				least = min(least, p.Unsure(f.instant(q.x)))
			}
		}
		out[i] = float64(max(least, 0))
	}
	return out
}

// median returns the median of numbers.
func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}

// singles knows the blocks whose room rests on a single message.
type singles struct {
	*finder
	known          []int8  // of each block: 1 if it does, -1 if not, 0 if it was not asked
	ceiling, floor []point // scratch of ask, as is without
	without        []point
}

// supports reports whether a single message supports the room of a block, which would be more without it: that is a message without
// a queue, while a clock that bends shows it by many.
func (s *singles) supports(level, block int, room float64) bool {
	if s.known[block] == 0 {
		s.known[block] = -1
		if s.ask(block<<level, (block+1)<<level, room) {
			s.known[block] = 1
		}
	}
	return s.known[block] > 0
}

// ask asks the messages of the cells from one to before another, whose room is least.
func (s *singles) ask(from, to int, least float64) bool {
	const more = 1.2
	ceilings, floors := s.ceilings[0].of(from, to), s.floors[0].of(from, to)
	s.ceiling, s.floor = append(s.ceiling[:0], ceilings...), append(s.floor[:0], floors...)
	ceiling, floor := scan(s.ceiling, 1), scan(s.floor, -1)
	rate, limit := s.Corridor.steepest(0, 0), more*least
	without := func(points []point, q point, side float64) []point {
		s.without = s.without[:0]
		for _, o := range points {
			if o != q {
				s.without = append(s.without, o)
			}
		}
		return scan(s.without, side)
	}
	for _, q := range ceiling {
		if room(without(ceilings, q, 1), floor, rate, limit) > limit {
			return true
		}
	}
	for _, q := range floor {
		if room(ceiling, without(floors, q, -1), rate, limit) > limit {
			return true
		}
	}
	return false
}

// roundTripReach is over how many blocks on either side the least round trip is taken to be the same.
const roundTripReach = 32

// room returns the least height between ceilings and floors, infinite where either are missing: that between the lower hull of
// ceilings and the upper hull of floors, or that between the cones of the greatest rate over the ceilings and under the floors.
// The hulls know the rate where messages are many, the cones limit it where they are few. A room that is not over the limit
// may be found to be any that is not.
func room(ceiling, floor []point, rate, limit float64) float64 {
	least := math.Inf(1)
	if len(ceiling) == 0 || len(floor) == 0 {
		return least
	}
	highest := floor[0].y
	for _, o := range floor {
		highest = max(highest, o.y)
	}
	for _, q := range ceiling {
		if q.y-highest >= least {
			continue // above the cones of all floors
		}
		for _, o := range floor {
			if height := q.y - o.y + rate*math.Abs(q.x-o.x); height < least {
				least = height
			}
		}
	}
	if least <= limit {
		return least
	}
	from, to := max(ceiling[0].x, floor[0].x), min(ceiling[len(ceiling)-1].x, floor[len(floor)-1].x)
	for _, corners := range [...][]point{ceiling, floor} {
		i, k := 0, 0 // the first corners not before x
		for _, q := range corners {
			if q.x < from || q.x > to {
				continue
			}
			for ceiling[i].x < q.x {
				i++
			}
			for floor[k].x < q.x {
				k++
			}
			if height := heightOver(ceiling, i, q.x) - heightOver(floor, k, q.x); height < least {
				least = height
			}
		}
	}
	return least
}

// heightOver returns the height of a chain of corners over x, which lies between its ends; corner i is the first not before x.
func heightOver(corners []point, i int, x float64) float64 {
	if len(corners) == 1 {
		return corners[0].y
	}
	i = max(i, 1)
	p, q := corners[i-1], corners[i]
	return p.y + (q.y-p.y)*(x-p.x)/(q.x-p.x)
}
