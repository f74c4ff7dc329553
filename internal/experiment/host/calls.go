//go:build unix

package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/sensor"
)

// Events of the timeline: a phase of a daemon was begun, and ended. The key of both is the call.
var (
	phaseBegin = sensor.NewEvent4[int64, int64, string, string]("experiment", "phase_begin", "call", "block", "daemon", "phase")
	phaseEnd   = sensor.NewEvent4[int64, string, string, string]("experiment", "phase_end", "call", "daemon", "phase", "error")
)

// handOver is how long before the instant of a start the host lets phases begin: about what it takes until a process has read a line.
const handOver = 100 * time.Microsecond

// openCall is a phase that a daemon was told to do.
type openCall struct {
	phase string
	block int
	began time.Time // when the host let it begin; zero before
}

// call starts phases, as near to their instant as may be: everything that takes time comes before or after. Daemons that want to know
// the instant are told at once, the others when it has come.
func (h *host) call(ctx context.Context, calls []protocol.PhaseCall) error {
	type started struct {
		d     *daemon
		call  *protocol.PhaseCall
		line  []byte
		error error
	}
	all := make([]started, len(calls))
	for i := range calls {
		c := &calls[i]
		h.mu.Lock()
		d := h.daemons[c.Daemon]
		h.mu.Unlock()
		if d == nil {
			return fmt.Errorf("orders: unknown daemon %q", c.Daemon)
		}
		all[i] = started{d: d, call: c, line: d.line(c)}
		if d.open(c); d.early() {
			all[i].error = d.begin(c, all[i].line)
		}
	}
	protocol.SleepUntil(ctx, calls[0].AtNs-int64(handOver))
	began := make([]protocol.Began, len(all))
	for i := range all {
		s := &all[i]
		began[i] = protocol.Began{Call: s.call.Start, AtNs: s.d.begins(s.call.Start).UnixNano()}
		if !s.d.early() {
			s.error = s.d.begin(s.call, s.line)
		}
	}
	if err := h.out.Write(protocol.Report{Began: began}); err != nil {
		return err
	}
	for i := range all {
		s := &all[i]
		s.d.log.line("run", fmt.Sprintf("phase %s begins (call %d)", s.call.Phase, s.call.Start))
		if s.error != nil {
			s.d.finish(&protocol.Ended{Call: s.call.Start, Error: s.error.Error()})
		}
	}
	return nil
}

// early reports whether the daemon wants to know when a phase begins, before it does.
func (d *daemon) early() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// open notes a call.
func (d *daemon) open(c *protocol.PhaseCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[c.Start] = &openCall{phase: c.Phase, block: c.Block}
}

// begins puts the begin of a phase on the timeline, once: an end never comes before. It returns the time of that, or now if the phase
// has ended, whose end then says when it began.
func (d *daemon) begins(call int) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[call]
	if c == nil {
		return time.Now()
	}
	if c.began.IsZero() {
		c.began = time.Now()
		phaseBegin.Emit(int64(call), int64(c.block), d.spec.Name, c.phase)
	}
	return c.began
}

// line returns what lets the process begin a call.
func (d *daemon) line(c *protocol.PhaseCall) []byte {
	if !d.spec.Speaks {
		return []byte("go\n")
	}
	command := c.Command
	if !d.early() {
		command.AtNs = 0
	}
	b, _ := json.Marshal(command) // it came as JSON
	return append(b, '\n')
}

// begin gives a call to the process.
func (d *daemon) begin(call *protocol.PhaseCall, line []byte) error {
	d.mu.Lock()
	p := d.process
	switch {
	case p == nil:
		d.mu.Unlock()
		return fmt.Errorf("its process has ended")
	case !d.spec.Speaks && p.begun:
		d.mu.Unlock()
		return fmt.Errorf("the command still runs")
	}
	if !d.spec.Speaks {
		p.begun, p.call = true, call.Start
	}
	d.mu.Unlock()
	_ = p.stdin.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, err := p.stdin.Write(line); err != nil {
		return fmt.Errorf("it does not read its input: %w", err)
	}
	return nil
}

// finish reports the end of a call, once.
func (d *daemon) finish(e *protocol.Ended) {
	d.begins(e.Call)
	d.mu.Lock()
	c := d.calls[e.Call]
	delete(d.calls, e.Call)
	d.mu.Unlock()
	if c == nil {
		d.broken(fmt.Sprintf("it answered call %d, which is not open", e.Call))
		return
	}
	e.BeganNs, e.AtNs = c.began.UnixNano(), time.Now().UnixNano()
	phaseEnd.Emit(int64(e.Call), d.spec.Name, c.phase, e.Error)
	d.log.line("run", fmt.Sprintf("call %d ends %s", e.Call, e.Error))
	if e.Error != "" {
		e.Tail = d.log.last()
	}
	if err := d.of.out.Write(protocol.Report{Ended: e}); err != nil && e.Result != nil { // too long with what the report adds
		e.Result, e.Error = nil, fmt.Sprintf("its result does not fit into a line: %v", err)
		_ = d.of.out.Write(protocol.Report{Ended: e})
	}
}

// see returns what looks at each line of output of a process. It reports whether the line is none for the log.
func (d *daemon) see(p *process) func(string) bool {
	if !d.spec.Speaks {
		if d.spec.Ready == "" {
			return nil
		}
		return func(line string) bool {
			if strings.Contains(line, d.spec.Ready) {
				d.log.line("out", line)
				d.ready(p)
				return true
			}
			return false
		}
	}
	return func(line string) bool {
		if !strings.HasPrefix(line, "{") {
			return false
		}
		if len(line) > protocol.MaxLine {
			d.broken(fmt.Sprintf("line %.80q... of more than %d bytes", line, protocol.MaxLine))
			return true
		}
		a, err := protocol.ParseAnswer([]byte(line))
		switch {
		case err != nil:
			d.broken(err.Error())
		case a.Waiting != nil:
			d.mu.Lock()
			d.at = a.At
			d.mu.Unlock()
			_ = d.of.out.Write(protocol.Report{Waiting: &protocol.Waiting{Daemon: d.spec.Name, Phases: a.Waiting, Args: p.command.Args}})
		case a.Log != nil:
			d.log.line("log", *a.Log)
		case a.Done != 0:
			d.finish(&protocol.Ended{Call: a.Done, Result: a.Result})
		default:
			if a.Error == "" {
				a.Error = "no reason was given"
			}
			d.finish(&protocol.Ended{Call: a.Failed, Error: a.Error})
		}
		return true
	}
}

// ready ends the phase of a command that goes on.
func (d *daemon) ready(p *process) {
	d.mu.Lock()
	call := p.call
	p.call = 0
	d.mu.Unlock()
	if call != 0 {
		d.finish(&protocol.Ended{Call: call})
	}
}

// broken ends a daemon that broke the protocol.
func (d *daemon) broken(why string) {
	d.mu.Lock()
	if d.why == "" {
		d.why = why
	}
	p := d.process
	d.mu.Unlock()
	d.log.line("run", "broken protocol: "+why)
	if p != nil {
		p.signal(syscall.SIGKILL)
	}
}

// gone tells the end of a process, and has the next of a command wait.
func (d *daemon) gone(p *process) {
	state := p.command.ProcessState
	code, name := state.ExitCode(), ""
	if state != nil {
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			name = status.Signal().String()
		}
	}
	_ = p.stdin.Close()
	d.mu.Lock()
	if d.process == p {
		d.process = nil
	}
	stopping, call, begun := d.stopping, p.call, p.begun
	d.mu.Unlock()
	if begun || d.spec.Speaks {
		d.log.line("run", "its process ended: "+state.String())
		d.of.mu.Lock()
		d.of.ended[d.spec.Name] = code
		d.of.mu.Unlock()
	}
	switch {
	case stopping:
	case call != 0: // a command: its end is that of the phase
		e := &protocol.Ended{Call: call, Code: &code}
		if code != 0 {
			e.Error = state.String()
		}
		d.finish(e)
		if err := d.launch(); err != nil {
			d.log.line("run", err.Error())
		}
	default:
		d.mu.Lock()
		why := d.why
		d.mu.Unlock()
		_ = d.of.out.Write(protocol.Report{Exited: &protocol.Exited{Daemon: d.spec.Name, Code: code, Signal: name, Why: why, Tail: d.log.last()}})
	}
}

// removePID forgets the number of a process.
func (d *daemon) removePID() { _ = os.Remove(d.of.dir + "/pids/" + d.spec.Name) }
