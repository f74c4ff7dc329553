package publish

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"meridian/internal/collect/wire"
)

// Times of publishing.
const (
	beatEvery  = 250 * time.Millisecond // how often it is asked whether anybody listens
	beatsAwait = 4                      // where somebody does: of so many beats one is sent
	retryEvery = 50 * time.Millisecond  // while the broker is away
)

// subject is what is published on a subject of NATS.
type subject struct {
	r       *run
	conn    *nats.Conn
	name    string
	feed    *feed
	ask     string // where the broker says that nobody got a message
	beats   int
	asked   uint64 // messages since the last beat of which the broker says whether nobody got them
	joined  bool
	place   place
	fresh   bool // nothing was published since somebody listens
	pending bool // a round goes on

	mu      sync.Mutex
	round   uint64 // counts beats
	refused uint64 // of asked, those that nobody got
}

// refuse notes that nobody got a message of a round.
func (s *subject) refuse(round string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if round == strconv.FormatUint(s.round, 10) {
		s.refused++
	}
}

// nobody says whether nobody got any message of the round.
func (s *subject) nobody() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked > 0 && s.refused >= s.asked
}

// publish publishes the timeline until ctx ends. Its feed has been joined.
func (r *run) publish(ctx context.Context, conn *nats.Conn) {
	inbox := conn.NewInbox()
	session := r.t.session
	all := map[string]*subject{
		"json": {name: wire.OfSession(session, wire.EventsJSON), feed: r.lines.feed},
		"ctf":  {name: wire.OfSession(session, wire.EventsCTF), feed: r.ctf.feed},
	}
	sub, err := conn.Subscribe(inbox+".*.*", func(m *nats.Msg) {
		token, round, _ := strings.Cut(strings.TrimPrefix(m.Subject, inbox+"."), ".")
		if s := all[token]; s != nil && m.Header.Get("Status") == "503" {
			s.refuse(round)
		}
	})
	if err != nil {
		r.t.p.o.Log("timeline of session %s is not published: %v", session, err)
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	for token, s := range all {
		s.joined, s.place = true, place{1, 1}
		s.r, s.conn, s.ask = r, conn, inbox+"."+token+"."
	}
	described, err := conn.Subscribe(wire.MetadataOf(r.id), r.describe)
	if err != nil {
		r.t.p.o.Log("timeline of session %s: the metadata of its packets is not published: %v", session, err)
		return
	}
	defer func() { _ = described.Unsubscribe() }()
	var readers sync.WaitGroup
	for _, s := range all {
		readers.Go(func() { s.run(ctx) })
	}
	readers.Go(func() { r.tell(ctx, conn) })
	readers.Wait()
}

// metadataPiece is how many bytes of metadata an answer has at most. Brokers carry 1 MiB unless they are told otherwise.
const metadataPiece = 256 << 10

// describe answers a request for the metadata of packets from an offset on, decimal digits.
func (r *run) describe(m *nats.Msg) {
	if err := wire.CheckReply(m.Subject, m.Reply); err != nil {
		r.t.p.o.Log("%s: refused: %v", m.Subject, err)
		return
	}
	answer := nats.NewMsg(m.Reply)
	from, err := strconv.ParseUint(string(m.Data[:min(len(m.Data), 20)]), 10, 64)
	if err == nil {
		answer.Data, err = r.packets.describe(from, int(min(metadataPiece, r.t.p.o.Conn.MaxPayload()/2)))
	}
	if err != nil {
		answer.Header.Set(micro.ErrorCodeHeader, "400")
		answer.Header.Set(micro.ErrorHeader, err.Error())
	}
	_ = r.t.p.o.Conn.PublishMsg(answer) // whoever gets none asks again
}

// tell publishes the state.
func (r *run) tell(ctx context.Context, conn *nats.Conn) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for {
		_ = conn.Publish(wire.OfSession(r.t.session, wire.SessionHosts), wire.Encode(r.state.Load())) // a broker that is away gets the next
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// run publishes what comes into the feed while anybody listens. Until the broker has said that nobody does, somebody may.
func (s *subject) run(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	s.beat()
	for {
		var wait <-chan struct{}
		if s.joined {
			var messages []*message
			messages, s.place, wait = s.feed.read(s.place)
			for _, m := range messages {
				if !s.send(ctx, m) {
					return
				}
				s.fresh = false
			}
			if len(messages) > 0 {
				wait = always
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.listen()
		case <-wait:
		}
	}
}

// always is a channel that has something at any time.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// listen notes whether anybody listens, and asks again. Nobody does if nobody got any message since the beat: one who came in between has a part of them,
// and gets all others.
func (s *subject) listen() {
	if s.pending {
		s.pending = false
		switch nobody := s.nobody(); {
		case nobody && s.joined:
			s.joined = false
			s.feed.leave(false)
		case !nobody && !s.joined:
			s.joined = true
			s.place, s.fresh = s.feed.end(), true
			s.feed.join()
		}
	}
	if s.beats++; !s.joined || s.beats%beatsAwait == 0 {
		s.beat()
	}
}

// beat publishes a message without events, which says the numbers of the next one. The broker answers if nobody listens.
func (s *subject) beat() {
	s.mu.Lock()
	s.round++
	s.refused, s.asked, s.pending = 0, 0, true
	s.mu.Unlock()
	m := s.message(&message{serial: s.place.serial, first: s.place.event})
	if !s.joined || s.fresh { // events are not encoded yet
		delete(m.Header, wire.HeaderFirst)
		delete(m.Header, wire.HeaderSequence)
	}
	s.pending = s.publish(m) == nil
}

// publish publishes a message.
func (s *subject) publish(m *nats.Msg) error {
	if s.pending {
		m.Reply = s.ask + strconv.FormatUint(s.round, 10)
	}
	err := s.conn.PublishMsg(m)
	if err == nil && s.pending {
		s.asked++
	}
	return err
}

func (s *subject) message(m *message) *nats.Msg {
	x := nats.NewMsg(s.name)
	x.Data = m.data
	x.Header[wire.HeaderTimeline] = []string{s.r.id}
	x.Header[wire.HeaderServer] = []string{s.r.t.p.o.Server}
	x.Header[wire.HeaderSequence] = []string{strconv.FormatUint(m.serial, 10)}
	x.Header[wire.HeaderFirst] = []string{strconv.FormatUint(m.first, 10)}
	x.Header[wire.HeaderEvents] = []string{strconv.FormatUint(m.events, 10)}
	if m.metadata > 0 {
		x.Header[wire.HeaderMetadata] = []string{strconv.Itoa(m.metadata)}
	}
	return x
}

// send publishes a message. While the broker is away it waits: the feed holds the latest messages. False: ctx has ended.
func (s *subject) send(ctx context.Context, m *message) bool {
	for {
		err := s.publish(s.message(m))
		if err == nil {
			return true
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			s.r.t.p.o.Log("timeline of session %s: events %d to %d are not published: %d bytes are too many for the broker", s.r.t.session, m.first, m.first+m.events-1, len(m.data))
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryEvery):
		}
	}
}
