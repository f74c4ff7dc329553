package file

import (
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// defaultTimeout is that of a run.
const defaultTimeout = 10 * time.Minute

// run reads one run of the file: that of one combination of variables.
func (r *reader) run(root *node, v *values) *Run {
	resolved := *root
	resolved.values = slices.Clone(root.values)
	for i, k := range root.keys {
		if k.text != "vars" && k.text != "matrix" && k.text != "repeat" {
			resolved.values[i] = r.substitute(root.values[i], v.env)
		}
	}
	run := &Run{Values: v.matrix, Repeat: v.repeat, Timeout: defaultTimeout}
	root = &resolved
	if !r.object(root, "experiment", "file", func(string, *node) {}) {
		return nil
	}
	if n := root.get("on"); n != nil {
		if run.Place = n.text; !slices.Contains(PlaceNames, n.text) {
			r.problem(n.at, "on: got %s, want %s", n.what(), strings.Join(PlaceNames, ", "))
		}
	}
	if n := root.get("timeout"); n != nil {
		run.Timeout = r.duration(n, "timeout")
	}
	if n := root.get("files"); n != nil {
		for _, f := range r.texts(n, "files") {
			if p := path.Clean(f.text); r.text(f, "files") && !filepath.IsLocal(p) {
				r.problem(f.at, "files: %q is not beside this file: want a relative path without ..", f.text)
			} else {
				run.Files = append(run.Files, p)
			}
		}
	}
	if n := root.get("outputs"); n != nil {
		r.outputs(n, run)
	}
	r.hosts(root.get("hosts"), run)
	if n := root.get("links"); n != nil {
		r.links(n, run)
	}
	r.daemons(root.get("daemons"), run)
	r.schedule(root.get("schedule"), run)
	r.packetsWithWrongClock(run)
	if n := root.get("expect"); n != nil {
		r.checks(n, run)
	}
	tree, _ := root.value().(map[string]any)
	delete(tree, "matrix")
	delete(tree, "repeat")
	delete(tree, "vars")
	run.Tree = tree
	return run
}

func (r *reader) hosts(n *node, run *Run) {
	if n.kind == list { // names alone
		for _, v := range n.values {
			r.addHost(v, nil, run)
		}
	} else if r.is(n, mapping, "hosts: want a mapping or a list of names") {
		for i, k := range n.keys {
			r.addHost(k, n.values[i], run)
		}
	}
	if len(run.Hosts) == 0 {
		r.problem(n.at, "hosts: want one host or more")
	}
	if len(run.Hosts) > maxHosts {
		r.problem(n.at, "hosts: %d, at most %d", len(run.Hosts), maxHosts)
	}
}

func (r *reader) addHost(k, v *node, run *Run) {
	h := Host{Name: r.name(k, "hosts"), At: k.at}
	what := "host " + h.Name
	if h.Name == "all" {
		r.problem(k.at, "hosts: all stands for all hosts: choose another name")
	}
	if slices.ContainsFunc(run.Hosts, func(o Host) bool { return o.Name == h.Name }) {
		r.problem(k.at, "hosts: %s is there twice", h.Name)
		return
	}
	if v != nil && v.kind != null {
		r.object(v, "host", what, func(key string, v *node) {
			if key == "clock" {
				r.object(v, "clock", what+": clock", func(key string, v *node) { r.clockKey(&h.Clock, what+": clock: "+key, key, v) })
				return
			}
			if !r.text(v, what+": "+key) {
				return
			}
			if strings.HasPrefix(v.text, "-") {
				r.problem(v.at, "%s: %s: %q begins with -", what, key, v.text)
			}
			switch key {
			case "ssh":
				h.SSH = v.text
			case "agent":
				h.Agent = v.text
			case "address":
				h.Address = v.text
			}
		})
	}
	run.Hosts = append(run.Hosts, h)
}

func (run *Run) hostNames() (all []string) {
	for _, h := range run.Hosts {
		all = append(all, h.Name)
	}
	return all
}

func (r *reader) links(n *node, run *Run) {
	if !r.is(n, list, "links: want a list such as - {between: [a, b], rate: 100Mbit}") {
		return
	}
	seen := make(map[[2]string]bool)
	for _, v := range n.values {
		l := Link{At: v.at}
		r.object(v, "link", "link", func(key string, v *node) {
			switch key {
			case "between":
				ends := r.someHosts(v, "link: between", run.hostNames())
				if len(ends) != 2 || ends[0] == ends[1] {
					r.problem(v.at, "link: between: want two hosts such as [a, b]")
					return
				}
				l.Between = [2]string{min(ends[0], ends[1]), max(ends[0], ends[1])}
			case "rate":
				l.Rate = r.amount(v, "link: rate", rateUnits, "a rate such as 10Mbit or 1Gbit")
			case "buffer":
				l.Buffer = r.amount(v, "link: buffer", sizeUnits, "a size such as 64KiB")
			case "delay":
				l.Delay = r.duration(v, "link: delay")
			case "loss":
				l.Loss = r.part(v, "link: loss")
			}
		})
		if l.Buffer > 0 && l.Rate == 0 {
			r.problem(v.at, "link: buffer without rate: nothing waits")
		}
		if seen[l.Between] && l.Between[0] != "" {
			r.problem(v.at, "link: %s and %s have one already", l.Between[0], l.Between[1])
		}
		seen[l.Between] = true
		run.Links = append(run.Links, l)
	}
}

// someHosts reads names of hosts.
func (r *reader) someHosts(n *node, what string, known []string) (all []string) {
	for _, v := range r.texts(n, what) {
		switch {
		case !r.text(v, what):
		case v.text == "all":
			all = append(all, known...)
		case !slices.Contains(known, v.text):
			r.problem(v.at, "%s: unknown host %q%s", what, v.text, hintOrList(v.text, known))
		case slices.Contains(all, v.text):
			r.problem(v.at, "%s: %s is there twice", what, v.text)
		default:
			all = append(all, v.text)
		}
	}
	return all
}

// parameters reads "with" and "env": a mapping in which variables of the place may stand.
func (r *reader) parameters(n *node, what string, run *Run) map[string]any {
	if !r.is(n, mapping, what+": want a mapping of names and values") {
		return nil
	}
	r.places(n, what, run)
	return n.value().(map[string]any)
}

// places checks the variables of the place within a node.
func (r *reader) places(n *node, what string, run *Run) {
	for _, match := range placeholder.FindAllStringSubmatch(n.text, -1) {
		host, ok := strings.CutPrefix(match[1], "address.")
		if ok && !slices.Contains(run.hostNames(), host) {
			r.problem(n.at, "%s: ${address.%s}: unknown host %q%s", what, host, host, hintOrList(host, run.hostNames()))
		}
	}
	for _, v := range n.values {
		r.places(v, what, run)
	}
}

func merge(of, over map[string]any) map[string]any {
	if len(of) == 0 {
		return over
	}
	all := maps.Clone(of)
	maps.Copy(all, over)
	return all
}

// count reads how many of something are permitted.
func (r *reader) count(n *node, what string) int64 { return r.number(n, what, 0, math.MaxInt64) }
