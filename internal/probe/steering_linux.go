package probe

import (
	"sync"

	"golang.org/x/sys/unix"
)

// adjtimeRead is ADJ_OFFSET_SS_READ: what adjtime(3) has still to pay, without changing it.
const adjtimeRead = 0xa001

// ppsSteers is STA_PPSFREQ | STA_PPSTIME: a pulse per second steers.
const ppsSteers = 0x0002 | 0x0004

// kernelRate is what REALTIME's rate against MONOTONIC_RAW depends on, while nothing is left to slew.
type kernelRate struct{ freq, tick int64 }

// steered counts how often the kernel was found to steer in another way. It is of the machine, so one serves all.
var steered struct {
	sync.Mutex
	rate  kernelRate
	known bool
	count uint8
}

// Steering returns a number, 1 to 255 and around, that changes when REALTIME's rate is found changed; 0 while the rate is not known
// or changes by itself: when a slew is on its way, or a pulse per second steers. A change that was taken back since the last call is not
// seen.
func (c systemClock) Steering() uint8 {
	var x unix.Timex
	rest := unix.Timex{Modes: adjtimeRead}
	_, err := unix.Adjtimex(&x)
	if err == nil {
		_, err = unix.Adjtimex(&rest)
	}
	steered.Lock()
	defer steered.Unlock()
	if err != nil || x.Offset != 0 || rest.Offset != 0 || x.Status&ppsSteers != 0 {
		steered.known = false
		return 0
	}
	if r := (kernelRate{int64(x.Freq), int64(x.Tick)}); !steered.known || r != steered.rate {
		steered.rate, steered.known = r, true
		if steered.count++; steered.count == 0 {
			steered.count = 1
		}
	}
	return steered.count
}
