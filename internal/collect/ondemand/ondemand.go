// Package ondemand is an agent whose recorder keeps the last part of a trace on its host, as a flight recorder, and that sends of it what an operator asks
// for and nothing else.
//
//	command send: span --> wait until it is recorded --> excerpt: DIR/.asked/SESSION --> ship --> servers: SESSION/HOST
//
// Each span is a session of its own on the servers. The agent says what became of each as often as it is asked; one excerpt is made and sent at a
// time. It is removed when servers have it, and by the next agent if this one is killed.
package ondemand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/excerpt"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/standby"
	"meridian/internal/collect/wire"
)

// Options say how an agent works.
type Options struct {
	Conn    *nats.Conn // as package ship wants it
	Host    string
	Session string       // that the recorder's trace would have; hosts of one session exchange clock probes
	Dir     string       // where the recorder writes
	Ship    ship.Options // how excerpts are sent; what is of a session is set here
	// Settle is how long after the end of a span the recorder may still write packets of it.
	Settle  time.Duration
	Probing func() *wire.Probing             // as ship.Options has it
	Log     func(format string, args ...any) // lines for people; nil for none
}

// Limits of an agent.
const (
	statusEvery = time.Second
	maxKnown    = 256             // spans that it remembers
	maxAhead    = 2 * time.Minute // of the end of a span
)

// Folder of excerpts in the directory of the recorder. Its name begins with a dot, so it is no part of the trace.
const Folder = ".asked"

// Agent sends what it is asked for. Run it once.
type Agent struct {
	o    Options
	said atomic.Pointer[wire.AgentStatus]
	all  sync.WaitGroup

	mu    sync.Mutex
	known map[string]*job
	order []string // of known, the oldest first
	busy  *job
	sent  int64 // bytes that servers have
}

// job is a span that was asked for.
type job struct {
	session string
	span    excerpt.Span
	state   wire.StateName
	problem string // why it is not what was asked for
	told    bool   // that it failed: whoever asks again has it tried again
}

// New returns an agent that does nothing until it is run.
func New(o Options) (*Agent, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if err := errors.Join(wire.CheckHost(o.Host), wire.CheckSession(o.Session)); err != nil {
		return nil, err
	}
	return &Agent{o: o, known: make(map[string]*job)}, os.RemoveAll(filepath.Join(o.Dir, Folder))
}

// Run does what servers ask for until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	defer a.all.Wait()
	stop, err := standby.Serve(a.o.Conn, a.o.Host, a.o.Log, func() any { return a.said.Load() }, func(data []byte) wire.HostState { return a.obey(ctx, data) })
	if err != nil {
		return err
	}
	defer stop()
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		a.say()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// say tells servers that this host is there.
func (a *Agent) say() {
	a.mu.Lock()
	status := wire.AgentStatus{Version: wire.Version, Host: a.o.Host, Session: a.o.Session, Servers: []string{}, Recorded: a.sent, Acknowledged: a.sent, OnDemand: true}
	a.mu.Unlock()
	if a.o.Probing != nil {
		status.Probing = a.o.Probing()
	}
	a.said.Store(&status)
	_ = a.o.Conn.Publish(wire.OfHost(a.o.Host, "alive"), wire.Encode(status)) // the next one comes in a second
}

// obey begins to send a span, or says how it stands.
func (a *Agent) obey(ctx context.Context, data []byte) wire.HostState {
	c, err := wire.Decode[wire.Command](data)
	if err == nil {
		err = c.Check()
	}
	switch {
	case err != nil:
	case c.Do != wire.Send:
		err = errors.New("its agent sends what 'server fetch --around' asks for and takes no other commands")
	case c.Session == a.o.Session:
		err = fmt.Errorf("session %s is that of the recorder: choose another name", c.Session)
	}
	if err != nil {
		a.o.Log("a command is refused: %v", err)
		return wire.HostState{Host: a.o.Host, State: wire.StateRefused, Error: err.Error()}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	span := excerpt.Span{From: c.FromNs, To: c.ToNs}
	j := a.known[c.Session]
	switch {
	case j != nil && j.span != span:
		return wire.HostState{Host: a.o.Host, State: wire.StateRefused, Error: fmt.Sprintf("session %s is of another span: choose another name", c.Session)}
	case j != nil && (j.state != wire.StateFailed || !j.told):
		j.told = j.state == wire.StateFailed
	case a.busy != nil:
		return wire.HostState{Host: a.o.Host, State: wire.StateBusy, Error: "it sends session " + a.busy.session}
	case time.Until(time.Unix(0, c.ToNs)) > maxAhead:
		return wire.HostState{Host: a.o.Host, State: wire.StateRefused, Error: fmt.Sprintf("the span ends more than %v ahead", maxAhead)}
	default:
		j = a.begin(ctx, c.Session, span)
	}
	return wire.HostState{Host: a.o.Host, State: j.state, Error: j.problem}
}

// begin begins to send a span. The lock is held.
func (a *Agent) begin(ctx context.Context, session string, span excerpt.Span) *job {
	j := &job{session: session, span: span, state: wire.StateSending}
	if a.known[session] == nil {
		if a.order = append(a.order, session); len(a.order) > maxKnown {
			delete(a.known, a.order[0])
			a.order = a.order[1:]
		}
	}
	a.known[session], a.busy = j, j
	a.all.Go(func() {
		problem, err := a.send(ctx, j)
		a.mu.Lock()
		defer a.mu.Unlock()
		j.state, j.problem, a.busy = wire.StateEnded, problem, nil
		if err != nil {
			j.state, j.problem = wire.StateFailed, err.Error()
			a.o.Log("session %s: %v", session, err)
		}
	})
	return j
}

// send makes the excerpt and sends it. problem says what of the span is not there.
func (a *Agent) send(ctx context.Context, j *job) (problem string, err error) {
	wait := time.NewTimer(time.Until(time.Unix(0, j.span.To)) + a.o.Settle)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return "", errors.New("the agent has ended")
	case <-wait.C:
	}
	dir := filepath.Join(a.o.Dir, Folder, j.session)
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	found, err := excerpt.Write(ctx, a.o.Dir, dir, j.span)
	if err != nil {
		return "", err
	}
	o := a.o.Ship
	ended := make(chan struct{})
	close(ended)
	o.Conn, o.Host, o.Session, o.Dir, o.Ended, o.Silent, o.Log = wire.Over(a.o.Conn), a.o.Host, j.session, dir, ended, true, a.o.Log
	s, err := ship.New(o)
	if err != nil {
		return "", err
	}
	sum, err := s.Run(ctx)
	if err == nil && sum.Acknowledged < sum.Recorded || ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("%d of %d bytes are on the servers' disks, and the agent has ended", sum.Acknowledged, sum.Recorded))
	}
	if err != nil {
		return "", err
	}
	a.o.Log("session %s: %d bytes with %d packets and %d frames are sent", j.session, sum.Recorded, found.Packets, found.Frames)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent += sum.Recorded
	return problemOf(found, j.span), nil
}

// problemOf says what of a span an excerpt lacks; "" for nothing that is known.
func problemOf(found excerpt.Summary, span excerpt.Span) string {
	var parts []string
	if found.Packets+found.Frames == 0 {
		parts = append(parts, "nothing was recorded in the span")
	}
	if found.Any {
		d := found.Dropped.All
		parts = append(parts, fmt.Sprintf("the recorder had dropped %d packets with %d events (%d bytes) of the span", d.Packets, d.Events, d.Bytes))
	}
	if found.Recorded > span.From && !found.Any { // not before, as far as is known
		parts = append(parts, "the recorder began at "+time.Unix(0, found.Recorded).UTC().Format("15:04:05.000000")+", within the span")
	}
	return strings.Join(parts, "; ")
}
