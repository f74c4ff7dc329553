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

// fillInParts makes the lanes of a tile on all processors. It reports false where they are few, or are more than fit: fill then makes
// them one after the other. Both make the same bytes.
func (t *tiler) fillInParts(lanes []int, most int) (filled bool, err error) {
	workers := min(runtime.GOMAXPROCS(0), len(lanes)/leastPart)
	if workers < 2 {
		return false, nil
	}
	n := min(workers*partsEach, len(lanes)/leastPart)
	parts := make([]*tiler, n)
	var next atomic.Int64
	var tooMany atomic.Bool
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				part := lanes[k*len(lanes)/n : (k+1)*len(lanes)/n]
				p := takeTiler(t.lanesOf)
				parts[k] = p
				p.level, p.shift, p.from, p.to = t.level, t.shift, t.from, t.to
				done, err := p.fillInTurn(part, most)
				if err != nil || done < len(part) {
					tooMany.Store(true)
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	t.begin()
	for _, p := range parts {
		if p == nil {
			continue
		}
		if !tooMany.Load() {
			t.add(p)
		}
		p.giveBack()
	}
	return !tooMany.Load() && len(t.out)+tileHead <= most, err
}

// add puts the lanes of a part behind those that are there.
func (t *tiler) add(p *tiler) {
	t.final = t.final && p.final
	if p.lanes == 0 {
		return
	}
	distance, length := binary.Uvarint(p.out) // of the first lane from -1
	t.out = binary.AppendUvarint(t.out, uint64(int(distance)-1-t.number))
	t.out = append(t.out, p.out[length:]...)
	t.lanes, t.number = t.lanes+p.lanes, p.number
}
