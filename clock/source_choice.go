package clock

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Choice is the source that sensors stamp with on this machine, and why.
type Choice struct {
	Source    Source `json:"source"`
	Invariant bool   `json:"invariant"` // the processor's counter runs at one rate, by its own word
	Kernel    string `json:"kernel"`    // what the kernel keeps its own time by; empty where it does not tell
	Why       string `json:"why"`
}

// Best chooses the source for stamps: the processor's counter where it can be trusted, else MONOTONIC_RAW, else MONOTONIC. It
// is decided at the first call and stays.
func Best() Choice { return best() }

var best = sync.OnceValue(func() Choice {
	const dir = "/sys/devices/system/clocksource/clocksource0/"
	read := func(name string) string {
		text, err := os.ReadFile(dir + name)
		if err != nil {
			return "" // no such kernel, or hidden from us
		}
		return strings.TrimSpace(string(text))
	}
	return choose(machine{
		counter: cycleCounter, invariant: invariantCounter(), raw: MonotonicRaw.Available(), system: runtime.GOOS,
		current: read("current_clocksource"), available: strings.Fields(read("available_clocksource")),
	})
})

// machine is what the choice depends on.
type machine struct {
	counter   Source
	invariant bool
	raw       bool // MONOTONIC_RAW is there
	system    string
	current   string
	available []string
}

// choose decides. On arm64 the counter is the architecture's clock, one for all processors. A TSC must be announced as
// invariant, which says nothing of whether those of all processors agree: that the kernel watches, and strikes the TSC
// from the list of what it would keep time by as soon as it does not (clocksource_mark_unstable). So a TSC that is still on the
// list is good even where the kernel keeps time by another source, such as kvm-clock in a guest, which is made from the
// TSC too. A guest that moves to a host of another frequency changes its TSC's; snapshots show it.
func choose(m machine) Choice {
	c := Choice{Source: m.counter, Invariant: m.invariant, Kernel: m.current}
	var bad string
	switch {
	case m.counter == CNTVCT:
		c.Why = "CNTVCT runs at one rate on all processors, by the architecture"
		return c
	case m.counter == None:
		bad = "Meridian knows no cycle counter of this architecture"
	case !m.invariant:
		bad = "the processor does not announce an invariant TSC"
	case m.system != "linux":
		bad = "the TSC is invariant, but only Linux tells whether all processors agree on it"
	case m.current == "":
		bad = "the TSC is invariant, but the kernel's clock sources cannot be read (/sys), so it is unknown whether all processors agree on it"
	case m.current == "tsc":
		c.Why = "the TSC is invariant and the kernel keeps its own time by it"
		return c
	case slices.Contains(m.available, "tsc"):
		c.Why = "the TSC is invariant and the kernel finds it good, though it keeps time by " + m.current
		return c
	default:
		bad = "the TSC is announced as invariant, but the kernel has struck it from its clock sources and keeps time by " + m.current
	}
	c.Source = Monotonic
	if m.raw {
		c.Source = MonotonicRaw
	}
	c.Why = bad
	return c
}
