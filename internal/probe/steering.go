package probe

import (
	"sync"

	"meridian/internal/steering"
)

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
	k := steering.ReadKernel()
	steered.Lock()
	defer steered.Unlock()
	if !k.Known || k.Offset != 0 || k.Adjust != 0 || k.Status&ppsSteers != 0 {
		steered.known = false
		return 0
	}
	if r := (kernelRate{k.Freq, k.Tick}); !steered.known || r != steered.rate {
		steered.rate, steered.known = r, true
		if steered.count++; steered.count == 0 {
			steered.count = 1
		}
	}
	return steered.count
}
