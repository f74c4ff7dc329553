package index

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

const (
	// leastPart is how many lanes a part of a tile has at least: fewer do not repay a goroutine.
	leastPart = 8
	// partsEach is how many parts there are for each processor, since some lanes take longer than others.
	partsEach = 4
)

// fillInParts makes the first lanes of a tile on all processors, part by part, and returns how many: none where they are few, and those
// before the first part that does not fit where they are too many. Those behind are for fillInTurn, which makes the same bytes.
func (t *tiler) fillInParts(lanes []int, most int) (done int, err error) {
	workers := min(runtime.GOMAXPROCS(0), len(lanes)/leastPart)
	if workers < 2 {
		return 0, nil
	}
	n := min(workers*partsEach, len(lanes)/leastPart)
	begins := func(k int) int { return k * len(lanes) / n }
	parts := make([]*tiler, n) // nil for those that do not fit
	var made atomic.Int64      // bytes
	var group errgroup.Group
	group.SetLimit(workers)
	for k := range parts {
		group.Go(func() error {
			if made.Load() > int64(most) {
				return nil // the parts before it are too many
			}
			p := takeTiler(t.lanesOf)
			p.level, p.shift, p.from, p.to = t.level, t.shift, t.from, t.to
			p.begin()
			part := lanes[begins(k):begins(k+1)]
			n, err := p.fillInTurn(part, most)
			made.Add(int64(len(p.out)))
			if err != nil || n < len(part) {
				p.giveBack()
				return err
			}
			parts[k] = p
			return nil
		})
	}
	err = group.Wait()
	fit := err == nil
	for k, p := range parts {
		if fit = fit && p != nil && t.add(p, most); fit {
			done = begins(k + 1)
		}
		if p != nil {
			p.giveBack()
		}
	}
	return done, err
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
