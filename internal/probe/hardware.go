package probe

import "math"

// PHC is the clock of a network interface (PTP hardware clock), by which it stamps datagrams.
type PHC interface {
	// Read reads it: it showed phc at an instant between before and after on REALTIME. All are ns.
	Read() (phc, before, after int64, err error)
	// Close gives it back as it was before.
	Close() error
}

// hardware leads from the stamps of an interface to REALTIME, by readings of both clocks as the stamps come.
//
//	REALTIME      ^            .o newest reading, known to half its bracket
//	              |         .'  \ the stamp, before it
//	              |      .o        earlier reading: how fast the PHC runs, and whether it was set
//	              +------------------> PHC
type hardware struct {
	phc           PHC
	newest, older phcReading
}

type phcReading struct{ phc, wall, error int64 }

const (
	maxPHCRate  = 1e-4         // by how much the PHC's rate may change against REALTIME's between two readings
	maxPHCDrift = 2e-3         // a faster one was set
	maxPHCAge   = int64(2e9)   // ns between a stamp and the reading
	maxApart    = int64(100e6) // ns between the stamps of an interface and the kernel: the latter is never so late
)

// read takes a reading.
func (h *hardware) read() {
	phc, before, after, err := h.phc.Read()
	if err != nil || after < before {
		return
	}
	// A reading shows the rate only beside one that lies long before.
	if phc-h.older.phc > 100_000_000 || phc < h.newest.phc {
		h.older = h.newest
	}
	h.newest = phcReading{phc, before + (after-before)/2, (after-before+1)/2 + 1}
}

// wall leads a stamp to REALTIME; false if the readings do not reach it or show that a clock was set.
func (h *hardware) wall(stamp int64) (wall, error int64, ok bool) {
	a, b := h.older, h.newest
	distance := stamp - b.phc
	if b == (phcReading{}) || distance > maxPHCAge || distance < -maxPHCAge {
		return 0, 0, false
	}
	mean := maxPHCDrift // until there are two readings
	if a != (phcReading{}) {
		span, gained := b.phc-a.phc, (b.wall-a.wall)-(b.phc-a.phc)
		gained = max(gained, -gained)
		if span <= 0 || float64(gained) > float64(span)*maxPHCDrift+float64(a.error+b.error) {
			return 0, 0, false
		}
		mean = float64(gained+a.error+b.error) / float64(span)
	}
	return b.wall + distance, b.error + int64(math.Ceil(math.Abs(float64(distance))*(min(mean, maxPHCDrift)+maxPHCRate))), true
}
