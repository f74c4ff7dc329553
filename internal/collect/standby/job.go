package standby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
)

// orderFile has what an agent was told, in the directory of the session.
const orderFile = ".command"

// order is what an agent was told to record, and what became of it.
type order struct {
	Session string    `json:"session"`
	Args    []string  `json:"args,omitempty"`
	Since   time.Time `json:"since"`
	Ended   bool      `json:"ended,omitempty"`   // nothing more is recorded
	Failed  string    `json:"failed,omitempty"`  // why the recorder ended
	Warning string    `json:"warning,omitempty"` // what is missing in the trace
	Sent    bool      `json:"sent,omitempty"`    // servers have everything
}

// readOrder reads the order of a directory; nil if it has none.
func readOrder(dir string) (*order, error) {
	path := filepath.Join(dir, orderFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	x := new(order)
	if err := json.Unmarshal(b, x); err != nil || x.Session != filepath.Base(dir) {
		return nil, fmt.Errorf("%s: not what an agent writes (%v): remove it, and the session is forgotten", path, err)
	}
	return x, nil
}

// write brings the order to the disk. It appears whole or not at all.
func (x *order) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	next := filepath.Join(dir, orderFile+".new")
	f, err := os.Create(next)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, orderFile))
}

func (x *order) state() wire.StateName {
	switch {
	case !x.Ended:
		return wire.StateRecording
	case x.Failed != "":
		return wire.StateFailed
	case !x.Sent:
		return wire.StateSending
	}
	return wire.StateEnded
}

// problem returns what is wrong with it, "" for nothing.
func (x *order) problem() string {
	if x.Failed != "" {
		return x.Failed
	}
	return x.Warning
}

// job records a session and sends it, or only the latter.
type job struct {
	dir   string
	stop  context.CancelFunc // of the recorder
	leave context.CancelFunc // of the shipper
	ready chan struct{}      // closed when everything is being recorded
	ended chan struct{}      // closed when nothing more is recorded
	sent  chan struct{}      // closed when the shipper has ended

	mu      sync.Mutex
	order   *order // its fields are the job's until sent is closed
	stopped bool   // by a command
	endedAt time.Time
	whole   bool // servers have everything
	failed  error
}

// begin begins a job. One whose order has ended only sends.
func (a *Agent) begin(ctx context.Context, x *order, continued bool) error {
	j := &job{dir: filepath.Join(a.o.Dir, x.Session), order: x, ready: make(chan struct{}), ended: make(chan struct{}), sent: make(chan struct{})}
	o := a.o.Ship
	o.Conn, o.Host, o.Session, o.Dir, o.Ended, o.Tell, o.Log = wire.Over(a.o.Conn), a.o.Host, x.Session, j.dir, j.ended, j.tell(&a.said), a.o.Log
	s, err := ship.New(o)
	if err != nil {
		return err
	}
	recording, stop := context.WithCancel(ctx)
	// Shipping goes on after ctx ends: what the recorder writes at its end is sent as well.
	shipping, leave := context.WithCancel(context.WithoutCancel(ctx))
	j.stop, j.leave = stop, leave
	if a.job = j; x.Ended {
		close(j.ended)
	} else {
		go a.record(ctx, recording, j, continued)
	}
	go func() {
		defer close(j.sent)
		sum, err := s.Run(shipping)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.failed = err
		select {
		case <-j.ended:
			j.whole = err == nil && sum.Acknowledged+sum.Lost == sum.Recorded && shipping.Err() == nil
		default:
		}
		if sum.Lost > 0 {
			j.order.Warning = fmt.Sprintf("%d bytes are lost: they were dropped before they were sent, or servers have lost them", sum.Lost)
		}
	}()
	return nil
}

// record runs the recorder of a job, and notes how it ended.
func (a *Agent) record(agent, ctx context.Context, j *job, continued bool) {
	defer close(j.ended)
	defer j.stop()
	warning, err := a.o.Record(ctx, Recording{Dir: j.dir, Args: j.order.Args, Continued: continued, Ready: sync.OnceFunc(func() { close(j.ready) })})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.endedAt = time.Now()
	if agent.Err() != nil && !j.stopped {
		if err != nil {
			a.o.Log("session %s: %v", j.order.Session, err)
		}
		return // the next agent goes on
	}
	j.order.Ended, j.order.Warning = true, warning
	if err != nil {
		j.order.Failed = err.Error()
		a.o.Log("session %s: %v", j.order.Session, err)
	}
	if err := j.order.write(j.dir); err != nil {
		a.o.Log("session %s: %v", j.order.Session, err)
	}
}

func (j *job) state() (wire.StateName, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.order.state(), j.order.problem()
}

// tell returns what adds to the status of the shipper, and notes it.
func (j *job) tell(said *atomic.Pointer[wire.AgentStatus]) func(*wire.AgentStatus) {
	return func(status *wire.AgentStatus) {
		state, problem := j.state()
		status.State = state
		if problem != "" && status.Error != "" {
			problem += "; "
		}
		status.Error = problem + status.Error
		copied := *status
		said.Store(&copied)
	}
}

// sending returns for how long there has been nothing but to send.
func (j *job) sending() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Since(j.endedAt)
}

// stopRecording asks the recorder to end; false if it has.
func (j *job) stopRecording() bool {
	select {
	case <-j.ended:
		return false
	default:
	}
	j.mu.Lock()
	j.stopped = true
	j.mu.Unlock()
	j.stop()
	return true
}

// finish notes what became of a job whose shipper has ended.
func (a *Agent) finish() error {
	j := a.job
	j.stop()
	<-j.ended // a shipper that fails ends before its recorder
	j.leave()
	a.job = nil
	if j.failed != nil || !j.whole || !j.order.Ended {
		return j.failed
	}
	j.order.Sent = true
	if err := j.order.write(j.dir); err != nil {
		return err
	}
	a.o.Log("session %s is sent", j.order.Session)
	if a.o.RemoveSent {
		return j.clear()
	}
	return nil
}

// clear removes a trace and leaves the order, so that the session is not recorded again.
func (j *job) clear() error {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != orderFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(j.dir, e.Name())))
		}
	}
	return err
}

// end ends the job, if there is one: the recorder at once, the shipper when all is sent or after a while.
func (a *Agent) end() error {
	j := a.job
	if j == nil {
		return nil
	}
	j.stop()
	<-j.ended
	timer := time.AfterFunc(max(a.o.Drain-j.sending(), 0), j.leave)
	defer timer.Stop()
	<-j.sent
	return a.finish()
}
