//go:build unix

package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/protocol"
)

// setup makes all hosts what they are, and gives them the files.
func (c *controller) setup(ctx context.Context) error {
	addresses := make(map[string]string)
	for _, s := range c.seats {
		addresses[s.Host] = s.Address
	}
	var files []File
	for _, path := range c.o.Run.Files {
		some, err := c.o.Files(path)
		if err != nil {
			return &Failure{What: err.Error(), rank: hostLost}
		}
		files = append(files, some...)
	}
	for _, s := range c.seats {
		setup := s.Setup
		setup.Version, setup.Host, setup.Place, setup.Addresses = protocol.Version, s.Host, c.o.Place.Name, addresses
		if s.Local {
			setup.Dir = s.files.work()
		}
		if err := s.out.Write(protocol.Order{Setup: &setup}); err != nil {
			return c.unreachable(s, err)
		}
		for _, f := range files {
			if err := sendFile(s, f); err != nil {
				return c.unreachable(s, err)
			}
		}
	}
	return c.await(ctx, setupWithin, func() string { return "no answer from " + c.lacking(func(s *seat) bool { return s.hello }) }, c.all(func(s *seat) bool { return s.hello }))
}

// partBytes is how much of a file a line carries.
const partBytes = 256 << 10

func sendFile(s *seat, f File) error {
	data := f.Data
	for {
		n := min(len(data), partBytes)
		part := protocol.File{Path: f.Path, Mode: f.Mode, Data: data[:n], Last: n == len(data)}
		if err := s.out.Write(protocol.Order{File: &part}); err != nil || part.Last {
			return err
		}
		data = data[n:]
	}
}

// unreachable is the failure of a write to a host: why it has gone is what its process said.
func (c *controller) unreachable(s *seat, err error) error {
	what := fmt.Sprintf("the host's process has gone: %v", err)
	if said := s.Said(); said != "" {
		what = "the host's process has gone: " + said
	}
	return &Failure{Host: s.Host, What: what, rank: hostLost}
}

func (c *controller) all(holds func(*seat) bool) func() bool {
	return func() bool {
		return !slices.ContainsFunc(c.seats, func(s *seat) bool { return !holds(s) })
	}
}

func (c *controller) lacking(holds func(*seat) bool) string {
	var names []string
	for _, s := range c.seats {
		if !holds(s) {
			names = append(names, s.Host)
		}
	}
	return strings.Join(names, ", ")
}

// startDaemons starts the processes of all daemons and waits until they wait.
func (c *controller) startDaemons(ctx context.Context) error {
	addresses := make(map[string]string)
	for _, s := range c.seats {
		addresses[s.Host] = s.Address
	}
	for i := range c.o.Run.Daemons {
		d := &c.o.Run.Daemons[i]
		for _, host := range d.Hosts {
			s := c.byHost[host]
			s.waiting[d.Name] = false
			if err := s.out.Write(protocol.Order{Daemon: c.daemon(d, host, addresses)}); err != nil {
				return c.unreachable(s, err)
			}
		}
	}
	missing := func() string {
		var names []string
		for _, s := range c.seats {
			for _, d := range slices.Sorted(maps.Keys(s.waiting)) {
				if !s.waiting[d] {
					names = append(names, d+" on "+s.Host)
				}
			}
		}
		return "not waiting: " + strings.Join(names, ", ") + `; a daemon that speaks begins with a line {"waiting":["PHASE"]}`
	}
	return c.await(ctx, waitingWithin, missing, c.all(func(s *seat) bool {
		for _, waits := range s.waiting {
			if !waits {
				return false
			}
		}
		return true
	}))
}

// daemon is what a host is told of a daemon.
func (c *controller) daemon(d *file.Daemon, host string, addresses map[string]string) *protocol.Daemon {
	out := &protocol.Daemon{Name: d.Name, Speaks: d.Speaks || d.Use != "", Ready: d.Ready}
	switch {
	case d.Use != "":
		out.Self, out.Args = true, []string{c.o.Standard, d.Use}
	case d.Shell != "":
		out.Args = []string{"sh", "-c", file.Places(d.Shell, host, addresses)}
	default:
		for _, arg := range d.Run {
			out.Args = append(out.Args, file.Places(arg, host, addresses))
		}
	}
	if len(d.Env) > 0 {
		out.Env = make(map[string]string)
		for name, value := range d.Env {
			out.Env[name] = file.Places(value, host, addresses)
		}
	}
	return out
}

// waits notes that a daemon waits, and checks that it has what the schedule asks for.
func (c *controller) waits(s *seat, w *protocol.Waiting) *Failure {
	if _, known := s.waiting[w.Daemon]; !known {
		return nil
	}
	first := !s.waiting[w.Daemon]
	s.waiting[w.Daemon] = true
	s.host.Daemons[w.Daemon] = w.Args
	if w.Phases == nil || !first {
		return nil
	}
	for _, b := range c.o.Run.Schedule {
		for _, p := range b.Phases {
			if p.Daemon == w.Daemon && !slices.Contains(w.Phases, p.Phase) && slices.Contains(p.Hosts, s.Host) {
				return &Failure{
					Host: s.Host, Daemon: p.Daemon, Phase: p.Phase, rank: exited,
					What: fmt.Sprintf("the daemon has no such phase (it has %s)", strings.Join(w.Phases, ", ")),
				}
			}
		}
	}
	return nil
}

// blocks runs the schedule.
func (c *controller) blocks(ctx context.Context) error {
	addresses := make(map[string]string)
	for _, s := range c.seats {
		addresses[s.Host] = s.Address
	}
	for i := range c.o.Run.Schedule {
		b := &c.o.Run.Schedule[i]
		orders := make(map[string]*protocol.Order)
		var hosts []string
		result := &Block{Name: b.Name}
		for _, p := range b.Phases {
			for _, host := range p.Hosts {
				c.next++
				with, _ := file.PlacesIn(p.With, host, addresses).(map[string]any)
				if orders[host] == nil {
					orders[host] = new(protocol.Order)
					hosts = append(hosts, host)
				}
				orders[host].Start = append(orders[host].Start, protocol.PhaseCall{
					Daemon: p.Daemon, Block: i + 1, Command: protocol.Command{Start: c.next, Phase: p.Phase, With: with},
				})
				call := &Call{Number: c.next, Host: host, Daemon: p.Daemon, Phase: p.Phase}
				if p.Timeout > 0 {
					call.until = time.Now().Add(p.Timeout)
				}
				c.r.open[c.next], result.Calls = call, append(result.Calls, call)
			}
		}
		c.r.Blocks = append(c.r.Blocks, result)
		if err := c.block(ctx, result, hosts, orders); err != nil {
			return err
		}
		c.o.Log("%s: %v", b.Name, time.Duration(result.EndedNs-result.BeganNs).Round(time.Microsecond))
	}
	return nil
}

// block starts the phases of a block and waits for their end.
func (c *controller) block(ctx context.Context, b *Block, hosts []string, orders map[string]*protocol.Order) error {
	if err := c.askClocks(ctx); err != nil {
		return err
	}
	lines := make([][]byte, len(hosts))
	b.BeganNs = time.Now().UnixNano()
	at := c.instant(hosts)
	for _, call := range b.Calls {
		if !call.until.IsZero() {
			call.until = call.until.Add(time.Duration(at - protocol.Monotonic()))
		}
	}
	for i, host := range hosts {
		for k := range orders[host].Start {
			orders[host].Start[k].AtNs = c.byHost[host].clock.of(at)
		}
		line, err := json.Marshal(orders[host])
		if err != nil {
			return err
		}
		if len(line) > protocol.MaxLine {
			return &Failure{Host: host, What: fmt.Sprintf("%s: its parameters take %d bytes, at most %d", b.Name, len(line), protocol.MaxLine), rank: hostLost}
		}
		lines[i] = append(line, '\n')
	}
	for i, host := range hosts {
		if _, err := c.byHost[host].In.Write(lines[i]); err != nil {
			return c.unreachable(c.byHost[host], err)
		}
	}
	for {
		first := time.Time{}
		open := c.openCalls()
		for _, call := range open {
			if !call.until.IsZero() && (first.IsZero() || call.until.Before(first)) {
				first = call.until
			}
		}
		if len(open) == 0 {
			b.EndedNs = time.Now().UnixNano()
			return nil
		}
		within := time.Duration(0)
		if !first.IsZero() {
			within = max(time.Until(first), time.Nanosecond)
		}
		n := len(open)
		err := c.await(ctx, within, c.stillOpen, func() bool { return len(c.r.open) < n })
		if err != nil {
			return c.late(err, first)
		}
	}
}

// late names the phase of a time-out.
func (c *controller) late(err error, at time.Time) error {
	f, ok := err.(*Failure)
	if !ok || f.rank != timedOut {
		return err
	}
	for _, call := range c.openCalls() {
		if call.until.Equal(at) {
			f.Host, f.Daemon, f.Phase = call.Host, call.Daemon, call.Phase
			f.What = "the phase timed out"
			break
		}
	}
	return f
}

// openCalls returns the calls that have not ended, in their order.
func (c *controller) openCalls() (open []*Call) {
	for _, n := range slices.Sorted(maps.Keys(c.r.open)) {
		open = append(open, c.r.open[n])
	}
	return open
}

func (c *controller) stillOpen() string {
	var names []string
	for _, call := range c.openCalls() {
		names = append(names, call.Daemon+"."+call.Phase+" on "+call.Host)
	}
	if len(names) == 0 {
		return "no phase was running"
	}
	return "still running: " + strings.Join(names, ", ")
}

// ended notes the end of a phase.
func (c *controller) ended(s *seat, e *protocol.Ended) *Failure {
	call := c.r.open[e.Call]
	if call == nil || call.Host != s.Host {
		return nil
	}
	delete(c.r.open, e.Call)
	call.BeganNs, call.EndedNs = e.BeganNs, e.AtNs
	call.Error, call.Result, call.Code = e.Error, e.Result, e.Code
	if e.Code != nil && *e.Code >= 0 && c.anyCode[call.Daemon] {
		call.Error = "" // the check decides
	}
	if call.Error == "" || c.ending {
		return nil
	}
	f := &Failure{Host: s.Host, Daemon: call.Daemon, Phase: call.Phase, What: e.Error, Tail: e.Tail, rank: phaseFailed}
	if e.Code != nil {
		if f.rank = exited; *e.Code < 0 {
			f.rank = killed
		}
	}
	return f
}

// exited notes that the process of a daemon ended.
func (c *controller) exited(s *seat, e *protocol.Exited) *Failure {
	if c.ending || c.judged(s, e) {
		return nil
	}
	f := &Failure{Host: s.Host, Daemon: e.Daemon, What: fmt.Sprintf("its process ended with exit code %d", e.Code), Tail: e.Tail, rank: exited}
	switch {
	case e.Why != "":
		f.What = e.Why
	case e.Signal != "":
		f.What, f.rank = "its process was ended by a signal: "+e.Signal, killed
	}
	for _, call := range c.openCalls() {
		if call.Host == s.Host && call.Daemon == e.Daemon {
			f.Phase = call.Phase
			delete(c.r.open, call.Number)
			call.Error = f.What
			break
		}
	}
	return f
}

// judged reports whether a check decides about the end of a process: it exited between its phases, as a server does whose phase ended
// when it was ready.
func (c *controller) judged(s *seat, e *protocol.Exited) bool {
	if !c.anyCode[e.Daemon] || e.Why != "" || e.Signal != "" || e.Code < 0 {
		return false
	}
	did := false
	for _, b := range c.r.Blocks {
		for _, call := range b.Calls {
			if call.Host != s.Host || call.Daemon != e.Daemon {
				continue
			}
			if c.r.open[call.Number] != nil {
				return false
			}
			did = did || call.EndedNs != 0
		}
	}
	return did
}
