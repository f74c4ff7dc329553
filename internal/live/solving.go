package live

import (
	"context"

	alignlive "meridian/align/live"
)

// solving is a round of the alignment that is solved in a goroutine of the session, while steps go on.
type solving struct {
	work   *alignlive.Work
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
}

// round goes on with the alignment. Beside the steps of [Session.Run] a round is begun at one step, and applied at the first one
// after it was solved, for which its end wakes the session. Otherwise it is made at once, after the one that is being solved, if any. Asked makes one that is not due.
func (s *Session) round(ctx context.Context, asked bool) (err error) {
	beside := s.beside && !s.behind
	alignlive.AwaitReference(s.clocks, s.warming)
	if w := s.solving; w != nil {
		if beside {
			select {
			case <-w.done:
			default:
				return nil
			}
		}
		<-w.done
		w.cancel()
		s.solving = nil
		if _, err := s.clocks.Apply(w.work); err != nil {
			return err
		}
	}
	if !beside {
		if asked {
			_, err = s.clocks.Round(ctx)
		} else {
			_, err = s.clocks.Advance(ctx)
		}
		return err
	}
	work := s.clocks.Prepare(asked)
	if work == nil {
		return nil
	}
	w := &solving{work: work, done: make(chan struct{})}
	ctx, w.cancel = context.WithCancel(ctx)
	s.solving = w
	go func() {
		if s.watcher != nil {
			defer s.watcher.Wake() // after done is closed: the step that follows applies the round
		}
		defer close(w.done)
		work.Solve(ctx)
	}()
	return nil
}

// abandon ends the round that is being solved, and waits for its goroutine.
func (s *Session) abandon() {
	if w := s.solving; w != nil {
		w.cancel()
		<-w.done
		s.solving = nil
	}
}
