package clock

import (
	"math"
	"sync"
	"time"
	_ "unsafe" // for nanotime
)

// Source is a clock of this machine that can be asked for the time. The numbers of the first four are those that the rings of
// sensors hold.
type Source uint8

// The sources. TSC and CNTVCT count cycles, the others nanoseconds.
const (
	None         Source = iota
	TSC                 // the time stamp counter of amd64
	CNTVCT              // the virtual count of arm64's Generic Timer
	MonotonicRaw        // CLOCK_MONOTONIC_RAW: since boot, never adjusted
	Monotonic           // CLOCK_MONOTONIC: since boot, its rate adjusted to the world's
	Realtime            // CLOCK_REALTIME: since 1970, UTC, set and adjusted
	TAI                 // CLOCK_TAI: Realtime without leap seconds; the same as Realtime unless the kernel was told how many
)

var sourceNames = [...]string{"none", "TSC", "CNTVCT", "MONOTONIC_RAW", "MONOTONIC", "REALTIME", "TAI"}

// String returns the name of the source, as the kernel has it without CLOCK_: "TSC", "MONOTONIC_RAW".
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown source"
}

// MarshalText writes the source's name.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// CountsCycles says that the source is a counter of the processor, whose frequency must be measured; the others count ns.
func (s Source) CountsCycles() bool { return s == TSC || s == CNTVCT }

// Available says whether this machine has the source.
func (s Source) Available() bool {
	switch s {
	case TSC, CNTVCT:
		return s == cycleCounter
	case MonotonicRaw, TAI:
		_, ok := kernelTime(s)
		return ok
	case Monotonic, Realtime:
		return true
	}
	return false
}

// Now reads the source: cycles or nanoseconds, 0 where it is not available.
//
// MONOTONIC and REALTIME are read without entering the kernel (vDSO), as the runtime does it for its own purposes. For RAW and
// TAI the kernel has the same to offer, but a call from Go must first change to a stack of the system's, which only
// the runtime can; they cost a system call, some 210 ns against 30 ns. Calling the vDSO on a goroutine's stack works
// until a kernel needs more of it than was measured, and is left to others.
func (s Source) Now() uint64 {
	switch s {
	case TSC, CNTVCT:
		if s == cycleCounter {
			return cycles()
		}
	case Monotonic:
		return uint64(nanotime())
	case Realtime:
		return uint64(time.Now().UnixNano())
	case MonotonicRaw, TAI:
		ns, _ := kernelTime(s)
		return uint64(ns)
	}
	return 0
}

// ordered reads the source so that two readings enclose what lies between them.
func (s Source) ordered() uint64 {
	if s.CountsCycles() && s == cycleCounter {
		return orderedCycles()
	}
	return s.Now() // each of them is ordered by the kernel
}

// nanotime is CLOCK_MONOTONIC on Linux, the system's own monotonic clock elsewhere. The package time offers only its
// difference to an instant that it keeps to itself. The runtime promises to keep the name (go.dev/issue/67401).
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// grains are the steps of the sources, measured when first asked for.
var grains [TAI + 1]func() int64

func init() {
	for s := range grains {
		grains[s] = sync.OnceValue(func() int64 { return grain(Source(s).Now) })
	}
}

// Grain returns by how much the time may be beyond what the source shows, in its own unit: when it shows v, the time is from
// v up to v+Grain. It is measured, because no interface tells: a TSC may count by 26, and a clock in nanoseconds made from
// it then goes by 10 ns. The answer is up to 3 units too long, never too short.
func (s Source) Grain() int64 {
	if int(s) >= len(grains) {
		return math.MaxInt64
	}
	return grains[s]()
}
