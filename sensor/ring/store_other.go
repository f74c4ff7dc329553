//go:build !amd64 || race

package ring

import "sync/atomic"

// publish stores v for the reader behind all that was stored before: on arm64 an STLR.
func publish(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
