package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/service"
	"meridian/internal/collect/wire"
)

// serve answers operators until stop is called.
func (d *Director) serve(ctx context.Context) (stop func(), err error) {
	control := func(do func(context.Context, wire.Control) ([]wire.HostState, error)) func([]byte) (any, string) {
		return func(data []byte) (any, string) {
			out := d.control(ctx, data, do)
			return out, out.Error
		}
	}
	return service.Start(d.o.Conn, service.Options{
		Name: service.Server, Description: "Meridian: stores the traces of many hosts", Metadata: map[string]string{"server": d.o.Server}, Log: d.o.Log,
		Endpoints: append([]service.Endpoint{
			{Name: "start", Subject: wire.ControlStart, Queue: wire.ControlQueue, Check: wire.CheckReply, Handle: control(d.start)},
			{Name: "stop", Subject: wire.ControlStop, Queue: wire.ControlQueue, Check: wire.CheckReply, Handle: control(d.stop)},
			{Name: "around", Subject: wire.ControlAround, Queue: wire.ControlQueue, Check: wire.CheckReply, Handle: control(d.around)},
			{Name: "sessions", Subject: wire.ControlSessions, Check: wire.CheckReply, Stats: d.stats, Handle: func([]byte) (any, string) {
				d.settle(ctx)
				list := d.list()
				return list, list.Error
			}},
		}, d.o.Endpoints...),
	})
}

// settle waits until agents and servers have been heard.
func (d *Director) settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-d.settled:
	}
}

// stats is what the service tells of itself.
func (d *Director) stats() any {
	x := struct {
		Agents   int            `json:"agents"`   // that are heard
		Sessions map[string]int `json:"sessions"` // by state
	}{len(d.there()), map[string]int{}}
	for _, s := range d.o.Registry.All() {
		x.Sessions[string(s.State())]++
	}
	return x
}

// control does what an operator asks for.
func (d *Director) control(ctx context.Context, data []byte, do func(context.Context, wire.Control) ([]wire.HostState, error)) wire.Outcome {
	out := wire.Outcome{Version: wire.Version, Server: d.o.Server}
	d.settle(ctx)
	c, err := wire.Decode[wire.Control](data)
	if err == nil && c.Version != wire.Version {
		err = fmt.Errorf("the command speaks version %d of the protocol, the server %d: update the older one", c.Version, wire.Version)
	}
	if err == nil {
		out.Hosts, err = do(ctx, c)
	}
	if err != nil {
		out.Error = err.Error()
		d.o.Log("session %q: refused: %v", c.Session, err)
	}
	return out
}

func (d *Director) start(ctx context.Context, c wire.Control) ([]wire.HostState, error) {
	x := wire.Session{Version: wire.Version, Name: c.Session, Hosts: slices.Compact(slices.Sorted(slices.Values(c.Hosts))), Args: c.Args, Since: time.Now().UTC()}
	if known, is := d.o.Registry.Get(x.Name); is {
		if string(definition(&known)) != string(definition(&x)) || !known.Running() {
			return nil, fmt.Errorf("session %s is known already: choose another name", x.Name)
		}
		x = known
	}
	if err := d.overlaps(&x); err != nil {
		return nil, err
	}
	x, _, err := d.o.Registry.Put(x)
	if err != nil {
		return nil, err
	}
	d.tell(&x)
	d.o.Log("session %s begins", x.Name)
	return d.commandAll(ctx, d.hostsOf(&x), start(&x)), nil
}

// overlaps refuses a session of which a host is to record another one.
func (d *Director) overlaps(x *wire.Session) error {
	for _, o := range d.o.Registry.All() {
		if o.Name == x.Name || !o.Running() {
			continue
		}
		both := "all hosts"
		switch {
		case len(x.Hosts) > 0:
			at := slices.IndexFunc(x.Hosts, o.Wants)
			if at < 0 {
				continue
			}
			both = "host " + x.Hosts[at]
		case len(o.Hosts) > 0:
			both = "host " + o.Hosts[0]
		}
		return fmt.Errorf("session %s runs on %s: stop it, or name other hosts", o.Name, both)
	}
	return nil
}

// hostsOf returns the hosts that a command for a session goes to: those that were named, or all that are there and take commands.
func (d *Director) hostsOf(x *wire.Session) (names []string) {
	if len(x.Hosts) > 0 {
		return x.Hosts
	}
	for _, h := range d.there() {
		if h.State != "" {
			names = append(names, h.Host)
		}
	}
	return names
}

// hostsIn returns the hosts that take commands and said last that a session is theirs. Those that are silent are told when they come, but for
// those that had ended and of which all is stored.
func (d *Director) hostsIn(session string) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, h := range d.hosts {
		done := h.stored() && time.Since(h.seen) >= silentAfter
		if h.State != "" && h.Session == session && !done {
			names = append(names, name)
		}
	}
	return names
}

func (d *Director) stop(ctx context.Context, c wire.Control) ([]wire.HostState, error) {
	names := d.hostsIn(c.Session)
	x, known := d.o.Registry.Get(c.Session)
	now := time.Now().UTC()
	switch {
	case !known && len(names) == 0:
		return nil, fmt.Errorf("session %q is not known: 'meridian server sessions' lists those that are", c.Session)
	case !known: // another server that is gone has started it
		x = wire.Session{Version: wire.Version, Name: c.Session, Hosts: names, Since: now}
	}
	for _, h := range x.Hosts {
		if !slices.Contains(names, h) {
			names = append(names, h)
		}
	}
	if x.Running() {
		x.Stopped = now
	}
	x, _, err := d.o.Registry.Put(x)
	if err != nil {
		return nil, err
	}
	d.tell(&x)
	d.o.Log("session %s is stopped", x.Name)
	return d.commandAll(ctx, slices.Sorted(slices.Values(names)), wire.Command{Version: wire.Version, Do: wire.Stop, Session: x.Name}), nil
}

// around has hosts send what they recorded in a span: those that were named, or all that send on demand. Each says how far it is, so an operator asks
// again until all have ended.
func (d *Director) around(ctx context.Context, c wire.Control) ([]wire.HostState, error) {
	command := wire.Command{Version: wire.Version, Do: wire.Send, Session: c.Session, FromNs: c.FromNs, ToNs: c.ToNs}
	if err := command.Check(); err != nil {
		return nil, err
	}
	if _, known := d.o.Registry.Get(c.Session); known {
		return nil, fmt.Errorf("session %s is known already: choose another name", c.Session)
	}
	names := slices.Compact(slices.Sorted(slices.Values(c.Hosts)))
	if len(names) == 0 {
		for _, h := range d.there() {
			if h.OnDemand {
				names = append(names, h.Host)
			}
		}
	}
	out := make([]wire.HostState, len(names))
	var all errgroup.Group
	all.SetLimit(256)
	for i, name := range names {
		all.Go(func() error {
			out[i] = d.command(ctx, name, command)
			return nil
		})
	}
	_ = all.Wait() // no errors are returned
	return out, nil
}

// commandAll commands hosts at once. Those that are busy are asked again for a while.
func (d *Director) commandAll(ctx context.Context, names []string, c wire.Command) []wire.HostState {
	out := make([]wire.HostState, len(names))
	until := time.Now().Add(startWithin)
	var all errgroup.Group
	all.SetLimit(256)
	for i, name := range names {
		all.Go(func() error {
			for {
				out[i] = d.command(ctx, name, c)
				if out[i].State != wire.StateBusy || time.Now().After(until) {
					return nil
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(againAfter):
				}
			}
		})
	}
	_ = all.Wait() // no errors are returned
	return out
}
