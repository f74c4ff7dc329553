package index

import (
	"slices"
	"sync"
)

// edge remembers what all before the tail puts into the bins of tiles at the end of a timeline that grows. These are asked for again with each
// picture, and only the tail has changed. It is used by any number of goroutines.
type edge struct {
	mu   sync.Mutex
	of   map[edgeKey]*edgeBins
	bins int // of all
}

type edgeKey struct {
	lane, level int
	from, to    int64
}

// edgeBins is what the events before one have in the bins of a tile.
type edgeBins struct {
	drops, end int64
	numbers    []int16
	sums       []summary
}

// mostEdgeBins bounds what is remembered: 6 MiB.
const mostEdgeBins = 1 << 15

// restore fills empty bins with what is remembered, and returns of how many of the parts that is which have these ends, unless something was dropped
// since. What was in memory has the same end when it is a segment.
func (e *edge) restore(lane int, b *bins, drops int64, ends []int64) int {
	e.mu.Lock()
	x := e.of[edgeKey{lane, b.level, b.from, b.to}]
	e.mu.Unlock()
	if x == nil || drops != x.drops {
		return 0
	}
	i := slices.Index(ends, x.end) // a merger may have taken it away
	if i < 0 {
		return 0
	}
	for k, n := range x.numbers {
		*b.at(int(n)) = x.sums[k]
	}
	return i + 1
}

// store remembers bins that hold all events before end, and nothing else.
func (e *edge) store(lane int, b *bins, drops, end int64) {
	x := &edgeBins{drops: drops, end: end}
	for i := b.low; i < b.high; i++ {
		if !b.bins[i].empty() {
			x.numbers, x.sums = append(x.numbers, int16(i)), append(x.sums, b.bins[i])
		}
	}
	k := edgeKey{lane, b.level, b.from, b.to}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.of[k]; old != nil {
		e.bins -= len(old.sums)
	}
	if e.bins += len(x.sums); e.bins > mostEdgeBins || e.of == nil { // most are of tiles that are settled by now
		e.of, e.bins = make(map[edgeKey]*edgeBins), len(x.sums)
	}
	e.of[k] = x
}
