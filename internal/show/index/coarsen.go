package index

import (
	"cmp"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// Pages of coarse levels are made by all processors, a lane each, and put into the file in the order of lanes: they are the same whatever the
// number of processors. Until it is a lane's turn its pages wait in memory.
const (
	maxWaiting = 64 << 20  // bytes of all pages that wait
	batchBytes = 256 << 10 // bytes of pages that are handed over at once
)

// errStopped ends the work on other lanes when one has failed.
var errStopped = errors.New("index: stopped")

// laneTask is a lane whose coarse levels are made.
type laneTask struct {
	lane    int
	levels  []int
	batches chan []madePage // closed after the last
	c       *coarsener      // once batches is closed, as err
	err     error
}

// coarsen goes over all lanes once more and gives those that need it their coarse levels.
func (t *trees) coarsen(roots []laneRoot, lanes []*lane, of limits, highest int, bins int64) error {
	if err := t.flush(); err != nil {
		return err
	}
	x := &Index{pages: newPageReader(t.s.f, t.s.end, new(pageCache)), limits: of}
	workers := runtime.GOMAXPROCS(0)
	work, inOrder := make(chan *laneTask), make(chan *laneTask, workers)
	var stop atomic.Bool
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			w := walker{x: x}
			for k := range work {
				k.run(&w, &roots[k.lane], &stop)
			}
		})
	}
	group.Go(func() {
		defer close(inOrder)
		defer close(work)
		for i, l := range lanes {
			if levels := l.coarseLevels(roots[i].root.busy, itemsAStep, highest, bins); len(levels) > 0 {
				k := &laneTask{lane: i, levels: levels, batches: make(chan []madePage, max(maxWaiting/batchBytes/(workers+2), 1))}
				inOrder <- k // first: while all workers wait for their turn, the earliest lane's batches are taken
				work <- k
			}
		}
	})
	var failed error
	for k := range inOrder {
		err := k.put(lanes[k.lane].extent, &stop)
		if failed = cmp.Or(failed, err); failed == nil {
			roots[k.lane].coarse = k.c.coarse()
		}
	}
	group.Wait()
	if failed != nil {
		return failed
	}
	return t.flush()
}

// run makes the pages of a lane.
func (k *laneTask) run(w *walker, r *laneRoot, stop *atomic.Bool) {
	defer close(k.batches)
	var batch []madePage
	size := 0
	k.c = newCoarsener(r.kind, k.levels, func(m madePage) error {
		if stop.Load() {
			return errStopped
		}
		batch = append(batch, m)
		if size += len(m.body); size >= batchBytes {
			k.batches <- batch
			batch, size = nil, 0
		}
		return nil
	})
	k.err = cmp.Or(w.walk(r, k.c), k.c.finish())
	k.batches <- batch
}

// put gives the pages of a lane their places. It takes all of them in any case: else the lane's worker would wait forever.
func (k *laneTask) put(e *extent, stop *atomic.Bool) (err error) {
	for batch := range k.batches {
		for i := 0; i < len(batch) && err == nil; i++ {
			err = batch[i].put(e)
		}
		if err != nil {
			stop.Store(true)
		}
	}
	if err = cmp.Or(err, k.err); err != nil {
		stop.Store(true)
	}
	return err
}
