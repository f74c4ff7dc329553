package publish

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

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
	ask     string // where the broker says that nobody listens
	beats   int
	nobody  atomic.Bool // the broker said so since the last beat
	joined  bool
	place   place
	fresh   bool // nothing was published since somebody listens
	pending bool // a beat has been sent of which the broker may say that nobody got it
}

// publish publishes the timeline until ctx ends. Its feed has been joined.
func (r *run) publish(ctx context.Context, conn *nats.Conn) {
	inbox := conn.NewInbox()
	session := r.t.session
	all := map[string]*subject{
		"json": {name: wire.OfSession(session, wire.EventsJSON), feed: r.lines},
	}
	sub, err := conn.Subscribe(inbox+".*", func(m *nats.Msg) {
		if s := all[m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]]; s != nil && m.Header.Get("Status") == "503" {
			s.nobody.Store(true)
		}
	})
	if err != nil {
		r.t.p.o.Log("timeline of session %s is not published: %v", session, err)
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	for token, s := range all {
		s.joined, s.place = true, place{1, 1}
		s.r, s.conn, s.ask = r, conn, inbox+"."+token
	}
	var readers sync.WaitGroup
	readers.Go(func() { all["json"].run(ctx) })
	readers.Go(func() { r.tell(ctx, conn) })
	readers.Wait()
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

// listen notes whether anybody listens, and asks again.
func (s *subject) listen() {
	if s.pending {
		s.pending = false
		switch nobody := s.nobody.Load(); {
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
	s.nobody.Store(false)
	m := s.message(&message{serial: s.place.serial, first: s.place.event})
	if !s.joined || s.fresh { // events are not encoded yet
		delete(m.Header, wire.HeaderFirst)
		delete(m.Header, wire.HeaderSequence)
	}
	m.Reply = s.ask
	s.pending = s.conn.PublishMsg(m) == nil
}

func (s *subject) message(m *message) *nats.Msg {
	x := nats.NewMsg(s.name)
	x.Data = m.data
	x.Header[wire.HeaderTimeline] = []string{s.r.id}
	x.Header[wire.HeaderServer] = []string{s.r.t.p.o.Server}
	x.Header[wire.HeaderSequence] = []string{strconv.FormatUint(m.serial, 10)}
	x.Header[wire.HeaderFirst] = []string{strconv.FormatUint(m.first, 10)}
	x.Header[wire.HeaderEvents] = []string{strconv.FormatUint(m.events, 10)}
	return x
}

// send publishes a message. While the broker is away it waits: the feed holds the latest messages. False: ctx has ended.
func (s *subject) send(ctx context.Context, m *message) bool {
	for {
		err := s.conn.PublishMsg(s.message(m))
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
