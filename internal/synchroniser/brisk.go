package synchroniser

import (
	"sync"

	"meridian/align/online"
	"meridian/internal/probe"
)

// Brisk is the synchroniser of BRISK (online.Brisk) over this host and those that it asks. It corrects no clock: it says by how much each
// would have been advanced.
type Brisk struct {
	mu    sync.Mutex
	group *online.Brisk
}

// NewBrisk returns one over this host and others. threshold is in ns: above it clocks advance by all they are behind.
func NewBrisk(others int, threshold int64) (*Brisk, error) {
	group, err := online.NewBrisk(others+1, threshold)
	if err != nil {
		return nil, err
	}
	return &Brisk{group: group}, nil
}

// Take adds a sample to the round. A sample that the estimator cannot use is left out.
func (b *Brisk) Take(host int, x probe.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.group.Exchange(host+1, online.Exchange{Sent: x.T1.Time, Received: x.T2.Time, Replied: x.T3.Time, Returned: x.T4.Time})
	t := x.T1.Time
	_ = b.group.Exchange(0, online.Exchange{Sent: t, Received: t, Replied: t, Returned: t}) // this host is one of them
}

// Round ends a round.
func (b *Brisk) Round() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.group.Round()
}

// Correction returns by how much more a host's clock is advanced than this host's; false before the first round.
func (b *Brisk) Correction(host int) (ns int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.group.Correction(host+1) - b.group.Correction(0), b.group.Rounds() > 0
}
