package bound

import (
	"slices"

	"meridian/align/internal/pieces"
	"meridian/align/pair"
	"meridian/trace"
)

// plotter plots a message.
type plotter = func(trace.Message) point

// blocks are the corners of the hulls of even parts of a trace, those of one part behind those of the one before:
//
//	points | a a a | b b | | d d d d |    parts a, b, c (without messages), d
//	ends         3     5  5         9
type blocks struct {
	points []point
	ends   []int // of each part, in points
}

// len returns the number of parts.
func (b *blocks) len() int { return len(b.ends) }

// of returns the corners of some neighbouring parts, one part behind the other. They belong to b.
func (b *blocks) of(from, to int) []point {
	begin := 0
	if from > 0 {
		begin = b.ends[from-1]
	}
	return b.points[begin:b.ends[to-1]:b.ends[to-1]]
}

// maxGathered is how many points of a cell are gathered before they are reduced to a hull.
const maxGathered = 32

// gathering is the points of cells while messages come. Those of all cells lie in one array. The cell at its end grows with the
// array, so messages in order need no more than that. A cell that messages come back to moves to the end, with room to spare:
//
//	all   | a a a | b b | c c c c | a a a a - - - |    one more message of a came behind those of c
type gathering struct {
	all   []point
	cells []gathered
	side  float64
	room  int // points that a cell which messages come back to gets room for
}

// gathered is where the points of a cell lie.
type gathered struct {
	from, len int
	room      int // points that there is room for
	reduced   int // points from the first that are a hull already
}

// gather gathers messages in even cells, for their lower hulls for side 1, for the upper ones for -1.
func gather(messages pair.Messages, at plotter, side, first, perNs float64, cells int) *gathering {
	// A cell has half as many again as it would have if all had as many. It never holds many more than maxGathered.
	const leastRoom, mostRoom = 8, maxGathered + maxGathered/4
	g := gathering{cells: make([]gathered, cells), side: side, room: min(max(messages.Len()/cells*3/2, leastRoom), mostRoom)}
	g.all = make([]point, 0, cells*(g.room+g.room/8+1))
	for piece := range pieces.Of(messages) {
		for _, m := range piece {
			q := at(m)
			g.add(&g.cells[min(max(int((q.x-first)*perNs), 0), cells-1)], q)
		}
	}
	return &g
}

// add adds a point to a cell.
func (g *gathering) add(c *gathered, q point) {
	switch {
	case c.len < c.room:
		g.all[c.from+c.len] = q
	case c.room == 0:
		c.from, c.room = len(g.all), 1
		g.all = append(g.all, q)
	case c.from+c.room == len(g.all):
		c.room++
		g.all = append(g.all, q)
	default:
		g.move(c)
		g.all[c.from+c.len] = q
	}
	if c.len++; c.len-c.reduced == maxGathered {
		g.reduce(c)
	}
}

// move moves a cell to the end and gives it room.
func (g *gathering) move(c *gathered) {
	from := len(g.all)
	c.room = max(2*c.len, g.room)
	g.all = slices.Grow(g.all, c.room)[:from+c.room]
	copy(g.all[from:], g.all[c.from:c.from+c.len])
	c.from = from
}

// reduce reduces a cell to its hull.
func (g *gathering) reduce(c *gathered) {
	c.len = len(graham(g.all[c.from:c.from+c.len], g.side))
	c.reduced = c.len
}

// hulls returns the hulls of all cells.
func (g *gathering) hulls() blocks {
	total := 0
	for i := range g.cells {
		g.reduce(&g.cells[i])
		total += g.cells[i].len
	}
	b := blocks{points: make([]point, 0, total), ends: make([]int, len(g.cells))}
	for i, c := range g.cells {
		b.points = append(b.points, g.all[c.from:c.from+c.len]...)
		b.ends[i] = len(b.points)
	}
	return b
}

// levels returns the blocks of cells, of pairs of cells, of pairs of those, and so on up to the whole trace. They lie in memory
// as far as that has room.
func levels(cells blocks, memory []point, side float64) []blocks {
	all := []blocks{cells}
	memory = memory[:0]
	for below := cells; below.len() > 1; below = all[len(all)-1] {
		if cap(memory)-len(memory) < len(below.points) {
			memory = make([]point, 0, len(below.points))
		}
		up := blocks{ends: make([]int, below.len()/2)}
		begin := len(memory)
		for i := range up.ends {
			from := len(memory)
			memory = append(memory, below.of(2*i, 2*i+2)...)
			memory = memory[:from+len(scan(memory[from:], side))]
			up.ends[i] = len(memory) - begin
		}
		up.points = memory[begin:len(memory):len(memory)]
		all = append(all, up)
	}
	return all
}
