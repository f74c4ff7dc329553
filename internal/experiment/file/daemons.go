package file

import (
	"fmt"
	"path/filepath"
	"slices"

	"meridian/internal/experiment/protocol"
)

func (r *reader) daemons(n *node, run *Run) {
	if !r.is(n, mapping, "daemons: want a mapping of names and daemons") {
		return
	}
	total := 0
	for i, k := range n.keys {
		d := Daemon{Name: r.name(k, "daemons"), At: k.at}
		what := "daemon " + d.Name
		r.object(n.values[i], "daemon", what, func(key string, v *node) { r.daemonKey(&d, what+": "+key, key, v, run) })
		r.program(&d, what, n.values[i])
		if n.values[i].kind == mapping && len(d.Hosts) == 0 && n.values[i].get("hosts") == nil && n.values[i].get("host") == nil {
			r.problem(k.at, "%s: host is missing: where it runs, or hosts: all", what)
		}
		total += len(d.Hosts)
		run.Daemons = append(run.Daemons, d)
	}
	if len(n.keys) == 0 {
		r.problem(n.at, "daemons: want one or more")
	}
	if total > maxDaemons {
		r.problem(n.at, "daemons: %d on all hosts, at most %d", total, maxDaemons)
	}
}

func (r *reader) daemonKey(d *Daemon, what, key string, v *node, run *Run) {
	switch key {
	case "host", "hosts":
		if d.Hosts != nil {
			r.problem(v.at, "daemon %s: host and hosts exclude each other", d.Name)
		}
		d.Hosts = r.someHosts(v, what, run.hostNames())
	case "run":
		r.places(v, what, run)
		d.Run = plain(r.texts(v, what))
	case "shell":
		if r.places(v, what, run); r.is(v, scalar, what+": want a text") {
			d.Shell = v.text
		}
	case "use":
		if r.text(v, what) {
			d.Use = v.text
		}
	case "speaks":
		d.Speaks = r.flag(v, what)
	case "ready":
		if r.text(v, what) {
			d.Ready = v.text
		}
	case "phases":
		for _, p := range r.texts(v, what) {
			d.Phases = append(d.Phases, r.name(p, what))
		}
	case "with":
		d.With = r.parameters(v, what, run)
	case "env":
		d.Env = make(map[string]string)
		if r.parameters(v, what, run) == nil {
			return
		}
		for i, k := range v.keys {
			if r.is(v.values[i], scalar, what+": "+k.text+": want a text") {
				d.Env[k.text] = v.values[i].text
			}
		}
	case "gather":
		for _, p := range r.texts(v, what) {
			if _, err := filepath.Match(p.text, ""); err != nil || !filepath.IsLocal(p.text) {
				r.problem(p.at, "%s: %q is not a pattern within the daemon's directory: want a relative path without .., such as out/*.log", what, p.text)
			}
			d.Gather = append(d.Gather, p.text)
		}
	}
}

// onePhase is the phase of a command.
const onePhase = "run"

// program checks what a daemon is, and completes its phases.
func (r *reader) program(d *Daemon, what string, n *node) {
	if n.kind != mapping {
		return
	}
	var given []string
	for _, k := range []string{"run", "shell", "use"} {
		if n.get(k) != nil {
			given = append(given, k)
		}
	}
	at := d.At
	switch {
	case len(given) == 0:
		r.problem(at, "%s: want one of run, shell and use", what)
	case len(given) > 1:
		r.problem(n.get(given[1]).at, "%s: %s and %s exclude each other", what, given[0], given[1])
	case d.Use != "":
		r.standard(d, what, n)
		return
	case d.Speaks && d.Ready != "":
		r.problem(n.get("ready").at, "%s: ready is of commands; a daemon that speaks says itself when a phase is done", what)
	case !d.Speaks && n.get("phases") != nil:
		r.problem(n.get("phases").at, "%s: phases without speaks: true: a command has the phase %s alone", what, onePhase)
	}
	if !d.Speaks {
		if n.get("with") != nil {
			r.problem(n.get("with").at, "%s: with is of daemons that speak; give a command arguments or env", what)
		}
		d.Phases = []string{onePhase}
	}
}

// standard checks a daemon of ours.
func (r *reader) standard(d *Daemon, what string, n *node) {
	for _, k := range []string{"speaks", "ready", "phases"} {
		if v := n.get(k); v != nil {
			r.problem(v.at, "%s: %s is of programs, not of the standard daemon %s", what, k, d.Use)
		}
	}
	spec := r.spec(d.Use)
	if spec == nil {
		var known []string
		for _, s := range r.o.Standard {
			known = append(known, s.Name)
		}
		r.problem(n.get("use").at, "%s: unknown standard daemon %q%s", what, d.Use, hintOrList(d.Use, known))
		return
	}
	for _, p := range spec.Phases {
		d.Phases = append(d.Phases, p.Name)
	}
	var known []string
	for _, p := range spec.Phases {
		for _, w := range p.With {
			known = append(known, w.Name)
		}
	}
	r.knownParameters(n.get("with"), what, known)
}

// knownParameters checks the names of parameters.
func (r *reader) knownParameters(n *node, what string, known []string) {
	if n == nil || n.kind != mapping {
		return
	}
	for _, k := range n.keys {
		if !slices.Contains(known, k.text) {
			r.problem(k.at, "%s: with: unknown parameter %q%s", what, k.text, hintOrList(k.text, known))
		}
	}
}

func (r *reader) spec(name string) *protocol.Spec {
	for _, s := range r.o.Standard {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// checkPhase checks the parameters of a phase of a standard daemon.
func (r *reader) checkPhase(p *Phase, d *Daemon, with *node) {
	spec := r.spec(d.Use)
	if spec == nil {
		if with != nil && !d.Speaks && d.Use == "" {
			r.problem(with.at, "phase %s.%s: with is of daemons that speak; give a command arguments or env", p.Daemon, p.Phase)
		}
		return
	}
	of := spec.Phase(p.Phase)
	if of == nil {
		return // said already
	}
	var known []string
	for _, w := range of.With {
		known = append(known, w.Name)
		if _, ok := p.With[w.Name]; w.Required && !ok {
			r.problem(p.At, "phase %s.%s: parameter %s is missing: %s", p.Daemon, p.Phase, w.Name, w.Doc)
		}
	}
	r.knownParameters(with, fmt.Sprintf("phase %s.%s", p.Daemon, p.Phase), known)
	for name := range p.With { // of the daemon, for other phases
		if !slices.Contains(known, name) && with.get(name) == nil {
			delete(p.With, name)
		}
	}
}
