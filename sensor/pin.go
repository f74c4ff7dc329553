//go:build !race && !meridian_nopin

package sensor

import (
	"runtime"
	_ "unsafe" // for linkname
)

// While a goroutine is pinned the scheduler takes neither its thread's processor (P) away nor lets another goroutine run there,
// so that what belongs to the P has one user, as sync.Pool does it: two calls of a nanosecond instead of an atomic exchange of
// five. Nothing between may block. The runtime keeps both functions for packages that link to them (go.dev/issue/67401);
// a Go that no longer does is built for with -tags meridian_nopin.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

// enter returns a shard that is the goroutine's alone until leave, nil if there is none. It must stay within the inliner's
// budget, of which it leaves little: so it asks no condition, and finds nil at the end of shards for processors beyond.
func enter() *shard { return shards[min(uint(procPin()), maxShards)].Load() }

// leave follows every enter.
func leave(*shard) { procUnpin() }

// enterNew is enter where that found none: it makes the processor's shard. Nil needs no leave.
func enterNew() *shard {
	for { // the goroutine may find itself on another processor each time, but there are not more of these than shards
		leave(nil)
		r := running.Load()
		i := procPin()
		procUnpin()
		if r == nil {
			return nil
		}
		if r.open(i) == nil {
			lost.Add(1)
			return nil
		}
		if s := enter(); s != nil {
			return s
		}
	}
}

// retire returns when no goroutine is between enter and leave with one of the shards, which can no longer be entered. It
// stops the world for an instant, which waits for goroutines that are pinned.
func retire([]*shard) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
}
