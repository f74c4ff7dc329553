package index

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// leastPart is how many lanes a part of a tile has at least: fewer do not repay a goroutine.
	leastPart = 8
	// partsEach is how many parts there are for each processor, since some lanes take longer than others.
	partsEach = 4
)

// fillInParts makes the first lanes of a tile on all processors, part by part, and returns how many: none where they are few. Where they
// are too many, or one cannot be read, they are those before the first such part. Those behind are for fillInTurn, which makes the same
// bytes, or fails.
func (t *tiler) fillInParts(lanes []int, most int) (done int) {
	workers := min(runtime.GOMAXPROCS(0), len(lanes)/leastPart)
	if workers < 2 {
		return 0
	}
	n := min(workers*partsEach, len(lanes)/leastPart)
	begins := func(k int) int { return k * len(lanes) / n }
	parts := make([]*tiler, n)  // nil for those that do not fit
	var next, made atomic.Int64 // made in bytes
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for made.Load() <= int64(most) { // else those that are made are too many
				k := int(next.Add(1)) - 1
				if k >= n {
					return
				}
				if parts[k] = t.part(lanes[begins(k):begins(k+1)], most); parts[k] == nil {
					return
				}
				made.Add(int64(len(parts[k].out)))
			}
		})
	}
	group.Wait()
	fit := true
	for k, p := range parts {
		if fit = fit && p != nil && t.add(p, most); fit {
			done = begins(k + 1)
		}
		if p != nil {
			p.giveBack()
		}
	}
	return done
}

// part makes some lanes of the tile by themselves; nil if they do not fit or cannot be read. A panic is for fillInTurn too: here it
// would end the program, and not the request alone.
func (t *tiler) part(lanes []int, most int) (made *tiler) {
	p := takeTiler(t.lanesOf)
	defer func() {
		if made == nil {
			_ = recover()
			p.giveBack()
		}
	}()
	p.level, p.shift, p.from, p.to = t.level, t.shift, t.from, t.to
	p.begin()
	if n, err := p.fillInTurn(lanes, most); err != nil || n < len(lanes) {
		return nil
	}
	return p
}

// add puts the lanes of a part behind those that are there, if they fit.
func (t *tiler) add(p *tiler, most int) bool {
	if p.lanes > 0 {
		before := len(t.out)
		distance, length := binary.Uvarint(p.out) // of the first lane from -1
		t.out = binary.AppendUvarint(t.out, uint64(int(distance)-1-t.number))
		t.out = append(t.out, p.out[length:]...)
		if len(t.out)+tileHead > most {
			t.out = t.out[:before]
			return false
		}
		t.lanes, t.number = t.lanes+p.lanes, p.number
	}
	t.final = t.final && p.final
	return true
}
