package clock

import "time"

// way is one way to ask for the time, and what it was found to cost.
type way struct {
	name, way string
	clock     Source
	loop      func(n int) uint64 // asks n times, the call standing there as it would in a program, and adds up what it was told
	read      func() uint64      // what the call tells; nil if that is not the time
	counts    bool               // it tells cycles, not ns
	stamps    bool               // how sensors ask for this clock

	batch      int
	warm, cold []float64
	step       int64
}

// allCalls lists the ways of this machine, the counter converting at hz.
func allCalls(hz uint64) []way {
	var list []way
	if cycleCounter != None {
		list = append(list,
			way{name: "Cycles", way: "instruction", clock: cycleCounter, counts: true, stamps: true, read: Cycles, loop: func(n int) (v uint64) {
				for range n {
					v += Cycles()
				}
				return v
			}},
			way{name: "OrderedCycles", way: "instruction", clock: cycleCounter, counts: true, read: OrderedCycles, loop: func(n int) (v uint64) {
				for range n {
					v += OrderedCycles()
				}
				return v
			}},
			way{name: "Cycles, converted to ns", way: "instruction", clock: cycleCounter,
				read: func() uint64 { return uint64(ToNs(Cycles(), hz)) },
				loop: func(n int) (v uint64) {
					for range n {
						v += uint64(ToNs(Cycles(), hz))
					}
					return v
				}})
	}
	list = append(list, bySource(Monotonic, quickWay), bySource(Realtime, quickWay))
	for _, s := range []Source{MonotonicRaw, TAI} {
		if s.Available() {
			list = append(list, bySource(s, "system call"))
		}
	}
	list = append(list, way{name: "time.Now", way: quickWay, clock: Realtime, read: func() uint64 { return uint64(time.Now().UnixNano()) }, loop: func(n int) (v uint64) {
		for range n {
			v += uint64(time.Now().Nanosecond())
		}
		return v
	}})
	list = append(list, systemCalls()...)
	return append(list, way{name: "Take: all clocks beside the counter", way: "several", loop: func(n int) (v uint64) {
		counter := Best().Source
		for range n {
			s := Take(counter)
			v += s.TAI.Counter
		}
		return v
	}})
}

// bySource asks one of the sources that count ns.
func bySource(s Source, through string) way {
	return way{name: s.String(), way: through, clock: s, stamps: true, read: s.Now, loop: func(n int) (v uint64) {
		for range n {
			v += s.Now()
		}
		return v
	}}
}
