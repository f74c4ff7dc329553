package ship

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
)

// Times of a request.
const (
	openWithin = 5 * time.Second // a server may sync much before it answers
	askAgain   = 2 * time.Second // request or answer may be lost, where a server or a broker was killed
)

// maxParts bounds in how many parts a server answers. Each has a file at least.
const maxParts = 1 << 16

// ask asks a server to store this host, and returns what it has.
func (s *Shipper) ask(ctx context.Context, server string, request wire.Open) answer {
	a := answer{from: server}
	for range maxParts {
		part, err := s.request(ctx, server, request)
		a.opened.Files, a.opened.Error, a.err = append(a.opened.Files, part.Files...), part.Error, err
		if err != nil || part.Error != "" || !part.More || len(part.Files) == 0 {
			break
		}
		request.After = part.Files[len(part.Files)-1].Name
	}
	return a
}

// request sends a request, and again after a while: a server answers each, and any of its answers will do.
func (s *Shipper) request(ctx context.Context, server string, request wire.Open) (wire.Opened, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	inbox := s.o.Conn.NewInbox()
	answers := make(chan *nats.Msg, 16) // more are not needed
	sub, err := s.o.Conn.Subscribe(inbox, 0, func(m *nats.Msg) {
		select {
		case answers <- m:
		default:
		}
	})
	if err != nil {
		return wire.Opened{}, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	subject, b := wire.OfHostServer(s.o.Host, "open", server), wire.Encode(request)
	for {
		if err := s.o.Conn.PublishRequest(subject, inbox, b); err != nil {
			return wire.Opened{}, err
		}
		again := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			again.Stop()
			return wire.Opened{}, ctx.Err()
		case m := <-answers:
			again.Stop()
			if len(m.Data) == 0 {
				return wire.Opened{}, nats.ErrNoResponders // by which the broker answers
			}
			return wire.Decode[wire.Opened](m.Data)
		case <-again.C:
		}
	}
}

// askSums asks a server that stores this host for the checksums of what it has.
func (s *Shipper) askSums(ctx context.Context, all *errgroup.Group, p *peer, now time.Time) {
	if now.Before(s.sumsAfter) {
		return
	}
	s.sumsAfter = now.Add(openWithin + retryAfter) // or when it has answered
	request := wire.Open{Version: wire.Version, Session: s.o.Session, Trace: s.d.trace}
	all.Go(func() error {
		a := s.ask(ctx, p.name, request)
		a.sums = true
		select {
		case s.opened <- a:
		case <-ctx.Done():
		}
		return nil
	})
}

// sums takes the answer.
func (s *Shipper) sums(a answer, now time.Time) {
	s.sumsAfter = now.Add(retryAfter)
	p := s.peers[a.from]
	if p == nil || p.state != open || a.err != nil || a.opened.Error != "" {
		return
	}
	states := make(map[string]wire.State, len(a.opened.Files))
	for _, x := range a.opened.Files {
		states[x.Name] = x
	}
	for name, at := range p.files {
		switch x := states[name]; {
		case s.d.files[name] != nil || at.unsure || !at.cutting.IsZero():
		case x.Have < at.have: // it has another disk, and is asked anew
			s.rests(p, now)
			return
		default:
			p.gone[name] = x
		}
	}
}
