//go:build !amd64 && !arm64

package clock

const cycleCounter = None

func cycles() uint64        { return uint64(nanotime()) }
func orderedCycles() uint64 { return uint64(nanotime()) }

func invariantCounter() bool { return false }
