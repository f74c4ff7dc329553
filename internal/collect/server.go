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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// Times of a server.
const (
	statusEvery = 500 * time.Millisecond
	gatherFor   = 5 * time.Millisecond // chunks wait for others to be synced with, unless syncBytes have come: one sync and one ack for all of an agent's batch
	silentAfter = 30 * time.Second     // an agent that says nothing for so long is not stored any more until it asks again
	failEvery   = time.Second          // how often a failure of a host is told
)

// syncBytes are brought to the disk at once: half of what an agent has on the way, which it goes on with the other half of.
const syncBytes = 4 << 20

// pendingBytes is what may wait between the connection and the disk, of a host. Agents have less on the way.
const pendingBytes = 64 << 20

// ServerOptions say how a server works.
type ServerOptions struct {
	Conn  wire.Conn
	Name  string // of this server among others
	Store *store.Store
	// Archived returns how many bytes of each file of a host's trace are archived; nil without an archive.
	Archived func(ctx context.Context, session, host, trace string) (map[string]int64, error)
	Log      func(format string, args ...any) // lines for people; nil for none
}

// Server stores the hosts whose agents ask it to. Any goroutine may call its methods.
type Server struct {
	storing sync.RWMutex // read while a chunk is stored
	ended   bool         // nothing more is

	o          ServerOptions
	dirty      chan struct{} // holds a word when something is to be synced
	much       chan struct{} // and when that is much
	unsynced   atomic.Int64  // bytes that have come since the last sync began
	opens      *opens
	complaints *complaints
	begun      *complaints // that a host is stored
	flushing   sync.Mutex  // acks of a file come in order
	readers    sync.Pool   // of *chunkReader

	mu     sync.Mutex
	stored map[string]*stored // by host
	agents map[string]Agent
	others map[string]time.Time // servers that plan, and when they said that they are there
}

// stored is a host that is being stored.
type stored struct {
	host  *store.Host
	subs  []wire.Subscription
	apply sync.Mutex   // one chunk at a time
	heard atomic.Int64 // when the last chunk came, UnixNano
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
	return &Server{
		o: o, dirty: make(chan struct{}, 1), much: make(chan struct{}, 1), opens: newOpens(), complaints: newComplaints(o.Log), begun: newComplaints(o.Log), readers: sync.Pool{New: func() any { return new(chunkReader) }},
		stored: make(map[string]*stored), agents: make(map[string]Agent), others: make(map[string]time.Time),
	}, nil
}

// Run stores hosts until ctx ends. It closes neither the connection nor the store.
func (s *Server) Run(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	open, err := s.o.Conn.Subscribe(wire.OpenToServer(s.o.Name), 0, s.asked)
	if err != nil {
		return err
	}
	alive, err := s.o.Conn.Subscribe(wire.AllAgentsAlive, 0, s.agentAlive)
	if err != nil {
		return err
	}
	others, err := s.o.Conn.Subscribe(wire.AllServersAlive, 0, func(m *nats.Msg) { s.serverAlive(m.Data, time.Now()) })
	if err != nil {
		return err
	}
	defer func() {
		for _, sub := range append(s.all(), open, alive, others) {
			_ = sub.Unsubscribe() // the connection may be gone
		}
		// A chunk that is being stored is not waited for by that.
		s.storing.Lock()
		s.ended = true
		s.storing.Unlock()
	}()
	for range openers {
		all.Go(func() error { return s.answer(ctx) })
	}
	all.Go(func() error { return s.sync(ctx) })
	all.Go(func() error { return s.tell(ctx) })
	all.Go(func() error { return s.plan(ctx) })
	return all.Wait()
}

// all returns the subscriptions of all hosts.
func (s *Server) all() []wire.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var subs []wire.Subscription
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

// aliveEvery is how often an agent is listened to: each says how it stands once a second.
const aliveEvery = 100 * time.Millisecond

func (s *Server) agentAlive(m *nats.Msg) {
	host, err := wire.HostOf(m.Subject)
	if err != nil {
		return
	}
	now := time.Now()
	if !s.listens(host, now) {
		return // a flood costs no more than this
	}
	status, err := wire.ReadAgentStatus(m.Subject, m.Data)
	if err != nil {
		s.complaints.about(host, "its state is refused: %v", err)
		return
	}
	s.mu.Lock()
	s.agents[host] = Agent{status, now}
	own := s.status()
	s.mu.Unlock()
	if m.Reply == "" {
		return
	}
	if err := wire.CheckReply(m.Subject, m.Reply); err != nil {
		s.complaints.about(host, "its state is not answered: %v", err)
		return
	}
	_ = s.o.Conn.Publish(m.Reply, wire.Encode(own)) // the agent hears of this server twice a second as well
}

// status is what this server says of itself. s.mu is held.
func (s *Server) status() wire.ServerStatus {
	return wire.ServerStatus{Version: wire.Version, Server: s.o.Name, Hosts: len(s.stored), Plans: true}
}

// listens reports whether it is time to hear an agent. Where there is no room for another, those that are silent are forgotten.
func (s *Server) listens(host string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, known := s.agents[host]; known {
		return now.Sub(a.Seen) >= aliveEvery
	}
	if len(s.agents) >= maxAgents {
		for host, a := range s.agents {
			if now.Sub(a.Seen) > silentAfter {
				delete(s.agents, host)
			}
		}
	}
	return len(s.agents) < maxAgents
}

// restEach is how many statuses there are to a look for files that need not be open.
const restEach = 10

// tell says each half second that this server is there, and forgets agents that are silent.
func (s *Server) tell(ctx context.Context) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%letGoEach == 0 {
			s.letGo()
		}
		if n%restEach == restEach-1 {
			if err := s.o.Store.Rest(); err != nil {
				s.o.Log("%v", err)
			}
		}
		s.mu.Lock()
		status := s.status()
		for host, h := range s.stored {
			if time.Since(s.agents[host].Seen) > silentAfter && time.Since(time.Unix(0, h.heard.Load())) > silentAfter {
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

// asked takes the request of an agent to be stored.
func (s *Server) asked(m *nats.Msg) {
	host, err := wire.HostOf(m.Subject)
	if err != nil {
		return
	}
	if err := wire.CheckReply(m.Subject, m.Reply); err != nil {
		s.complaints.about(host, "its request is refused: %v", err)
		return
	}
	s.opens.add(host, m)
}

// answer answers agents that ask to be stored.
func (s *Server) answer(ctx context.Context) error {
	for {
		host, m, end := s.opens.next(ctx)
		if m == nil {
			return nil
		}
		answer, err := s.open(ctx, host, m.Data)
		if err != nil {
			s.complaints.about(host, "refused: %v", err)
			answer.Error = s.advise(err)
		}
		answer.Version = wire.Version
		if err := s.o.Conn.Publish(m.Reply, wire.Encode(answer)); err != nil && !wire.Lost(err) {
			s.complaints.about(host, "%v", err)
		}
		end()
	}
}

// open begins to store a host and says what is there of it.
func (s *Server) open(ctx context.Context, name string, b []byte) (answer wire.Opened, err error) {
	request, err := wire.Decode[wire.Open](b)
	if err == nil && request.Version != wire.Version {
		err = fmt.Errorf("the agent speaks version %d of the protocol, the server %d: update the older one", request.Version, wire.Version)
	}
	if err != nil {
		return answer, err
	}
	if request.Look {
		return s.look(ctx, name, &request)
	}
	host, err := s.o.Store.Host(request.Session, name, request.Trace)
	if err != nil {
		return answer, err
	}
	if request.Copy != nil {
		answer.Copied, err = s.copy(host, request.Copy)
		return answer, err
	}
	if err := s.store(name, host); err != nil {
		return answer, err
	}
	if err := s.flush(); err != nil {
		return answer, err
	}
	answer.Files, answer.More, err = host.States(request.After)
	return answer, err
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
		s.begun.about(name, "stored in %s", s.o.Store.Dir(host.Session, name))
	}
	h := &stored{host: host}
	h.heard.Store(time.Now().UnixNano())
	for _, subject := range []string{wire.OfHost(name, "data"), wire.OfHostServer(name, "fill", s.o.Name)} {
		sub, err := s.o.Conn.Subscribe(subject, pendingBytes, func(m *nats.Msg) { s.chunk(h, m.Data) })
		if err != nil {
			h.end()
			return err
		}
		h.subs = append(h.subs, sub)
	}
	s.stored[name] = h
	return nil
}

// busyTries is how often a chunk is tried for which too many files wait for the disk.
const busyTries = 3

// chunk applies a chunk.
func (s *Server) chunk(h *stored, b []byte) {
	s.storing.RLock()
	defer s.storing.RUnlock()
	if s.ended {
		return
	}
	h.apply.Lock()
	defer h.apply.Unlock()
	h.heard.Store(time.Now().UnixNano())
	r := s.readers.Get().(*chunkReader)
	defer s.readers.Put(r)
	c, err := r.parse(b)
	if err == nil && c.Session != h.host.Session {
		return // of an earlier session, still on its way
	}
	if err == nil {
		err = h.host.Apply(&c)
	}
	for n := 0; n < busyTries && errors.Is(err, store.ErrBusy); n++ {
		if err = s.flush(); err == nil { // the host waits for the disk, and no other does
			err = h.host.Apply(&c)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, store.ErrGap):
		h.host.Gap(c.File) // so that the agent sends what is missing
	default:
		s.fail(h, err)
		return
	}
	word(s.dirty)
	if s.unsynced.Add(int64(len(c.Data))) >= syncBytes {
		word(s.much)
	}
}

// word puts a word into a channel that has room for one.
func word(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default: // one is there
	}
}

// fail tells an agent and people why a host is not stored.
func (s *Server) fail(h *stored, err error) {
	if s.complaints.about(h.host.Name, "%v", err) {
		s.ack(h.host, wire.Ack{Error: s.advise(err)})
	}
}

// advise returns the text of an error with what mends it.
func (s *Server) advise(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Sprintf("%v: make room on the disk of %s, where the server stores", err, s.o.Store.Root())
	}
	return err.Error()
}

// sync brings chunks to the disk and tells agents.
func (s *Server) sync(ctx context.Context) error {
	pause := time.NewTimer(gatherFor)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.dirty:
		}
		pause.Reset(gatherFor)
		select {
		case <-ctx.Done():
			return nil
		case <-s.much:
		case <-pause.C:
		}
		select {
		case <-s.dirty: // of a chunk that is applied, so that the sync has it
		default:
		}
		s.unsynced.Store(0)
		if err := s.flush(); err != nil {
			s.o.Log("%v", err)
		}
		if s.o.Conn.IsClosed() {
			return nats.ErrConnectionClosed
		}
	}
}

// flush brings to the disk what was applied, and tells agents.
func (s *Server) flush() error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	hosts, err := s.o.Store.Sync()
	for _, h := range hosts {
		ack := wire.Ack{Files: h.Stored()}
		if err != nil {
			ack.Error = s.advise(err)
		}
		s.ack(h, ack)
	}
	return err
}

// ackBytes is how long an ack may be. A broker permits more; one that permits less could not carry chunks.
const ackBytes = 32 << 10

// ack tells an agent how far files are. What is too long goes in several messages.
func (s *Server) ack(h *store.Host, a wire.Ack) {
	a.Server, a.Session = s.o.Name, h.Session
	b := wire.Encode(a)
	if n := len(a.Files); len(b) > ackBytes && n > 1 {
		first, second := a, a
		first.Files, second.Files = a.Files[:n/2], a.Files[n/2:]
		s.ack(h, first)
		s.ack(h, second)
		return
	}
	if err := s.o.Conn.Publish(wire.OfHost(h.Name, "ack"), b); err != nil && !wire.Lost(err) {
		s.complaints.about(h.Name, "an ack is not sent: %v", err)
	}
}
