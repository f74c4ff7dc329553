//go:build race

package sensor

import "sync/atomic"

// gate is read atomically, by emit and not before.
type gate struct {
	on     *uint32 // unused
	target atomic.Pointer[uint32]
}

const raced = true

func (g *gate) open() bool { return atomic.LoadUint32(g.target.Load()) != 0 }

func (g *gate) lead(to *uint32) { g.target.Store(to) }

func (g *gate) where() *uint32 { return g.target.Load() }
