package publish

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meridian/internal/filter"
	"meridian/internal/live"
	"meridian/order"
	"meridian/trace"
)

// timeline is that of one session. Its own goroutine follows; the others read its feeds and its state.
type timeline struct {
	p       *Publisher
	session string
	dir     string
	fromEnd bool // what the session held before is left out
	began   time.Time

	// Of the publisher's goroutine alone:
	cancel context.CancelFunc
	ending bool // it makes room

	current atomic.Pointer[run]
	fault   atomic.Pointer[string] // why it stopped last
}

// run is a timeline from its beginning until a fault. The numbers of its events begin at 1.
type run struct {
	t     *timeline
	id    string
	began time.Time
	lines *output
	ctf   *output
	state atomic.Pointer[State]

	filter  *filter.Filter
	packets *packets   // of ctf
	note    order.Note // of the event that is being written
	spans   *spans     // nil: they are not exported
	told    time.Time  // when state was made last
	grew    time.Time  // when there was an event last
	stop    context.CancelFunc
	ended   chan struct{}

	warnings trace.Warnings
	warned   map[string]bool
}

// State is how a timeline stands, as it is told once a second.
type State struct {
	Version  int         `json:"version"`
	Session  string      `json:"session"`
	Server   string      `json:"server,omitempty"`
	Timeline string      `json:"timeline"`           // its identity: numbers of another one begin anew
	Events   uint64      `json:"events"`             // the number of the latest one
	Late     int64       `json:"late"`               // events that came behind later ones
	Lost     int64       `json:"lost"`               // events that the traces lack, as their packets count them
	Forced   int64       `json:"forced,omitempty"`   // events that did not wait, since memory was full
	Set      []string    `json:"set,omitempty"`      // clocks that were set: bounds before it was found may be wrong
	Hosts    []HostState `json:"hosts"`              //
	Warnings []string    `json:"warnings,omitempty"` // of the traces
}

// HostState is how a host of a timeline stands.
type HostState struct {
	Host      string `json:"host"`
	Component int    `json:"component"`          // hosts of different ones share no messages, and their instants cannot be compared
	TimeNs    int64  `json:"time_ns"`            // of its latest event, on the timeline
	LagNs     int64  `json:"lag_ns"`             // how old that is by the timeline's present
	BoundNs   *int64 `json:"bound_ns,omitempty"` // by how much that may be wrong at most; absent where nothing bounds it
	Lost      int64  `json:"lost"`               // events that its trace lacks
}

func newTimeline(p *Publisher, session string, fromEnd bool) *timeline {
	return &timeline{p: p, session: session, dir: filepath.Join(p.o.Dir, session), fromEnd: fromEnd, began: time.Now()}
}

// run follows until ctx ends or the session has not grown for long. After a fault it begins anew.
func (t *timeline) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := t.follow(ctx)
		if err == nil {
			return
		}
		text := err.Error()
		t.fault.Store(&text)
		t.p.o.Log("timeline of session %s: %v; it begins anew in %v", t.session, err, retryAfter)
		t.fromEnd = true
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// follow follows once. The traces come from other machines: what they make of a follower ends this timeline and not the server.
func (t *timeline) follow(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{t: t, id: strings.ToLower(rand.Text()[:16]), began: time.Now(), grew: time.Now(), stop: stop, ended: make(chan struct{}), warned: make(map[string]bool)}
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v\n%s", fault, debug.Stack())
		}
	}()
	o := live.Options{Inputs: []live.Input{{Dir: t.dir, Derived: true}}, FromEnd: t.fromEnd, HostsByDirectory: true}
	o.Sorter.Frame, o.Sorter.LeastFrame, o.Sorter.MostFrame = t.p.o.Latency, t.p.o.Latency, 2*t.p.o.Latency
	o.Sorter.MostEvents, o.Sorter.MostBytes = 1<<19, 128<<20
	s, err := live.New(o, &r.warnings)
	if err != nil {
		return err
	}
	r.filter = filter.New(s.Schema(), filter.Options{Events: []string{"!meridian:clock", "!meridian:steering"}})
	if r.lines, err = newLines(r.filter.Schema()); err != nil {
		return err
	}
	if r.ctf, r.packets, err = newPackets(r.filter.Schema(), t.session, r.id); err != nil {
		return err
	}
	r.filter.To(r)
	if t.p.o.OTLP != nil {
		r.spans = newSpans(t.p.o.OTLP, t.session, r.filter.Schema())
	}
	s.To(&placed{r})
	r.tellState(s)
	t.current.Store(r)
	t.fault.Store(nil)
	defer close(r.ended)
	defer t.current.Store(nil)
	if t.p.o.Conn != nil {
		r.lines.feed.join()
		r.ctf.feed.join()
		readers.Go(func() { r.publish(ctx, t.p.o.Conn) })
	}
	r.lines.want, r.ctf.want = r.lines.feed.wanted(), r.ctf.feed.wanted()
	return s.Run(ctx)
}

// placed is the sink of a session.
type placed struct{ r *run }

// Write takes an event from the sorter.
func (p *placed) Write(e *trace.TimelineEvent, n order.Note) error {
	p.r.note = n
	return p.r.filter.Write(e)
}

// Write takes an event that the filter lets pass.
func (r *run) Write(e *trace.TimelineEvent) error {
	if r.spans != nil {
		r.spans.Write(e)
	}
	r.lines.write(e, r.note)
	r.ctf.write(e, r.note)
	return r.lines.fault
}

// Close is for nothing: the run ends with its session.
func (r *run) Close() error { return nil }

// stateEvery is how often the state is told.
const stateEvery = time.Second

// Step hands on what has come.
func (p *placed) Step(s *live.Session) error {
	r := p.r
	if r.lines.step() {
		r.grew = time.Now()
	}
	whole := r.ctf.fault == nil
	r.ctf.step()
	if err := r.ctf.fault; err != nil && whole {
		r.t.p.o.Log("timeline of session %s has no packets any more: %v", r.t.session, err)
	}
	if time.Since(r.told) >= stateEvery {
		r.tellState(s)
		if time.Since(r.grew) > idleAfter {
			r.stop()
		}
	}
	return nil
}

// tellState makes the state anew.
func (r *run) tellState(s *live.Session) {
	r.told = time.Now()
	stats := s.Stats()
	x := &State{Version: 1, Session: r.t.session, Server: r.t.p.o.Server, Timeline: r.id, Events: r.lines.feed.end().event - 1, Late: stats.Late, Forced: stats.Forced}
	for _, h := range s.Hosts() {
		host := HostState{Host: h.Name, Component: h.Component, TimeNs: int64(h.Latest), LagNs: int64(h.Lag), Lost: h.Lost}
		if h.Bounded {
			bound := int64(h.Bound)
			host.BoundNs = &bound
		}
		x.Lost += h.Lost
		x.Hosts = append(x.Hosts, host)
	}
	for _, set := range s.SetSoFar() {
		x.Set = append(x.Set, set.String())
	}
	x.Warnings = r.warnings.Lines()
	for _, line := range x.Warnings {
		subject, _, _ := strings.Cut(line, " (")
		if !r.warned[subject] && len(r.warned) < maxWarned {
			r.warned[subject] = true
			r.t.p.o.Log("timeline of session %s: %s", r.t.session, line)
		}
	}
	r.state.Store(x)
}

// maxWarned is how many different warnings of a timeline are told.
const maxWarned = 100
