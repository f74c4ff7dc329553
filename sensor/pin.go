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

// enter returns a shard that is the goroutine's alone until leave, nil if there is none.
func enter() *shard { return shards[procPin()&(maxShards-1)].Load() }

// leave follows every enter.
func leave(*shard) { procUnpin() }

// enterNew is enter where that found none: it makes the processor's shard. Nil needs no leave.
func enterNew() *shard {
	for range 64 { // the goroutine may find itself on another processor each time
		leave(nil)
		r := running.Load()
		i := procPin() & (maxShards - 1)
		procUnpin()
		if r == nil {
			break
		}
		if r.open(i) == nil {
			lost.Add(1)
			break
		}
		if s := enter(); s != nil {
			return s
		}
	}
	return nil
}

// retire returns when nobody is between enter and leave who has one of the shards, which no longer can be entered. It
// stops the world for an instant, which waits for those that are pinned.
func retire([]*shard) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
}
