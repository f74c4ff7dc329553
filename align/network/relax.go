package network

import "meridian/clock"

// relaxer finds, at one instant of one clock, the most (or the least) that every other clock can show, by Bellman and
// Ford's algorithm over the passages. They do not decrease, so the best reading of a clock comes from best readings of
// its neighbours, as with sums of lengths.
//
// Instants are asked for one after the other. The paths of the last one are the first guess of the next, where most of
// them are the best again: one look at every passage then confirms them.
type relaxer struct {
	passages []passage
	out      [][]int // passages from each clock
	up       bool
	root     int
	value    []clock.HostTime
	reached  []bool
	via      []int // the passage over which a clock has its value; -1 at the root
	order    []int // reached clocks, each after the one it is reached from; empty before the first instant
	queue    []int
	waiting  []bool
}

// loop is a way round that leads to a reading that cannot be: the clocks on it and by how much it comes out too tight.
type loop struct {
	clocks []int
	by     int64
}

func newRelaxer(g *graph, r clock.Rounding) *relaxer {
	x := &relaxer{
		passages: passagesOf(g.edges, r), out: make([][]int, g.n), up: r == clock.Up, value: make([]clock.HostTime, g.n),
		reached: make([]bool, g.n), via: make([]int, g.n), waiting: make([]bool, g.n),
	}
	for i, p := range x.passages {
		x.out[p.from] = append(x.out[p.from], i)
	}
	return x
}

// start makes a clock the one of whose instants the next ones are, and forgets all paths.
func (x *relaxer) start(root int) {
	x.root, x.order, x.queue = root, x.order[:0], x.queue[:0]
	clear(x.reached)
	clear(x.waiting)
}

// relax finds all readings at instant t of the root, or a contradiction, after which it begins anew.
func (x *relaxer) relax(t clock.HostTime) *loop {
	if len(x.order) == 0 {
		x.order = append(x.order, x.root)
		x.reached[x.root], x.via[x.root] = true, -1
	}
	x.queue = x.queue[:0]
	for _, c := range x.order {
		if x.value[c] = t; c != x.root {
			p := &x.passages[x.via[c]]
			x.value[c] = p.at(x.value[p.from])
		}
		x.queue, x.waiting[c] = append(x.queue, c), true
	}
	// Without a contradiction every clock enters the queue once in each of n rounds at most.
	enough := len(x.out) * (len(x.out) + 1)
	for i := 0; i < len(x.queue); i++ {
		c := x.queue[i]
		x.waiting[c] = false
		for _, k := range x.out[c] {
			if bad := x.try(k, i > enough); bad != nil {
				x.start(x.root)
				return bad
			}
		}
	}
	x.sort()
	return nil
}

// try improves a clock's reading over a passage, if it does.
func (x *relaxer) try(k int, tooLong bool) *loop {
	p := &x.passages[k]
	v := p.at(x.value[p.from])
	to := p.to
	if x.reached[to] {
		old := x.value[to]
		if v == old || (v < old) != x.up {
			return nil
		}
		for c := p.from; ; c = x.passages[x.via[c]].from {
			if c == to || tooLong {
				return x.around(k, to)
			}
			if x.via[c] < 0 {
				break
			}
		}
	}
	x.reached[to], x.value[to], x.via[to] = true, v, k
	if !x.waiting[to] {
		x.queue, x.waiting[to] = append(x.queue, to), true
	}
	return nil
}

// around returns the loop that passage k to clock to closes.
func (x *relaxer) around(k, to int) *loop {
	l := &loop{}
	ways := []int{k}
	for c := x.passages[k].from; c != to && x.via[c] >= 0; c = x.passages[x.via[c]].from {
		ways = append(ways, x.via[c])
	}
	v := x.value[to]
	for i := len(ways) - 1; i >= 0; i-- {
		p := &x.passages[ways[i]]
		l.clocks = append(l.clocks, p.from)
		v = p.at(v)
	}
	l.by = clock.Sub(x.value[to], v)
	if !x.up {
		l.by = clock.Sub(v, x.value[to])
	}
	return l
}

// sort orders the reached clocks so that each follows the one it is reached from.
func (x *relaxer) sort() {
	placed := x.waiting // all false, and so left again
	x.order = append(x.order[:0], x.root)
	placed[x.root] = true
	for c, reached := range x.reached {
		if !reached {
			continue
		}
		from := len(x.order)
		for at := c; !placed[at]; at = x.passages[x.via[at]].from {
			x.order = append(x.order, at)
			placed[at] = true
		}
		for i, j := from, len(x.order)-1; i < j; i, j = i+1, j-1 {
			x.order[i], x.order[j] = x.order[j], x.order[i]
		}
	}
	clear(placed)
}
