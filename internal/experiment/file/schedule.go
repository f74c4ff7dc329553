package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"meridian/internal/filter"
)

func (r *reader) schedule(n *node, run *Run) {
	if !r.is(n, list, "schedule: want a list of blocks such as - [server.run, client.run]") {
		return
	}
	for i, v := range n.values {
		b := Block{Name: fmt.Sprintf("block %d", i+1)}
		switch {
		case v.kind == mapping && v.get("phase") == nil:
			r.block(v, &b, run)
		case v.kind == list:
			r.phases(v, &b, run)
		case v.kind == null:
			r.problem(v.at, "schedule: a block is empty: want DAEMON.PHASE")
		default:
			r.phase(v, &b, run)
		}
		for k := range b.Phases {
			if b.Phases[k].Timeout == 0 {
				b.Phases[k].Timeout = b.Timeout
			}
		}
		run.Schedule = append(run.Schedule, b)
	}
	if len(n.values) == 0 {
		r.problem(n.at, "schedule: want one block or more")
	}
}

func (r *reader) block(v *node, b *Block, run *Run) {
	r.object(v, "block", "block", func(key string, v *node) {
		switch key {
		case "block":
			if r.text(v, "block") {
				b.Name = v.text
			}
		case "timeout":
			b.Timeout = r.duration(v, "block: timeout")
		case "phases":
			if v.kind == list {
				r.phases(v, b, run)
			} else {
				r.phase(v, b, run)
			}
		}
	})
}

func (r *reader) phases(v *node, b *Block, run *Run) {
	for _, one := range v.values {
		r.phase(one, b, run)
	}
	if len(v.values) == 0 {
		r.problem(v.at, "schedule: a block is empty: want DAEMON.PHASE")
	}
}

func (r *reader) phase(v *node, b *Block, run *Run) {
	p := Phase{At: v.at}
	var with, on *node
	called := v
	if v.kind == mapping {
		r.object(v, "phase", "phase", func(key string, v *node) {
			switch key {
			case "phase":
				called = v
			case "on":
				on = v
			case "with":
				with = v
			case "timeout":
				p.Timeout = r.duration(v, "phase: timeout")
			}
		})
		if called == v {
			return
		}
	}
	if !r.text(called, "phase: want DAEMON.PHASE") {
		return
	}
	d := r.called(called, &p, run)
	if d == nil {
		return
	}
	p.Hosts = d.Hosts
	if on != nil {
		p.Hosts = r.someHosts(on, "phase "+called.text+": on", d.Hosts)
	}
	p.With = maps.Clone(d.With)
	if with != nil {
		p.With = merge(d.With, r.parameters(with, "phase "+called.text+": with", run))
	}
	r.checkPhase(&p, d, with)
	for _, other := range b.Phases {
		if other.Daemon == p.Daemon && (other.Phase == p.Phase || !d.Speaks && d.Use == "") && slices.ContainsFunc(other.Hosts, func(h string) bool { return slices.Contains(p.Hosts, h) }) {
			r.problem(called.at, "phase %s is in this block twice on a host", called.text)
		}
	}
	b.Phases = append(b.Phases, p)
}

// called finds the daemon of DAEMON.PHASE, and checks that it has the phase.
func (r *reader) called(n *node, p *Phase, run *Run) *Daemon {
	name, phase, two := strings.Cut(n.text, ".")
	if !two {
		phase = onePhase
	}
	at := slices.IndexFunc(run.Daemons, func(d Daemon) bool { return d.Name == name })
	if at < 0 {
		var known []string
		for _, d := range run.Daemons {
			known = append(known, d.Name)
		}
		r.problem(n.at, "phase %q: unknown daemon %q%s", n.text, name, hintOrList(name, known))
		return nil
	}
	d := &run.Daemons[at]
	if p.Daemon, p.Phase = name, phase; d.Phases != nil && !slices.Contains(d.Phases, phase) {
		r.problem(n.at, "phase %q: daemon %s has no phase %q%s", n.text, name, phase, hintOrList(phase, d.Phases))
		return nil
	}
	if !isName(phase) {
		r.problem(n.at, "phase %q: %q is not a name: %s", n.text, phase, nameRule)
		return nil
	}
	return d
}

func (r *reader) checks(n *node, run *Run) {
	if !r.is(n, list, "expect: want a list of checks such as - inversions: 0") {
		return
	}
	for i, v := range n.values {
		c := Check{Name: fmt.Sprintf("check %d", i+1), At: v.at}
		if !r.object(v, "check", "expect", func(key string, v *node) { r.checkKey(&c, key, v, run) }) {
			continue
		}
		r.checkWhole(&c, v, run)
		run.Expect = append(run.Expect, c)
	}
}

func (r *reader) checkKey(c *Check, key string, v *node, run *Run) {
	what := "expect: " + key
	if slices.Contains(kinds, key) {
		if c.Kind != "" {
			r.problem(v.at, "expect: %s and %s in one check: want two checks", c.Kind, key)
		}
		c.Kind = key
	}
	switch key {
	case "name", "host", "exit", "pair", "result":
		if !r.text(v, what) {
			return
		}
	}
	switch key {
	case "name":
		c.Name = v.text
	case "pair":
		var err error
		if c.Pair, err = filter.ParsePair(v.text); err != nil {
			r.problem(v.at, "expect: %v", err)
		}
	case "unpaired":
		c.Unpaired = r.count(v, what)
	case "inversions", "lost":
		c.Count = r.count(v, what)
	case "exit":
		c.Daemon = v.text
	case "code":
		c.Code = int(r.number(v, what, 0, 255))
	case "equal":
		for _, f := range r.texts(v, what) {
			host, rest, ok := strings.Cut(f.text, ":")
			daemon, path, also := strings.Cut(rest, "/")
			if !ok || !also || host == "" || daemon == "" || path == "" {
				r.problem(f.at, "expect: equal: got %s, want HOST:DAEMON/PATH", f.what())
				continue
			}
			c.Equal = append(c.Equal, Gathered{host, daemon, path})
			r.gathered(f, c.Equal[len(c.Equal)-1], run)
		}
		if len(c.Equal) != 2 {
			r.problem(v.at, "expect: equal: want two files, HOST:DAEMON/PATH")
		}
	case "result":
		parts := strings.SplitN(v.text, ".", 3)
		if len(parts) != 3 {
			r.problem(v.at, "expect: result: got %s, want DAEMON.PHASE.FIELD", v.what())
			return
		}
		c.Daemon, c.Phase, c.Field = parts[0], parts[1], parts[2]
	case "clock":
		if r.text(v, what) {
			c.Host = r.oneHost(v, what, run)
		}
	case "ahead", "fast":
		r.clockKey(&c.Clock, what, key, v)
	case "within":
		c.Within = r.duration(v, what)
	case "min":
		c.Min = r.float(v, what)
	case "max":
		c.Max = r.float(v, what)
	case "host":
		c.Host = v.text
	}
}

// gathered checks that a file is of a daemon which leaves files.
func (r *reader) gathered(n *node, g Gathered, run *Run) {
	at := slices.IndexFunc(run.Daemons, func(d Daemon) bool { return d.Name == g.Daemon })
	switch {
	case at < 0:
		r.problem(n.at, "expect: equal: unknown daemon %q", g.Daemon)
	case !slices.Contains(run.Daemons[at].Hosts, g.Host):
		r.problem(n.at, "expect: equal: daemon %s does not run on %q%s", g.Daemon, g.Host, hintOrList(g.Host, run.Daemons[at].Hosts))
	case len(run.Daemons[at].Gather) == 0:
		r.problem(n.at, "expect: equal: daemon %s gathers no files: give it gather: [%s]", g.Daemon, g.Path)
	}
}

// checkWhole checks what the keys of a check are together.
func (r *reader) checkWhole(c *Check, n *node, run *Run) {
	allowed := map[string][]string{"pair": {"unpaired"}, "exit": {"code", "host"}, "result": {"min", "max", "host"}, "clock": {"ahead", "fast", "within"}}[c.Kind]
	if c.Kind == "" {
		r.problem(n.at, "expect: want one of %s", strings.Join(kinds, ", "))
		return
	}
	for _, k := range n.keys {
		if k.text != "name" && k.text != c.Kind && !slices.Contains(allowed, k.text) && !slices.Contains(kinds, k.text) {
			r.problem(k.at, "expect: %s is not of %s", k.text, c.Kind)
		}
	}
	if c.Kind == "pair" && c.Pair.Max == 0 && c.Pair.Min == 0 && c.Pair.Begin != "" {
		r.problem(n.get("pair").at, "expect: pair without a threshold: add ,max=5ms or ,min=1us")
	}
	if c.Kind == "clock" && c.Within == 0 {
		r.problem(n.at, "expect: clock without within: want such as within: 1ms")
	}
	if c.Kind == "result" && c.Min == nil && c.Max == nil {
		r.problem(n.at, "expect: result without min or max")
	}
	if c.Kind != "exit" && c.Kind != "result" {
		return
	}
	at := slices.IndexFunc(run.Daemons, func(d Daemon) bool { return d.Name == c.Daemon })
	if at < 0 {
		var known []string
		for _, d := range run.Daemons {
			known = append(known, d.Name)
		}
		r.problem(n.get(c.Kind).at, "expect: %s: unknown daemon %q%s", c.Kind, c.Daemon, hintOrList(c.Daemon, known))
		return
	}
	if d := &run.Daemons[at]; c.Host != "" && !slices.Contains(d.Hosts, c.Host) {
		r.problem(n.get("host").at, "expect: daemon %s does not run on %q%s", c.Daemon, c.Host, hintOrList(c.Host, d.Hosts))
	}
}
