package steering

import "golang.org/x/sys/unix"

// ADJ_OFFSET_SS_READ: what adjtime(3) has still to pay, without changing it.
const adjtimeRead = 0xa001

// status bits of adjtimex: the loop's offset is in ns and not in µs.
const offsetInNs = 0x2000 // STA_NANO

// ReadKernel asks the kernel how it steers its clocks. That needs no privilege, but a sandbox may forbid it.
func ReadKernel() Kernel {
	var x unix.Timex
	state, err := unix.Adjtimex(&x)
	if err != nil {
		return Kernel{}
	}
	k := Kernel{
		Known: true, Freq: int64(x.Freq), Tick: int64(x.Tick), Offset: int64(x.Offset), Constant: int64(x.Constant), Status: int64(x.Status),
		State: int64(state), MaxError: int64(x.Maxerror), EstError: int64(x.Esterror), TAI: int64(x.Tai),
	}
	if x.Status&offsetInNs == 0 {
		k.Offset *= 1000
	}
	rest := unix.Timex{Modes: adjtimeRead}
	if _, err := unix.Adjtimex(&rest); err != nil {
		return Kernel{}
	}
	k.Adjust = int64(rest.Offset)
	return k
}
