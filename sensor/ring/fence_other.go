//go:build !amd64 && !arm64

package ring

import "sync/atomic"

var fenced atomic.Uint32

// fence keeps all loads and stores behind it behind all those before it: so does an atomic addition, as Go makes it.
func fence() { fenced.Add(1) }
