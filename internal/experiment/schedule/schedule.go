//go:build unix

// Package schedule is the controller of an experiment.
//
//	hosts are set up --> all daemons wait --> block --> block --> ... --> all end --> files come back
//	                              a failure, a time-out, an interrupt ----^
//
// Nothing starts until every daemon on every host waits and every host has answered since. The phases of a block start together: at an
// instant some milliseconds ahead, which each host gets by its own clock. A block ends when all its phases have ended.
//
// The first failure ends the run, and is its cause. What fails within [settle] of it may be what it led to, or what led to it: of these
// the most fundamental is named, a lost host before a killed process before one that exited before a phase that failed before a time-out.
//
// One goroutine decides; one for each host reads what it says.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/place"
	"meridian/internal/experiment/protocol"
)

// Times of a controller.
const (
	setupWithin   = 30 * time.Second
	waitingWithin = 60 * time.Second
	settle        = 250 * time.Millisecond
	graceWell     = 5 * time.Second // for daemons to end after a run that went well
	graceFailed   = 2 * time.Second
	stopWithin    = 10 * time.Second // beyond the grace
	gatherWithin  = 10 * time.Minute // without a report
)

// Options say what runs where.
type Options struct {
	Run      *file.Run
	Place    *place.Place
	Dir      string                            // of the results
	Files    func(path string) ([]File, error) // reads a file of the experiment, or the files of a directory
	Standard string                            // argument of this program that is followed by the name of a standard daemon
	Log      func(format string, args ...any)  // lines for people
}

// File is a file that goes to the hosts.
type File struct {
	Path string // relative, with slashes
	Mode uint32
	Data []byte
}

// Result is what became of a run.
type Result struct {
	Place    string        `json:"place"`
	BeganNs  int64         `json:"began_ns"` // CLOCK_REALTIME of the controller
	EndedNs  int64         `json:"ended_ns"`
	Hosts    []*Host       `json:"hosts"`
	Blocks   []*Block      `json:"blocks"`
	Cause    *Failure      `json:"cause,omitempty"`   // of the failure of the run
	Then     []*Failure    `json:"then,omitempty"`    // what failed with it
	Missing  []string      `json:"missing,omitempty"` // what was promised and is not there
	Warnings []string      `json:"warnings,omitempty"`
	open     map[int]*Call // that have not ended, by number
}

// Host is what is known of a host.
type Host struct {
	Name    string              `json:"name"`
	Address string              `json:"address"`
	Where   string              `json:"where"`
	Hello   *protocol.Hello     `json:"versions,omitempty"`
	Daemons map[string][]string `json:"daemons"` // the programs and their arguments, by daemon
	Codes   map[string]int      `json:"exit_codes,omitempty"`
}

// Block is what became of a block.
type Block struct {
	Name    string  `json:"name"`
	BeganNs int64   `json:"began_ns"` // CLOCK_REALTIME of the controller
	EndedNs int64   `json:"ended_ns,omitempty"`
	Calls   []*Call `json:"phases"`
}

// Call is a phase of a daemon on a host.
type Call struct {
	Number  int             `json:"call"`
	Host    string          `json:"host"`
	Daemon  string          `json:"daemon"`
	Phase   string          `json:"phase"`
	BeganNs int64           `json:"began_ns,omitempty"` // CLOCK_REALTIME of the host
	EndedNs int64           `json:"ended_ns,omitempty"` // CLOCK_REALTIME of the host; 0 if it did not end
	Error   string          `json:"error,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Code    *int            `json:"exit_code,omitempty"`
	until   time.Time
}

// Failure is something that failed.
type Failure struct {
	Host   string   `json:"host,omitempty"`
	Daemon string   `json:"daemon,omitempty"`
	Phase  string   `json:"phase,omitempty"`
	What   string   `json:"what"`
	Tail   []string `json:"last_lines,omitempty"`
	rank   rank
}

// rank says how fundamental a failure is.
type rank int

const (
	timedOut rank = iota
	phaseFailed
	exited
	killed
	hostLost
	interrupted
)

func (f *Failure) Error() string {
	where := ""
	for _, part := range []struct{ what, name string }{{"host", f.Host}, {"daemon", f.Daemon}, {"phase", f.Phase}} {
		if part.name != "" {
			where += part.what + " " + part.name + ", "
		}
	}
	if where != "" {
		where = where[:len(where)-2] + ": "
	}
	return where + f.What
}

// controller runs one run.
type controller struct {
	o        Options
	r        *Result
	seats    []*seat
	byHost   map[string]*seat
	events   chan event
	done     chan struct{} // closed when events are no longer read
	failed   []*Failure
	ending   bool // daemons and hosts may go
	next     int
	asks     int             // exchanges with each host so far
	clocksNs int64           // when their clocks were last asked, CLOCK_MONOTONIC of the controller
	anyCode  map[string]bool // daemons of which a check judges the exit code
}

// seat is a host of the controller.
type seat struct {
	*place.Seat
	host    *Host
	out     *protocol.Writer
	waiting map[string]bool
	alive   int
	asked   int64 // when, CLOCK_MONOTONIC of the controller
	clock   hostClock
	hello   bool
	stopped bool
	gone    bool
	got     *protocol.Missing
	files   *receiver
}

// event is what a host said, or its end.
type event struct {
	from   *seat
	report *protocol.Report
	atNs   int64 // when it came, CLOCK_MONOTONIC of the controller
	err    error
}

// Run runs a run to its end. The result says how it went; the error is of this machine, and there may be a result beside it.
func Run(ctx context.Context, o Options) (*Result, error) {
	c := &controller{
		o: o, events: make(chan event, 64), done: make(chan struct{}), byHost: make(map[string]*seat), anyCode: make(map[string]bool),
		r: &Result{Place: o.Place.Name, BeganNs: time.Now().UnixNano(), Missing: o.Place.Missing, open: make(map[int]*Call)},
	}
	for _, check := range o.Run.Expect {
		if check.Kind == "exit" {
			c.anyCode[check.Daemon] = true
		}
	}
	defer close(c.done)
	for _, s := range o.Place.Seats {
		h := &Host{Name: s.Host, Address: s.Address, Where: s.Where, Daemons: make(map[string][]string)}
		one := &seat{Seat: s, host: h, out: protocol.NewWriter(s.In), waiting: make(map[string]bool), files: newReceiver(o.Dir, s.Host)}
		c.r.Hosts, c.seats, c.byHost[s.Host] = append(c.r.Hosts, h), append(c.seats, one), one
		go c.read(one)
	}
	for _, s := range o.Place.Extra {
		go c.watch(&seat{Seat: s})
	}
	running, cancel := context.WithTimeout(ctx, o.Run.Timeout)
	defer cancel()
	err := c.phases(running)
	if err != nil {
		c.note(ctx, err)
		c.settle()
	}
	if len(c.failed) > 0 {
		c.choose()
	}
	c.finish()
	c.r.EndedNs = time.Now().UnixNano()
	return c.r, nil
}

// read hands on what a host says.
func (c *controller) read(s *seat) {
	lines := protocol.NewLines(s.Out)
	for {
		e := event{from: s}
		line, err := lines.Next()
		if e.atNs = protocol.Monotonic(); err != nil {
			e.err = err
		} else {
			e.report = new(protocol.Report)
			if err := json.Unmarshal(line, e.report); err != nil {
				e.report, e.err = nil, fmt.Errorf("invalid line %.80q: %w", line, err)
			}
		}
		select {
		case c.events <- e:
		case <-c.done:
			return
		}
		if e.err != nil {
			return
		}
	}
}

// watch tells the end of what is no host.
func (c *controller) watch(s *seat) {
	select {
	case <-s.Exited():
	case <-c.done:
		return
	}
	select {
	case c.events <- event{from: s, err: io.EOF}:
	case <-c.done:
	}
}

// phases does everything until the last block has ended. The error is a *Failure or that of the context.
func (c *controller) phases(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.setup, c.startDaemons, c.blocks} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await handles events until a condition holds.
func (c *controller) await(ctx context.Context, within time.Duration, what func() string, holds func() bool) error {
	var over <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		over = timer.C
	}
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return &Failure{What: fmt.Sprintf("timed out after %v: %s", within, what()), rank: timedOut}
		case e := <-c.events:
			if f := c.handle(e); f != nil {
				return f
			}
		}
	}
	return nil
}

// note adds a failure.
func (c *controller) note(ctx context.Context, err error) {
	var f *Failure
	switch {
	case errors.As(err, &f):
	case ctx.Err() != nil:
		f = &Failure{What: "interrupted", rank: interrupted}
	case errors.Is(err, context.DeadlineExceeded):
		f = &Failure{What: fmt.Sprintf("the run timed out after %v; %s", c.o.Run.Timeout, c.stillOpen()), rank: timedOut}
		if open := c.openCalls(); len(open) > 0 {
			f.Host, f.Daemon, f.Phase = open[0].Host, open[0].Daemon, open[0].Phase
		}
	default:
		f = &Failure{What: err.Error(), rank: hostLost}
	}
	c.failed = append(c.failed, f)
}

// settle collects what else fails shortly after the first failure.
func (c *controller) settle() {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case e := <-c.events:
			if f := c.handle(e); f != nil {
				c.failed = append(c.failed, f)
			}
		}
	}
}

// choose names the cause.
func (c *controller) choose() {
	best := 0
	for i, f := range c.failed {
		if f.rank > c.failed[best].rank {
			best = i
		}
	}
	c.r.Cause = c.failed[best]
	for i, f := range c.failed {
		if i != best {
			c.r.Then = append(c.r.Then, f)
		}
	}
}

// handle takes in what a host said. A failure is one that ends the run.
func (c *controller) handle(e event) *Failure {
	s, r := e.from, e.report
	switch {
	case e.err != nil:
		return c.lost(s, e.err)
	case r.Hello != nil:
		s.hello, s.host.Hello = true, r.Hello
	case r.Waiting != nil:
		return c.waits(s, r.Waiting)
	case r.Alive != nil:
		if s.alive = r.Alive.Ask; s.alive == c.asks {
			s.clock.answered(s.asked, r.Alive.AtNs, e.atNs)
		}
	case r.Began != nil:
		// It may come after the end of a phase that was short, which says itself when that began.
		for _, b := range r.Began {
			if call := c.r.open[b.Call]; call != nil && call.Host == s.Host {
				call.BeganNs = b.AtNs
			}
		}
	case r.Ended != nil:
		return c.ended(s, r.Ended)
	case r.Exited != nil:
		return c.exited(s, r.Exited)
	case r.Stopped != nil:
		s.stopped, s.host.Codes = true, r.Stopped.Codes
		for _, d := range r.Stopped.Killed {
			c.warn("host %s: daemon %s did not end by itself and was killed", s.Host, d)
		}
	case r.File != nil:
		if err := s.files.part(r.File); err != nil {
			c.lack("host %s: %v", s.Host, err)
		}
	case r.Gathered != nil:
		s.got = r.Gathered
	case r.Failed != "":
		return &Failure{Host: s.Host, What: r.Failed, rank: hostLost}
	case r.Warning != "":
		c.warn("host %s: %s", s.Host, r.Warning)
	}
	return nil
}

// lost notes that a host's process has gone.
func (c *controller) lost(s *seat, err error) *Failure {
	s.gone = true
	if c.ending && s.stopped {
		return nil
	}
	what := "the host's process has gone"
	if !errors.Is(err, io.EOF) {
		what = err.Error()
	}
	if said := s.Said(); said != "" {
		what += ": " + said
	}
	return &Failure{Host: s.Host, What: what, rank: hostLost}
}

func (c *controller) warn(format string, args ...any) {
	c.r.Warnings = append(c.r.Warnings, fmt.Sprintf(format, args...))
}

// lack notes what was promised and is not there.
func (c *controller) lack(format string, args ...any) {
	c.r.Missing = append(c.r.Missing, fmt.Sprintf(format, args...))
}
