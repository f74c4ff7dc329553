// Package session starts and stops the recording of many hosts at once. Operators ask servers, servers remember what is to be recorded, and
// tell agents that take commands (package standby):
//
//	operator --control.start--> one server --host.HOST.command--> agents
//	                              |  ^
//	                   DIR/.sessions  server.SERVER.session --> other servers
//
// What is to be is compared with what agents say of themselves each second, and the difference is commanded. So a host that was away joins when it
// comes back, whatever was lost on the way, and a command that comes twice is harmless. A session begins once and is stopped once. Of two records of a
// session the earlier beginning and the stop hold, so servers agree however long they did not hear each other.
//
// Each request costs a message per host; a host that is as it should be costs nothing but its status.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// Times of a director.
const (
	silentAfter   = 3 * time.Second         // an agent or server that says nothing for so long is away
	settle        = 1500 * time.Millisecond // after its start a director listens before it commands
	commandWithin = 45 * time.Second        // an agent answers: recorders take a while to begin and to end
	startWithin   = 15 * time.Second        // hosts that are busy are asked again
	againAfter    = 250 * time.Millisecond
	retryAfter    = time.Second // a host that did not do as it was told, doubled up to
	retryAtMost   = 30 * time.Second
	recordsEvery  = 2 * time.Second // running sessions are told to other servers
)

// maxKnown limits the hosts and servers that are remembered.
const maxKnown = 1 << 14

// Options say how a director works.
type Options struct {
	Conn     *nats.Conn
	Server   string // its name among others
	Registry *Registry
	// Stored returns the bytes of each session and host on this server's disk.
	Stored func() (map[string]map[string]int64, error)
	// Lacking looks up who has keys, and returns what says why a host cannot connect and what mends that, "" if it can. nil: nothing is known.
	Lacking func() func(host string) string
	// Endpoints are what else the server does for operators.
	Endpoints []service.Endpoint
	Log       func(format string, args ...any) // lines for people; nil for none
}

// Director has agents record what operators want. Run it once.
type Director struct {
	o       Options
	settled chan struct{} // closed when agents and servers have been heard
	began   time.Time     // when it listened

	mu      sync.Mutex
	hosts   map[string]*host
	servers map[string]time.Time // when they were heard
}

// host is what is known of an agent.
type host struct {
	wire.AgentStatus
	seen    time.Time
	busy    bool // it has been sent a command and has not answered
	retry   time.Time
	pause   time.Duration
	problem string // that was told
}

// NewDirector returns a director that does nothing until it is run.
func NewDirector(o Options) *Director {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Director{o: o, settled: make(chan struct{}), began: time.Now(), hosts: make(map[string]*host), servers: make(map[string]time.Time)}
}

// Run answers operators and commands agents until ctx ends.
func (d *Director) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	messages := make(chan *nats.Msg, 4096)
	for _, subject := range []string{wire.AllAgentsAlive, wire.AllServersAlive, wire.AllSessionRecords} {
		sub, err := d.o.Conn.ChanSubscribe(subject, messages)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	}
	all.Go(func() error { return d.listen(ctx, messages) })
	stop, err := d.serve(ctx)
	if err == nil {
		<-ctx.Done()
		stop()
	}
	cancel()
	return errors.Join(err, all.Wait())
}

// listen hears agents and servers, and commands agents that are not as they should be.
func (d *Director) listen(ctx context.Context, messages <-chan *nats.Msg) error {
	var commands errgroup.Group
	defer func() { _ = commands.Wait() }() // they return no errors
	settled, tick := time.NewTimer(settle), time.NewTicker(recordsEvery)
	defer settled.Stop()
	defer tick.Stop()
	d.tellRunning()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-settled.C:
			close(d.settled)
		case <-tick.C:
			d.tellRunning()
			d.forget(time.Now())
		case m := <-messages:
			d.hear(ctx, &commands, m)
		}
	}
}

// hear takes a message of an agent or of a server.
func (d *Director) hear(ctx context.Context, commands *errgroup.Group, m *nats.Msg) {
	if name, err := wire.HostOf(m.Subject); err == nil {
		status, err := wire.ReadAgentStatus(m.Subject, m.Data)
		if err != nil {
			return // the server that stores the host tells it
		}
		if command, wanted := d.agent(status); wanted {
			commands.Go(func() error { d.correct(ctx, name, command); return nil })
		}
		return
	}
	if wire.IsSessionRecord(m.Subject) {
		d.record(m)
		return
	}
	status, err := wire.Decode[wire.ServerStatus](m.Data)
	if err != nil || status.Version != wire.Version || wire.CheckHost(status.Server) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.servers[status.Server]; known || len(d.servers) < maxKnown {
		d.servers[status.Server] = time.Now()
	}
}

// agent notes what an agent says and returns the command that is to mend it.
func (d *Director) agent(status wire.AgentStatus) (c wire.Command, wanted bool) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.hosts[status.Host]
	if h == nil {
		if len(d.hosts) >= maxKnown {
			return c, false
		}
		h = new(host)
		d.hosts[status.Host] = h
	}
	h.AgentStatus, h.seen = status, now
	select {
	case <-d.settled:
	default:
		return c, false
	}
	if status.State == "" || h.busy || now.Before(h.retry) || !d.leads() {
		return c, false
	}
	if c, wanted = d.difference(&status); wanted {
		h.busy = true
	}
	return c, wanted
}

// difference returns what an agent is to do.
func (d *Director) difference(status *wire.AgentStatus) (c wire.Command, wanted bool) {
	if status.State == wire.StateRecording {
		x, known := d.o.Registry.Get(status.Session)
		return wire.Command{Version: wire.Version, Do: wire.Stop, Session: status.Session}, known && !x.Running()
	}
	x, any := d.o.Registry.Wanted(status.Host)
	if !any || x.Name == status.Session { // it has recorded that: it failed, or its command has ended
		return c, false
	}
	return start(&x), true
}

func start(x *wire.Session) wire.Command {
	return wire.Command{Version: wire.Version, Do: wire.Start, Session: x.Name, Args: x.Args}
}

// leads reports whether this server is the first by name of those that are heard: the others leave it to command hosts.
func (d *Director) leads() bool {
	for name, seen := range d.servers {
		if name < d.o.Server && time.Since(seen) < silentAfter {
			return false
		}
	}
	return true
}

// correct commands an agent that is not as it should be.
func (d *Director) correct(ctx context.Context, name string, c wire.Command) {
	state := d.command(ctx, name, c)
	d.mu.Lock()
	h := d.hosts[name]
	if h == nil {
		d.mu.Unlock()
		return
	}
	h.busy = false
	problem := ""
	if c.Do == wire.Start && state.State != wire.StateRecording && state.Error == "" {
		state.Error = fmt.Sprintf("the host is %s", state.State)
	}
	if state.Error != "" {
		problem = fmt.Sprintf("%s of session %s: %s", c.Do, c.Session, state.Error)
		h.pause = min(max(2*h.pause, retryAfter), retryAtMost)
		h.retry = time.Now().Add(h.pause)
	} else {
		h.pause = 0
	}
	tell := problem != h.problem
	h.problem = problem
	d.mu.Unlock()
	switch {
	case tell && problem != "":
		d.o.Log("%s: %s", name, problem)
	case problem == "":
		d.o.Log("%s: %s of session %s", name, c.Do, c.Session)
	}
}

// command sends a command to an agent and returns its answer.
func (d *Director) command(ctx context.Context, name string, c wire.Command) wire.HostState {
	within, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	m, err := d.o.Conn.RequestWithContext(within, wire.OfHost(name, "command"), wire.Encode(c))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		later := "it joins when it comes"
		if c.Do == wire.Stop {
			later = "it is told when it comes"
		}
		return wire.HostState{Host: name, State: wire.StateAway, Error: "no agent that takes commands is there; " + later}
	case err != nil:
		return wire.HostState{Host: name, State: wire.StateAway, Error: fmt.Sprintf("its agent does not answer: %v", err)}
	}
	state, err := wire.Decode[wire.HostState](m.Data)
	if err != nil {
		return wire.HostState{Host: name, State: wire.StateRefused, Error: err.Error()}
	}
	state.Host = name
	return state
}

// record takes what another server says of a session. To one that does not know that a session was stopped this one says so.
func (d *Director) record(m *nats.Msg) {
	x, err := wire.Decode[wire.Session](m.Data)
	if err != nil || x.Version != wire.Version || m.Subject == wire.SessionRecord(d.o.Server) {
		return
	}
	merged, changed, err := d.o.Registry.Put(x)
	switch {
	case err != nil:
		d.o.Log("a session of another server: %v", err)
	case !same(&merged, &x):
		d.tell(&merged)
	case changed && !merged.Running():
		d.o.Log("session %s is stopped", x.Name)
	}
}

// tell tells other servers of a session. What is lost is told again.
func (d *Director) tell(x *wire.Session) {
	x.Version = wire.Version
	if err := d.o.Conn.Publish(wire.SessionRecord(d.o.Server), wire.Encode(x)); err != nil && !wire.Lost(err) {
		d.o.Log("session %s: %v", x.Name, err)
	}
}

func (d *Director) tellRunning() {
	for _, x := range d.o.Registry.All() {
		if x.Running() {
			d.tell(&x)
		}
	}
}

// forget forgets what is silent for long.
func (d *Director) forget(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, h := range d.hosts {
		if !h.busy && now.Sub(h.seen) > 20*silentAfter && (!h.unfinished() || len(d.hosts) > maxKnown/2) {
			delete(d.hosts, name)
		}
	}
	for name, seen := range d.servers {
		if now.Sub(seen) > 20*silentAfter {
			delete(d.servers, name)
		}
	}
}

// unfinished reports whether an agent had more to record or to send when it was heard last.
func (h *host) unfinished() bool {
	return h.Session != "" && !h.OnDemand && !h.stored()
}

// stored reports whether a recording had ended, and servers had all of it that is not lost, when its agent was heard last.
func (h *host) stored() bool { return h.Ended && h.Recorded <= h.Acknowledged+h.Lost }

// there returns the agents that are heard, sorted by host.
func (d *Director) there() []wire.AgentStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []wire.AgentStatus
	for _, h := range d.hosts {
		if time.Since(h.seen) < silentAfter {
			out = append(out, h.AgentStatus)
		}
	}
	slices.SortFunc(out, func(a, b wire.AgentStatus) int { return cmp.Compare(a.Host, b.Host) })
	return out
}
