package collect

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/clockplan"
	"meridian/internal/collect/wire"
)

// Times of planning.
const (
	planEvery     = time.Second             // plans are published as often, so that agents know that their server is there
	planShare     = 20                      // planning takes up to one part of so many of a processor
	aliveWithin   = 5 * time.Second         // hosts that say nothing for so long are not planned with
	plansWithin   = 2500 * time.Millisecond // a server that says nothing for so long, which it does twice a second, plans no more
	silentFor     = 10 * time.Second        // a host that is asked for so long without an answer counts as silent
	silentUntil   = 2 * time.Minute         // and is tried again after
	measuredUntil = time.Hour               // what was measured between two hosts that exchange no probes any more
)

// maxPlanned bounds the hosts of a session that exchange probes.
const maxPlanned = 1024

// clocks plans which hosts of each session exchange clock probes. One goroutine calls its methods.
type clocks struct {
	server   string
	publish  func(subject string, b []byte) error
	log      func(format string, args ...any)
	sessions map[string]*sessionClocks
	next     time.Time
}

// sessionClocks is what is planned for a session.
type sessionClocks struct {
	key   string
	pairs []clockplan.Pair
	known map[direction]knownExchange
	asked map[direction]time.Time // since when a host is planned to ask another
	apart time.Time               // since when not all hosts are connected; zero: they are
	told  bool                    // that they are not
	over  bool                    // more hosts than are planned, told
}

// direction is a host that asks another.
type direction struct{ from, to string }

type knownExchange struct {
	clockplan.Exchange
	at time.Time
}

func newClocks(o *ServerOptions) *clocks {
	return &clocks{server: o.Name, publish: o.Conn.Publish, log: o.Log, sessions: make(map[string]*sessionClocks)}
}

// plan plans until ctx ends.
func (s *Server) plan(ctx context.Context) error {
	c := newClocks(&s.o)
	tick := time.NewTicker(planEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.step(time.Now(), s.Agents(), s.planners(time.Now())); err != nil {
			return err
		}
	}
}

// Probed returns the sessions whose hosts exchange clock probes as this server plans it, if any but one host does, in the order of names.
func (s *Server) Probed(now time.Time, but string) (sessions []string) {
	planners := s.planners(now)
	for _, a := range s.Agents() {
		if a.Host != but && probes(&a, now) && plansFor(a.Session, planners) == s.o.Name {
			sessions = append(sessions, a.Session)
		}
	}
	slices.Sort(sessions)
	return slices.Compact(sessions)
}

// probes reports whether an agent is there and its host exchanges probes.
func probes(a *Agent, now time.Time) bool {
	return a.Probing != nil && !a.Ended && now.Sub(a.Seen) <= aliveWithin && wire.CheckSession(a.Session) == nil
}

// plansFor returns which of some servers plans a session.
func plansFor(session string, servers []string) string {
	return slices.MaxFunc(servers, func(a, b string) int { return cmp.Compare(wire.Weight(session, a), wire.Weight(session, b)) })
}

// planners returns the servers that are there and plan, this one among them.
func (s *Server) planners(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{s.o.Name}
	for name, seen := range s.others {
		if now.Sub(seen) > plansWithin {
			delete(s.others, name)
		} else if name != s.o.Name {
			names = append(names, name)
		}
	}
	return names
}

// maxServers bounds what is remembered of other servers.
const maxServers = 1024

// serverAlive notes that a server is there.
func (s *Server) serverAlive(b []byte, now time.Time) {
	status, err := wire.Decode[wire.ServerStatus](b)
	if err != nil || status.Version != wire.Version || !status.Plans || wire.CheckHost(status.Server) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.others[status.Server]; known || len(s.others) < maxServers {
		s.others[status.Server] = now
	}
}

// step plans anew and publishes the plans.
func (c *clocks) step(now time.Time, agents []Agent, servers []string) error {
	if now.Before(c.next) {
		return nil
	}
	began := time.Now()
	hosts := make(map[string][]Agent) // by session
	for _, a := range agents {
		if probes(&a, now) {
			hosts[a.Session] = append(hosts[a.Session], a)
		}
	}
	for session := range c.sessions {
		if len(hosts[session]) == 0 {
			delete(c.sessions, session)
		}
	}
	for session, agents := range hosts {
		if plansFor(session, servers) != c.server {
			delete(c.sessions, session)
			continue
		}
		s := c.sessions[session]
		if s == nil && len(agents) < 2 {
			continue
		} else if s == nil {
			var key [32]byte
			_, _ = rand.Read(key[:]) // it never fails (crypto/rand)
			s = &sessionClocks{key: hex.EncodeToString(key[:]), known: make(map[direction]knownExchange), asked: make(map[direction]time.Time)}
			c.sessions[session] = s
		}
		if err := c.planSession(session, s, agents, now); err != nil {
			return err
		}
	}
	c.next = now.Add(planShare * time.Since(began))
	return nil
}

// planSession plans for a session. Agents are in the order of names.
func (c *clocks) planSession(session string, s *sessionClocks, agents []Agent, now time.Time) error {
	if len(agents) > maxPlanned {
		if !s.over {
			s.over = true
			c.log("session %s: %d of its %d hosts exchange clock probes; the others need messages of their own to be aligned", session, maxPlanned, len(agents))
		}
		agents = agents[:maxPlanned]
	}
	s.learn(agents, now)
	hosts, addresses := make([]clockplan.Host, len(agents)), make(map[string]string, len(agents))
	for i, a := range agents {
		hosts[i] = clockplan.Host{Name: a.Host, Answers: a.Probing.Address != "", Scope: scopeOf(a.Probing.Address)}
		addresses[a.Host] = a.Probing.Address
	}
	known := make([]clockplan.Exchange, 0, len(s.known))
	for _, x := range s.known {
		known = append(known, x.Exchange)
	}
	plan := clockplan.Make(hosts, known, s.pairs)
	s.pairs = plan.Pairs
	c.tell(session, s, plan.Parts, now)
	asks := make(map[string][]wire.ProbePeer)
	asked := make(map[direction]time.Time, len(plan.Pairs))
	for _, x := range plan.Pairs {
		if len(asks[x.From]) < wire.MaxProbePairs {
			asks[x.From] = append(asks[x.From], wire.ProbePeer{Host: x.To, Address: addresses[x.To], Rate: x.Rate})
		}
		d := direction{x.From, x.To}
		since, before := s.asked[d]
		if !before {
			since = now
		}
		asked[d] = since
	}
	s.asked = asked
	for _, a := range agents {
		b := wire.Encode(wire.ProbePlan{Version: wire.Version, Server: c.server, Session: session, Key: s.key, Ask: asks[a.Host]})
		if err := c.publish(wire.OfHost(a.Host, "plan"), b); err != nil && !wire.Lost(err) {
			return fmt.Errorf("the plan of clock probes for %s: %w", a.Host, err)
		}
	}
	return nil
}

// learn takes what agents say of the hosts that they ask, and forgets what is old.
func (s *sessionClocks) learn(agents []Agent, now time.Time) {
	there := make(map[string]bool, len(agents))
	for _, a := range agents {
		there[a.Host] = true
	}
	for _, a := range agents {
		for _, x := range a.Probing.Pairs {
			d := direction{a.Host, x.Host}
			since, planned := s.asked[d]
			if !planned || !there[x.Host] {
				continue
			}
			e := clockplan.Exchange{From: a.Host, To: x.Host, Width: x.WidthNs, LeastRTT: x.LeastRTTNs}
			switch {
			case !x.Silent && x.Error == "" && x.WidthNs > 0:
				s.known[d] = knownExchange{e, now}
			case (x.Silent || x.Error != "") && now.Sub(since) >= silentFor:
				e.Silent = true
				s.known[d] = knownExchange{e, now}
			}
		}
	}
	for d, x := range s.known {
		until := measuredUntil
		if x.Silent {
			until = silentUntil
		}
		if now.Sub(x.at) > until || !there[d.from] && !there[d.to] {
			delete(s.known, d)
		}
	}
}

// scopeOf returns from where an address leads to its host: one of the loopback from the same machine alone.
func scopeOf(address string) string {
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Unmap().IsLoopback() {
		return "this machine"
	}
	return ""
}

// tell says when hosts cannot be connected for a while, or are again.
func (c *clocks) tell(session string, s *sessionClocks, parts [][]string, now time.Time) {
	if len(parts) < 2 {
		if s.told {
			c.log("session %s: clock probes connect all hosts", session)
		}
		s.told, s.apart = false, time.Time{}
		return
	}
	if s.apart.IsZero() {
		s.apart = now
	}
	if s.told || now.Sub(s.apart) < silentFor {
		return
	}
	s.told = true
	var text []string
	for _, part := range parts[:min(len(parts), 4)] {
		text = append(text, strings.Join(part[:min(len(part), 4)], ", "))
	}
	c.log("session %s: clock probes cannot connect all hosts: %d groups (%s): have agents answer where others reach them, by --probe-address", session, len(parts), strings.Join(text, " | "))
}
