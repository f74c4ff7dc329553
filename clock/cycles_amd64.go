package clock

const cycleCounter = TSC

//go:noescape
func cycles() uint64

//go:noescape
func orderedCycles() uint64

// cpuid asks the processor what it is; see Intel's SDM, volume 2, or AMD's APM, volume 3.
//
//go:noescape
func cpuid(leaf, part uint32) (a, b, c, d uint32)

// invariantCounter says whether the processor announces a counter that runs at one rate through all states of power:
// leaf 8000_0007H, bit 8 of EDX.
func invariantCounter() bool { return announcesInvariant(cpuid) }

func announcesInvariant(cpuid func(leaf, part uint32) (a, b, c, d uint32)) bool {
	if most, _, _, _ := cpuid(0x8000_0000, 0); most < 0x8000_0007 {
		return false
	}
	_, _, _, d := cpuid(0x8000_0007, 0)
	return d&(1<<8) != 0
}
