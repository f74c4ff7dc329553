package ship

import (
	"context"
	"time"

	"meridian/internal/live/watch"
)

// watch says when the directory may have grown. What is written waits for more meanwhile. While each look finds that the directory has grown, nothing
// watches it: every write would wake the process during the pause, and tell nothing.
func (s *Shipper) watch(ctx context.Context) error {
	w := s.o.Watcher
	if w == nil {
		w = watch.New()
	}
	w.Add(s.o.Dir)
	for w.Wait(ctx, 0, lookEvery) == nil {
		s.grew.Store(false)
		s.look(ctx)
		for flows := w.Grown(); flows && s.grew.Swap(false) && w.Sleep(ctx, 0) == nil; {
			s.look(ctx)
		}
	}
	return w.Close()
}

// look has the directory looked at, and pauses.
func (s *Shipper) look(ctx context.Context) {
	word(s.words)
	s.rest(ctx)
}

// rest pauses for Every, and for behindEvery from when more waits than may be on the way, if that ends earlier.
func (s *Shipper) rest(ctx context.Context) {
	end := time.NewTimer(s.o.Every)
	defer end.Stop()
	var short <-chan time.Time
	fell := s.fell
	for {
		if s.behind.Load() && short == nil {
			short, fell = time.After(behindEvery), nil
		}
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-short:
			return
		case <-fell:
		}
	}
}

// isBehind notes whether more waits than may be on the way.
func (s *Shipper) isBehind(is bool) {
	if s.behind.Swap(is) != is && is {
		word(s.fell)
	}
}

// word puts a word into a channel that has room for one.
func word(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default: // one is there
	}
}
