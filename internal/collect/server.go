// Package collect copies trace directories from the hosts where they grow to servers, over NATS: an agent's shipper (package ship)
// publishes ranges of files, servers write them at their offsets (package store) and say how far each file is on their disk.
//
//	record --> DIR --> ship --chunks--> NATS --> Server --> store --> DIR/SESSION/HOST
//	                    ^------------- acks ------'
//
// The broker carries and stores nothing. What is lost on the way is sent again from the directory, and what comes twice is harmless.
package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// Times of a server.
const (
	statusEvery = 500 * time.Millisecond
	syncEvery   = 5 * time.Millisecond // at most; the disk may be slower
	silentAfter = 30 * time.Second     // an agent that says nothing for so long is not stored any more until it asks again
	failEvery   = time.Second          // how often a failure of a host is told
)

// pendingBytes is what may wait between the connection and the disk, of a host. Agents have less on the way.
const pendingBytes = 64 << 20

// ServerOptions say how a server works.
type ServerOptions struct {
	Conn  *nats.Conn
	Name  string // of this server among others
	Store *store.Store
	Log   func(format string, args ...any) // lines for people; nil for none
}

// Server stores the hosts whose agents ask it to. Any goroutine may call its methods.
type Server struct {
	o     ServerOptions
	dirty chan struct{} // holds a word when something is to be synced

	mu     sync.Mutex
	stored map[string]*stored // by host
	agents map[string]Agent
}

// stored is a host that is being stored.
type stored struct {
	host   *store.Host
	subs   []*nats.Subscription
	chunks chunkReader
	apply  sync.Mutex // one chunk at a time
	failed time.Time  // when a failure was told last
	refuse int        // chunks since then that were refused
}

// Agent is what is known of an agent.
type Agent struct {
	wire.AgentStatus
	Seen time.Time
}

// NewServer returns a server that does nothing until it is run.
func NewServer(o ServerOptions) (*Server, error) {
	if err := wire.CheckHost(o.Name); err != nil {
		return nil, fmt.Errorf("the server's name: %w", err)
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Server{o: o, dirty: make(chan struct{}, 1), stored: make(map[string]*stored), agents: make(map[string]Agent)}, nil
}

// Run stores hosts until ctx ends. It closes neither the connection nor the store.
func (s *Server) Run(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	opens := make(chan *nats.Msg, 256)
	open, err := s.o.Conn.ChanSubscribe(wire.OpenToServer(s.o.Name), opens)
	if err != nil {
		return err
	}
	alive, err := s.o.Conn.Subscribe(wire.AllAgentsAlive, s.agentAlive)
	if err != nil {
		return err
	}
	defer func() {
		for _, sub := range append(s.all(), open, alive) {
			_ = sub.Unsubscribe() // the connection may be gone
		}
	}()
	all.Go(func() error { return s.answer(ctx, opens) })
	all.Go(func() error { return s.sync(ctx) })
	all.Go(func() error { return s.tell(ctx) })
	return all.Wait()
}

// all returns the subscriptions of all hosts.
func (s *Server) all() []*nats.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var subs []*nats.Subscription
	for _, h := range s.stored {
		subs = append(subs, h.subs...)
	}
	return subs
}

// Agents returns what agents said of themselves, by host.
func (s *Server) Agents() []Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Agent, 0, len(s.agents))
	for _, a := range s.agents {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Agent) int { return strings.Compare(a.Host, b.Host) })
	return out
}

// maxAgents bounds what is remembered of agents.
const maxAgents = 1 << 14

func (s *Server) agentAlive(m *nats.Msg) {
	host, err := wire.HostOf(m.Subject)
	if err != nil {
		return
	}
	status, err := wire.Decode[wire.AgentStatus](m.Data)
	if err != nil || status.Version != wire.Version {
		return
	}
	status.Host = host // as the broker lets it say, whatever is in the message
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.agents[host]; known || len(s.agents) < maxAgents {
		s.agents[host] = Agent{status, time.Now()}
	}
}

// tell says each half second that this server is there, and forgets agents that are silent.
func (s *Server) tell(ctx context.Context) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		s.mu.Lock()
		status := wire.ServerStatus{Version: wire.Version, Server: s.o.Name, Hosts: len(s.stored)}
		for host, h := range s.stored {
			if a, known := s.agents[host]; known && time.Since(a.Seen) > silentAfter {
				h.end()
				delete(s.stored, host)
				s.o.Log("%s: its agent has said nothing for %v", host, silentAfter)
			}
		}
		s.mu.Unlock()
		if err := s.o.Conn.Publish(wire.ServerAlive(s.o.Name), wire.Encode(status)); err != nil && !wire.Lost(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (h *stored) end() {
	for _, sub := range h.subs {
		_ = sub.Unsubscribe() // the connection may be gone
	}
	h.subs = nil
}

// answer answers agents that ask to be stored.
func (s *Server) answer(ctx context.Context, opens <-chan *nats.Msg) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-opens:
			if err := wire.CheckReply(m.Subject, m.Reply); err != nil {
				s.o.Log("%s: refused: %v", m.Subject, err)
				continue
			}
			answer := s.open(m)
			answer.Version = wire.Version
			if err := m.Respond(wire.Encode(answer)); err != nil && !wire.Lost(err) {
				s.o.Log("%s: %v", m.Subject, err)
			}
		}
	}
}

// open begins to store a host and says what is there of it.
func (s *Server) open(m *nats.Msg) wire.Opened {
	name, err := wire.HostOf(m.Subject)
	if err != nil {
		return wire.Opened{Error: err.Error()}
	}
	refused := func(err error) wire.Opened {
		s.o.Log("%s: refused: %v", name, err)
		return wire.Opened{Error: err.Error()}
	}
	request, err := wire.Decode[wire.Open](m.Data)
	if err == nil && request.Version != wire.Version {
		err = fmt.Errorf("the agent speaks version %d of the protocol, the server %d: update the older one", request.Version, wire.Version)
	}
	if err != nil {
		return refused(err)
	}
	host, err := s.o.Store.Host(request.Session, name, request.Trace)
	if err != nil {
		return refused(err)
	}
	if err := s.store(name, host); err != nil {
		return refused(err)
	}
	if _, err := s.o.Store.Sync(); err != nil {
		return refused(err)
	}
	files, err := host.States()
	if err != nil {
		return refused(err)
	}
	return wire.Opened{Files: files}
}

// store subscribes to the chunks of a host.
func (s *Server) store(name string, host *store.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.stored[name]; h != nil && h.host == host {
		return nil
	} else if h != nil {
		h.end()
	} else {
		s.o.Log("%s: stored in %s", name, s.o.Store.Dir(host.Session, name))
	}
	h := &stored{host: host}
	for _, subject := range []string{wire.OfHost(name, "data"), wire.OfHostServer(name, "fill", s.o.Name)} {
		sub, err := s.o.Conn.Subscribe(subject, func(m *nats.Msg) { s.chunk(h, m.Data) })
		if err != nil {
			h.end()
			return err
		}
		h.subs = append(h.subs, sub)
		if err := sub.SetPendingLimits(-1, pendingBytes); err != nil {
			return err
		}
	}
	s.stored[name] = h
	return nil
}

// chunk applies a chunk.
func (s *Server) chunk(h *stored, b []byte) {
	h.apply.Lock()
	defer h.apply.Unlock()
	c, err := h.chunks.parse(b)
	if err == nil && c.Session != h.host.Session {
		return // of an earlier session, still on its way
	}
	if err == nil {
		err = h.host.Apply(&c)
	}
	switch {
	case err == nil:
	case errors.Is(err, store.ErrGap):
		h.host.Gap(c.File) // so that the agent sends what is missing
	default:
		s.fail(h, err)
		return
	}
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// fail tells an agent and people why a host is not stored.
func (s *Server) fail(h *stored, err error) {
	if h.refuse++; time.Since(h.failed) < failEvery {
		return
	}
	s.o.Log("%s: %v (%d chunks refused)", h.host.Name, err, h.refuse)
	h.failed, h.refuse = time.Now(), 0
	ack := wire.Ack{Server: s.o.Name, Session: h.host.Session, Error: err.Error()}
	if err := s.o.Conn.Publish(wire.OfHost(h.host.Name, "ack"), wire.Encode(ack)); err != nil && !wire.Lost(err) {
		s.o.Log("%s: %v", h.host.Name, err)
	}
}

// sync brings chunks to the disk and tells agents.
func (s *Server) sync(ctx context.Context) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.dirty:
		}
		hosts, err := s.o.Store.Sync()
		for _, h := range hosts {
			ack := wire.Ack{Server: s.o.Name, Session: h.Session, Files: h.Stored()}
			if err != nil {
				ack.Error = err.Error()
			}
			if err := s.o.Conn.Publish(wire.OfHost(h.Name, "ack"), wire.Encode(ack)); err != nil && !wire.Lost(err) {
				return err
			}
		}
		if err != nil {
			s.o.Log("%v", err)
		}
		pause.Reset(syncEvery)
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}
