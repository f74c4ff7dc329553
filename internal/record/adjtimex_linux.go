package record

import (
	"golang.org/x/sys/unix"

	"meridian/clock"
	"meridian/internal/steering"
)

// ADJ_OFFSET_SS_READ: what adjtime(3) has still to pay, without changing it.
const adjtimeRead = 0xa001

// status bits of adjtimex: the loop's offset is in ns and not in µs.
const offsetInNs = 0x2000 // STA_NANO

// kernelState asks the kernel how it steers its clocks. That needs no privilege, but a sandbox may forbid it.
func kernelState() steering.Kernel {
	var x unix.Timex
	state, err := unix.Adjtimex(&x)
	if err != nil {
		return steering.Kernel{}
	}
	k := steering.Kernel{
		Known: true, Freq: int64(x.Freq), Tick: int64(x.Tick), Offset: int64(x.Offset), Constant: int64(x.Constant), Status: int64(x.Status),
		State: int64(state), MaxError: int64(x.Maxerror), EstError: int64(x.Esterror), TAI: int64(x.Tai),
	}
	if x.Status&offsetInNs == 0 {
		k.Offset *= 1000
	}
	rest := unix.Timex{Modes: adjtimeRead}
	if _, err := unix.Adjtimex(&rest); err != nil {
		return steering.Kernel{}
	}
	k.Adjust = int64(rest.Offset)
	return k
}

// suspended returns CLOCK_BOOTTIME less CLOCK_MONOTONIC to a microsecond or so, ns: for how long the machine was suspended.
func suspended() int64 {
	var t unix.Timespec
	before := int64(clock.Monotonic.Now())
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	after := int64(clock.Monotonic.Now())
	return t.Nano() - before - (after-before)/2
}
