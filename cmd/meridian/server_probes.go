package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
	"meridian/internal/dirlock"
	"meridian/internal/record"
)

// serverProbes makes the server a host of the sessions that it plans: one that exchanges clock probes and records nothing else. Hosts that reach the server alone
// are bounded through it. It is an agent like others, with a recorder for each session, of which the trace is stored as that of any host:
//
//	recorder --probes--> DIR/.clock/SESSION --agent--> servers: SESSION/server-NAME
//
// A clock without a trace would bound nothing: its readings are what alignment needs.
type serverProbes struct {
	address string // where hosts reach this machine; "": none of this
	host    string // that this server is

	server *collect.Server
	broker *brokerFlags
	dir    string
	stderr io.Writer
	log    func(format string, args ...any)

	all     sync.WaitGroup
	running map[string]*serverProbing // by session
	full    bool                      // it was said that there are too many
}

// serverProbing is a session in which probes are exchanged.
type serverProbing struct {
	stop   context.CancelFunc
	done   chan struct{} // closed when everything is sent
	wanted time.Time     // when hosts of the session exchanged probes last
}

// clockFolder is where the server records, in its directory. No session has a name that begins with a dot.
const clockFolder = ".clock"

// Times and limits of the server's probes.
const (
	probedEvery  = time.Second
	probedLeave  = 10 * time.Second // a session whose hosts exchange no probes for so long is left
	probedAgain  = 30 * time.Second // after a fault
	probedDrain  = 10 * time.Second // to send what is left of one
	probedSpool  = 64 << 20         // bytes of each session that stay here: servers have them
	probedAtOnce = 16               // sessions
)

// check reads the flag.
func (p *serverProbes) check(server string) error {
	if p.address == "" {
		return nil
	}
	p.host = wire.ServerHost(server)
	if err := wire.CheckHost(p.host); err != nil {
		return wrong("--probe-address: the server's --name: %v", err)
	}
	a, err := netip.ParseAddrPort(p.address)
	if err != nil || a.Addr().IsUnspecified() || a.Addr().IsMulticast() {
		return wrong("--probe-address %s: write the ADDRESS:PORT at which hosts reach this machine, such as 10.0.0.2:0", p.address)
	}
	return nil
}

// run exchanges probes in the sessions that need it until ctx ends, and sends what is left.
func (p *serverProbes) run(ctx context.Context) error {
	if p.address == "" {
		<-ctx.Done()
		return nil
	}
	defer p.all.Wait()
	p.running = make(map[string]*serverProbing)
	left, err := p.left()
	if err != nil {
		return err
	}
	for _, session := range left {
		p.begin(ctx, session, time.Now())
	}
	tick := time.NewTicker(probedEvery)
	defer tick.Stop()
	for {
		p.step(ctx, p.server.Probed(time.Now(), p.host), time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// left returns the sessions in which a recorder of a server that was killed still records, and forgets those that are not stored any more.
func (p *serverProbes) left() (sessions []string, err error) {
	entries, err := os.ReadDir(filepath.Join(p.dir, clockFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		dir := filepath.Join(p.dir, clockFolder, e.Name())
		if !e.IsDir() || wire.CheckSession(e.Name()) != nil {
			continue
		}
		lock, err := dirlock.Lock(dir)
		if errors.Is(err, dirlock.ErrLocked) {
			sessions = append(sessions, e.Name())
			continue
		} else if err != nil {
			return nil, err
		}
		if _, stat := os.Stat(filepath.Join(p.dir, e.Name())); errors.Is(stat, fs.ErrNotExist) {
			err = os.RemoveAll(dir)
		}
		if err := errors.Join(err, lock.Close()); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// step begins and leaves sessions.
func (p *serverProbes) step(ctx context.Context, wanted []string, now time.Time) {
	for session, x := range p.running {
		switch {
		case slices.Contains(wanted, session):
			x.wanted = now
		case now.Sub(x.wanted) > probedLeave:
			x.stop()
		}
		select {
		case <-x.done:
			delete(p.running, session)
		default:
		}
	}
	for _, session := range wanted {
		if p.running[session] != nil || ctx.Err() != nil {
			continue
		}
		if len(p.running) >= probedAtOnce {
			if !p.full {
				p.log("session %s: the server exchanges clock probes in %d sessions already, and in no other until one of them ends", session, probedAtOnce)
			}
			p.full = true
			return
		}
		p.full = false
		p.begin(ctx, session, now)
	}
}

// begin exchanges probes in a session until it is left, or ctx ends. After a fault that is tried again.
func (p *serverProbes) begin(ctx context.Context, session string, now time.Time) {
	ctx, stop := context.WithCancel(ctx)
	x := &serverProbing{stop: stop, done: make(chan struct{}), wanted: now}
	p.running[session] = x
	p.all.Go(func() {
		defer close(x.done)
		defer stop()
		for ctx.Err() == nil {
			err := p.record(ctx, session)
			if err == nil {
				continue // it was left
			}
			p.log("session %s: clock probes of this server: %v; it is tried again after %v", session, err, probedAgain)
			select {
			case <-ctx.Done():
			case <-time.After(probedAgain):
			}
		}
	})
}

// record records the probes of a session, and sends them.
func (p *serverProbes) record(ctx context.Context, session string) error {
	dir, rings := filepath.Join(p.dir, clockFolder, session), filepath.Join(p.dir, clockFolder, ".rings")
	for _, d := range []string{dir, rings} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	c, err := p.broker.join(ctx, p.host, p.log, nats.CustomInboxPrefix(wire.OfHost(p.host, "inbox")))
	if err != nil {
		return err
	}
	defer c.Close()
	f := &agentFlags{host: p.host, dir: dir, probeAddress: p.address, drain: probedDrain, spool: spoolValue{&record.Keep{Spool: probedSpool}}}
	args := []string{"-q", "--rings", rings}
	probes := newAgentProbes(f, dir, session, args, c, p.log)
	if probes.reached, _, err = net.SplitHostPort(p.address); err != nil {
		return err
	}
	r := recorder{dir: dir, args: append(f.recorderArgs(), args...), stdout: io.Discard, stderr: p.stderr, log: p.log}
	p.log("session %s: this server exchanges clock probes, as host %s", session, p.host)
	o := ship.Options{Conn: wire.Over(c), Host: p.host, Session: session, Dir: dir, Every: defaultBatch, Log: p.log}
	code, sum, err := f.recordAndSend(ctx, o, probes, &r, func(context.Context) {})
	if err != nil {
		return err
	}
	err = f.outcome(code, &r, f.promise(sum))
	if ctx.Err() != nil && err != nil {
		p.log("session %s: clock probes of this server: %v", session, err)
		return nil
	}
	if err == nil && ctx.Err() == nil {
		err = fmt.Errorf("the recorder of %s has ended", dir)
	}
	return err
}
