package ship

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
)

// looked is what a server says that it and its archive have.
type looked struct {
	from *peer
	answer
}

// lookAgain is how long a server that has not answered is let be.
const lookAgain = 2 * time.Second

// askReleased asks servers that are there what they have of files that are settled, if those that store this host do not have all of it. One after the other:
// a server remembers one request of a host.
func (s *Shipper) askReleased(ctx context.Context, all *errgroup.Group, now time.Time) {
	if !s.account.released.wanted || s.asking || s.copying {
		return
	}
	for _, p := range s.peers {
		if p.state == opening {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		p := s.peers[name]
		if s.account.released.told[p.name] != nil || now.Before(p.look) {
			continue
		}
		p.look, s.asking = now.Add(lookAgain), true
		request := wire.Open{Version: wire.Version, Session: s.o.Session, Trace: s.d.trace, Look: true}
		all.Go(func() error {
			l := looked{p, s.ask(ctx, p.name, request)}
			select {
			case s.told <- l:
			case <-ctx.Done():
			}
			return nil
		})
		return
	}
}

// released takes the answer.
func (s *Shipper) released(l looked) {
	s.asking = false
	if s.peers[l.from.name] != l.from || l.err != nil || l.answer.opened.Error != "" {
		return // it is asked again
	}
	told := make(map[string]int64, len(l.opened.Files))
	for _, f := range l.opened.Files {
		told[f.Name] = f.Have
		_, released := s.account.released.files[f.Name]
		l.from.holds = l.from.holds || released && f.Have > 0
		switch {
		case f.Name != wire.Metadata:
		case f.Sum != 0:
			l.from.document = f.Sum
		case f.Have == int64(len(s.d.metadata.data)): // of an archive only the size is known
			l.from.document = s.d.metadata.sum
		}
	}
	s.account.released.told[l.from.name] = told
	s.account.documented(l.from)
	s.account.review()
}
