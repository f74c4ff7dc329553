//go:build race || meridian_nopin

package sensor

import (
	"runtime"
	"unsafe"
)

// Without pinning, a shard is claimed by an atomic exchange. The race detector, which knows nothing of pinning, sees by it
// which goroutine has a shard when.

// enter returns a shard that is the goroutine's alone until leave, nil if there is none.
func enter() *shard {
	// Goroutines have stacks of their own, so begin where others likely do not.
	var here byte
	n := uint32(uintptr(unsafe.Pointer(&here)) >> 11)
	for {
		count := shardCount.Load()
		if count == 0 {
			return nil
		}
		for range count {
			n++
			s := shards[n%count].Load()
			if s == nil {
				if r := running.Load(); r != nil {
					s = r.open(int(n % count))
				}
			}
			if s != nil && s.busy.CompareAndSwap(0, 1) {
				return s
			}
		}
		runtime.Gosched()
	}
}

// enterNew is for where shards belong to processors; here enter has made what there can be.
func enterNew() *shard { return nil }

// leave follows every enter.
func leave(s *shard) {
	if s != nil {
		s.busy.Store(0)
	}
}

// retire returns when no goroutine has one of the shards, which can no longer be entered.
func retire(all []*shard) {
	for _, s := range all {
		for !s.busy.CompareAndSwap(0, 1) {
			runtime.Gosched()
		}
	}
}
