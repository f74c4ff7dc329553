package clock

const cycleCounter = CNTVCT

//go:noescape
func cycles() uint64

//go:noescape
func orderedCycles() uint64

// invariantCounter: the Generic Timer counts at one rate by definition (Arm ARM, The Generic Timer), whatever the processor does.
func invariantCounter() bool { return true }
