package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
	"meridian/internal/probe/planned"
)

// agentProbes brings the plans of servers to the recorder, and tells servers how it goes.
//
//	server --plan--> agent --DIR/.probes--> recorder
//	server <-alive-- agent <-.probes.state-'
type agentProbes struct {
	conn          *nats.Conn
	host, session string
	file          string // of the plan; "": no probes are exchanged
	listen        string // where the recorder answers; "": where the broker is reached from
	reached       string // the address of this host from which the broker was reached first; "" before
	log           func(format string, args ...any)

	status  atomic.Pointer[wire.Probing]
	planner string    // the server whose plan is followed
	heard   time.Time // when it said so last
	plan    planned.Plan
	written time.Time // when there was a plan first
	refused string    // why one was refused last
}

// Times of the agent's probes.
const (
	probeStateEvery = 500 * time.Millisecond
	probeStateOld   = 3 * time.Second  // the recorder writes it each second
	plannerSilent   = 3 * time.Second  // it publishes its plan each second; then another server's is followed
	probesBegin     = 10 * time.Second // a recorder that does nothing with a plan for so long does not exchange probes
)

// probesFile is the recorder's plan of probes in its directory.
const probesFile = ".probes"

// newAgentProbes prepares the exchange of probes by a recorder with these flags.
func newAgentProbes(f *agentFlags, dir, session string, recordArgs []string, c *nats.Conn, log func(string, ...any)) *agentProbes {
	p := &agentProbes{conn: c, host: f.host, session: session, log: log, listen: f.probeAddress}
	if f.probeAddress == "off" || ownProbes(recordArgs) != "" {
		return p
	}
	p.file = filepath.Join(dir, probesFile)
	p.status.Store(new(wire.Probing))
	return p
}

// reachedFrom returns the address of this host from which a broker is reached, while it is connected.
func reachedFrom(c *nats.Conn) (string, error) {
	// An address of UDP is connected to without sending anything.
	conn, err := net.Dial("udp", c.ConnectedAddr())
	if err != nil {
		return "", fmt.Errorf("the address from which %s is reached: %w", c.ConnectedUrlRedacted(), err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}

// checkProbes checks the flag of the address and the recorder's flags.
func (f *agentFlags) checkProbes(recordArgs []string) error {
	if f.probeAddress == "" || f.probeAddress == "off" {
		return nil
	}
	if own := ownProbes(recordArgs); own != "" {
		return wrong("--probe-address cannot be used with %s among the recorder's flags: leave one of them out", own)
	}
	if _, port, err := net.SplitHostPort(f.probeAddress); err != nil || port == "" {
		return wrong("--probe-address %s: write ADDRESS:PORT, such as 10.0.0.2:4123, or off", f.probeAddress)
	}
	if _, err := net.ResolveUDPAddr("udp", f.probeAddress); err != nil {
		return wrong("--probe-address %s: %v", f.probeAddress, err)
	}
	return nil
}

// ownProbes returns the recorder's flag by which it has its own plan, or can have none.
func ownProbes(recordArgs []string) string { return recorderFlag(recordArgs, "--probes", "--netns") }

// recorderFlag returns the first of some flags that is among the recorder's; "" for none.
func recorderFlag(recordArgs []string, flags ...string) string {
	for _, a := range recordArgs {
		if a == "--" {
			break
		}
		if name, _, _ := strings.Cut(a, "="); slices.Contains(flags, name) {
			return name
		}
	}
	return ""
}

// flags returns the recorder's flags.
func (p *agentProbes) flags() []string {
	if p.file == "" {
		return nil
	}
	return []string{"--probes", p.file}
}

// probing returns how it goes; nil: this host exchanges no probes.
func (p *agentProbes) probing() *wire.Probing { return p.status.Load() }

// beside runs a recorder that follows the plans, and returns its exit code.
func (p *agentProbes) beside(ctx context.Context, r *recorder) (code int, err error) {
	r.args = append(p.flags(), r.args...)
	following, stop := context.WithCancel(ctx)
	var all errgroup.Group
	all.Go(func() error { return p.run(following) })
	code, err = r.run(ctx)
	stop()
	err = errors.Join(err, all.Wait())
	p.status.Store(nil) // nothing is recorded any more
	return code, err
}

// run follows plans until ctx ends.
func (p *agentProbes) run(ctx context.Context) error {
	if p.file == "" {
		return nil
	}
	plans := make(chan *nats.Msg, 16)
	sub, err := p.conn.ChanSubscribe(wire.OfHost(p.host, "plan"), plans)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	tick := time.NewTicker(probeStateEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-plans:
			if err := p.follow(m.Data, time.Now()); err == nil {
				p.refused = ""
			} else if text := err.Error(); text != p.refused {
				p.refused = text
				p.log("a plan of clock probes is refused: %s", text)
			}
		case <-tick.C:
			p.status.Store(p.look(time.Now()))
		}
	}
}

// follow takes a server's plan. While two servers plan, that of the one that was heard first is followed: their keys differ.
func (p *agentProbes) follow(b []byte, now time.Time) error {
	x, err := wire.Decode[wire.ProbePlan](b)
	if err != nil {
		return err
	}
	if err := x.Check(p.host, p.session); err != nil {
		return err
	}
	if x.Server != p.planner && now.Sub(p.heard) < plannerSilent {
		return nil
	}
	p.planner, p.heard = x.Server, now
	if p.reached == "" {
		if p.reached, err = reachedFrom(p.conn); err != nil {
			return err
		}
	}
	plan := planned.Plan{Listen: cmp.Or(p.listen, net.JoinHostPort(p.reached, "0")), Key: x.Key}
	for _, a := range x.Ask {
		plan.Ask = append(plan.Ask, planned.Peer{Name: a.Host, Address: a.Address, Rate: a.Rate})
	}
	if plan.Listen == p.plan.Listen && plan.Key == p.plan.Key && slices.Equal(plan.Ask, p.plan.Ask) {
		return nil
	}
	if err := plan.Write(p.file); err != nil {
		return err
	}
	if p.plan = plan; p.written.IsZero() {
		p.written = now
	}
	return nil
}

// look returns what the recorder says of its probes.
func (p *agentProbes) look(now time.Time) *wire.Probing {
	s, err := planned.ReadState(p.file)
	info, statErr := os.Stat(planned.StateFile(p.file))
	if err = errors.Join(err, statErr); err != nil || now.Sub(info.ModTime()) > probeStateOld {
		if !p.written.IsZero() && now.Sub(p.written) > probesBegin {
			return nil // such as of a recorder that was started without a plan
		}
		return new(wire.Probing)
	}
	x := &wire.Probing{Address: p.address(s.Listening), Error: cut(s.Error)}
	for _, a := range s.Pairs {
		x.Pairs = append(x.Pairs, wire.ProbePair{Host: a.Name, Exchanges: a.Exchanges, Silent: a.Silent, WidthNs: a.Width, LeastRTTNs: a.LeastRTT, Error: cut(a.Error)})
	}
	return x
}

// address returns where other hosts reach what answers here.
func (p *agentProbes) address(listening string) string {
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = p.reached
	}
	return net.JoinHostPort(host, port)
}

// cut shortens a fault to what servers take.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), wire.MaxProbeError)], "")
}
