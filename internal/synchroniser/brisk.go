package synchroniser

import (
	"sync"
	"time"

	"meridian/align/online"
	"meridian/clock"
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

const (
	briskRound     = 5 * time.Second // as its authors have it
	briskThreshold = int64(100_000)  // ns
)

// briskTake feeds a sample to the rounds, and ends a round where it is time.
func (s *Synchroniser) briskTake(x probe.Sample) {
	if s.brisk == nil || x.Late != (x.T2.Kind > probe.User) {
		return
	}
	s.brisk.Take(x.Host, x)
	switch now := x.T4.Time; {
	case s.round == 0:
		s.round = now
	case clock.Sub(now, s.round) >= int64(s.every):
		s.brisk.Round()
		s.round = now
	}
}

// briskSay puts the estimate that is in the corrections in the place of the default method's: clocks that were advanced by c1 and c2 are taken
// for equal, so that they are c1 - c2 apart. The bound stays the strict one, whatever the estimate.
func (s *Synchroniser) briskSay(host int, state *State) {
	if s.brisk == nil {
		return
	}
	state.Method, state.Skew = BriskMethod, 0
	c, ok := s.brisk.Correction(host)
	if state.Estimated = state.Estimated && ok; !ok {
		return
	}
	state.System.Offset = clock.Add(state.System.Offset, -c-state.Free.Offset)
	state.Free.Offset = -c
}
