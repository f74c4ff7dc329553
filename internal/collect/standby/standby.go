// Package standby is an agent that waits for commands: servers (package session) have it record a session into a directory of its own, and it
// sends what is written (package ship).
//
//	command start --> check --> DIR/SESSION/.command --> recorder --> ship --> servers
//	command stop  --> recorder ends ------------------------------->  the rest
//
// The command is on the disk before the recorder begins, so an agent that is started again goes on: it records what it was told to record, and sends
// what servers lack. One session is recorded at a time. A session that was recorded is not begun again, whatever servers say.
//
// What a server may ask for is decided here, by Options.Check: a server is not trusted with more than recording.
package standby

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/service"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
)

// Times of an agent.
const (
	statusEvery = time.Second
	readyWithin = 10 * time.Second // a recorder that takes longer is said to record
)

// Options say how an agent works.
type Options struct {
	Conn *nats.Conn // as package ship wants it
	Host string
	Dir  string       // has a directory for each session
	Ship ship.Options // how traces are sent; what is of a session is set here
	// Check refuses arguments of the recorder that no server may choose.
	Check  func(args []string) error
	Record Recorder
	// Drain is how long another session waits until the one before is sent, and how long sending goes on after ctx ends.
	Drain      time.Duration
	RemoveSent bool                             // removes a trace that servers have
	Log        func(format string, args ...any) // lines for people; nil for none
}

// Recorder records until ctx ends or there is nothing more to record, and returns when all is written. warning says what is missing in the trace.
type Recorder func(ctx context.Context, r Recording) (warning string, err error)

// Recording is what is to be recorded.
type Recording struct {
	Dir       string
	Args      []string
	Continued bool   // a process before this one has begun it: its recorder may run still, and a command must not run again
	Ready     func() // to be called when everything is being recorded
}

// Agent waits for commands. Run it once.
type Agent struct {
	o     Options
	job   *job              // what is recorded or sent now; nil for nothing
	known map[string]*order // all sessions that are in the directory
	last  *order            // that began last
	said  atomic.Pointer[wire.AgentStatus]
}

// request is a command that waits for its answer.
type request struct {
	data   []byte
	answer chan wire.HostState
}

// New returns an agent that does nothing until it is run.
func New(o Options) (*Agent, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if err := wire.CheckHost(o.Host); err != nil {
		return nil, err
	}
	a := &Agent{o: o, known: make(map[string]*order)}
	return a, a.load()
}

// load reads what an earlier process was told.
func (a *Agent) load() error {
	if err := os.MkdirAll(a.o.Dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(a.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || wire.CheckSession(e.Name()) != nil {
			continue
		}
		x, err := readOrder(filepath.Join(a.o.Dir, e.Name()))
		if err != nil {
			return err
		}
		if x != nil {
			a.add(x)
		}
	}
	return nil
}

func (a *Agent) add(x *order) {
	a.known[x.Session] = x
	if a.last == nil || a.last.Since.Before(x.Since) {
		a.last = x
	}
}

// Run does what servers say until ctx ends. A session that is being recorded then is gone on with by the next agent.
func (a *Agent) Run(ctx context.Context) (err error) {
	commands := make(chan request)
	answering, ends := context.WithCancel(ctx)
	stop, err := Serve(a.o.Conn, a.o.Host, a.o.Log, func() any { return a.said.Load() }, func(data []byte) wire.HostState {
		r := request{data, make(chan wire.HostState, 1)}
		select {
		case <-answering.Done():
			return a.refuse(errors.New("the agent ends"))
		case commands <- r:
			return <-r.answer
		}
	})
	if err != nil {
		ends()
		return err
	}
	defer func() {
		ends()
		stop()
		err = errors.Join(err, a.end())
	}()
	if x := a.last; x != nil && !x.Ended {
		a.o.Log("going on with session %s", x.Session)
		if err := a.begin(ctx, x, true); err != nil {
			return err
		}
	}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	a.say()
	for {
		if err := a.sendRest(ctx); err != nil {
			return err
		}
		var sent <-chan struct{}
		if a.job != nil {
			sent = a.job.sent
		}
		select {
		case <-ctx.Done():
			return nil
		case <-sent:
			if err := a.finish(); err != nil {
				return err
			}
			a.say()
		case r := <-commands:
			r.answer <- a.obey(ctx, r.data)
		case <-tick.C:
			if a.job == nil {
				a.say()
			}
		}
	}
}

// sendRest begins to send what was left of an earlier session, if nothing else is to be done.
func (a *Agent) sendRest(ctx context.Context) error {
	if a.job != nil {
		return nil
	}
	var oldest *order
	for _, x := range a.known {
		if !x.Sent && (oldest == nil || x.Since.Before(oldest.Since)) {
			oldest = x
		}
	}
	if oldest == nil {
		return nil
	}
	oldest.Ended = true // of several that were being recorded, all but the last
	a.o.Log("sending the rest of session %s", oldest.Session)
	return a.begin(ctx, oldest, true)
}

// say tells servers how this host stands while nothing is recorded or sent; else the shipper does.
func (a *Agent) say() {
	status := wire.AgentStatus{Version: wire.Version, Host: a.o.Host, Servers: []string{}, Ended: true, State: wire.StateWaiting}
	if a.job != nil {
		return
	}
	if a.last != nil {
		status.Session, status.State, status.Error = a.last.Session, a.last.state(), a.last.problem()
	}
	a.said.Store(&status)
	_ = a.o.Conn.Publish(wire.OfHost(a.o.Host, "alive"), wire.Encode(status)) // the next one comes in a second
}

// Serve takes commands to an agent until stop is called. status returns what the agent says of itself.
func Serve(c *nats.Conn, host string, log func(format string, args ...any), status func() any, obey func(data []byte) wire.HostState) (stop func(), err error) {
	return service.Start(c, service.Options{
		Name: service.Agent, Description: "Meridian: records a host", Metadata: map[string]string{"host": host}, Log: log,
		Endpoints: []service.Endpoint{{Name: "command", Subject: wire.OfHost(host, "command"), Stats: status, Handle: func(data []byte) (any, string) {
			state := obey(data)
			return state, state.Error
		}}},
	})
}

// obey does what a command says and returns how this host stands then.
func (a *Agent) obey(ctx context.Context, data []byte) wire.HostState {
	c, err := wire.Decode[wire.Command](data)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		a.o.Log("a command is refused: %v", err)
		return a.refuse(err)
	}
	if c.Do == wire.Stop {
		return a.stop(ctx, c.Session)
	}
	return a.start(ctx, &c)
}

func (a *Agent) refuse(err error) wire.HostState {
	return wire.HostState{Host: a.o.Host, State: wire.StateRefused, Error: err.Error()}
}

// stateOf returns how a session stands that is known.
func (a *Agent) stateOf(x *order) wire.HostState {
	if a.job != nil && a.job.order == x {
		state, problem := a.job.state()
		return wire.HostState{Host: a.o.Host, State: state, Error: problem}
	}
	return wire.HostState{Host: a.o.Host, State: x.state(), Error: x.problem()}
}

func (a *Agent) start(ctx context.Context, c *wire.Command) wire.HostState {
	if x := a.known[c.Session]; x != nil {
		return a.stateOf(x)
	}
	if err := a.o.Check(c.Args); err != nil {
		a.o.Log("session %s is refused: %v", c.Session, err)
		return a.refuse(err)
	}
	if busy := a.makeRoom(); busy != "" {
		return wire.HostState{Host: a.o.Host, State: wire.StateBusy, Error: busy}
	}
	x := &order{Session: c.Session, Args: c.Args, Since: time.Now().UTC()}
	dir := filepath.Join(a.o.Dir, x.Session)
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return a.refuse(fmt.Errorf("%s has something of another session: choose another name", dir))
	}
	err := x.write(dir)
	if err == nil {
		a.add(x)
		err = a.begin(ctx, x, false)
	}
	if err != nil {
		a.o.Log("session %s: %v", x.Session, err)
		return wire.HostState{Host: a.o.Host, State: wire.StateFailed, Error: err.Error()}
	}
	a.o.Log("recording session %s", x.Session)
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-a.job.ready:
	case <-a.job.ended:
	case <-timer.C:
	}
	return a.stateOf(x)
}

// makeRoom ends the job of another session, or says why that cannot be yet.
func (a *Agent) makeRoom() (busy string) {
	j := a.job
	if j == nil {
		return ""
	}
	state, _ := j.state()
	if state == wire.StateRecording {
		return "it records session " + j.order.Session
	}
	if since := j.sending(); since < a.o.Drain {
		return fmt.Sprintf("it sends the rest of session %s, %v at most", j.order.Session, (a.o.Drain - since).Round(time.Second))
	}
	a.o.Log("session %s is not sent yet; its rest is sent later", j.order.Session)
	if err := a.end(); err != nil {
		return err.Error()
	}
	return ""
}

func (a *Agent) stop(ctx context.Context, session string) wire.HostState {
	x := a.known[session]
	if x == nil {
		return wire.HostState{Host: a.o.Host, State: wire.StateWaiting}
	}
	if a.job != nil && a.job.order == x && a.job.stopRecording() {
		a.o.Log("session %s is stopped", session)
		select {
		case <-ctx.Done():
		case <-a.job.ended:
		}
	}
	return a.stateOf(x)
}
