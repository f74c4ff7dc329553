package file

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// values are the variables of one run.
type values struct {
	env    map[string]string
	matrix []Value
	repeat int
}

// placeholder matches ${name}, and $${ which stands for ${.
var placeholder = regexp.MustCompile(`\$\$\{|\$\{([^{}]*)\}`)

// late says whether a variable gets its value when hosts are placed.
func late(name string) bool {
	return name == "host" || name == "address" || strings.HasPrefix(name, "address.")
}

// grid reads vars, matrix and repeat, and returns the variables of each run.
func (r *reader) grid(root *node, e *Experiment) []values {
	vars := make(map[string]string)
	r.variables(root.get("vars"), "vars", func(name string, v *node) {
		if v.kind != scalar {
			r.problem(v.at, "vars: %s: got %s, want one value; matrix has lists", name, v.what())
			return
		}
		vars[name] = r.substitute(v, vars).text
	})
	r.variables(root.get("matrix"), "matrix", func(name string, v *node) {
		if _, taken := vars[name]; taken {
			r.problem(v.at, "matrix: %s is in vars too", name)
		}
		if v.kind == list && len(v.values) == 0 {
			r.problem(v.at, "matrix: %s: the list is empty, want values such as [1, 2]", name)
			return
		}
		if v.kind != list {
			r.problem(v.at, "matrix: %s: got %s, want a list of values such as [1, 2]", name, v.what())
			return
		}
		axis := Axis{Name: name}
		for _, one := range v.values {
			if one.kind != scalar {
				r.problem(one.at, "matrix: %s: got %s, want values", name, one.what())
				continue
			}
			if text := r.substitute(one, vars).text; slices.Contains(axis.Values, text) {
				r.problem(one.at, "matrix: %s has the value %q twice", name, text)
			} else {
				axis.Values = append(axis.Values, text)
			}
		}
		e.Axes = append(e.Axes, axis)
	})
	repeats := 1
	if n := root.get("repeat"); n != nil {
		repeats = int(r.number(r.substitute(n, vars), "repeat", 1, maxRuns))
	}
	runs := max(repeats, 1)
	for _, a := range e.Axes {
		if runs *= max(len(a.Values), 1); runs > maxRuns {
			r.problem(root.get("matrix").at, "more than %d runs", maxRuns)
			return nil
		}
	}
	all := []values{{env: vars}}
	for _, a := range e.Axes {
		var next []values
		for _, v := range all {
			for _, text := range a.Values {
				env := maps.Clone(v.env)
				env[a.Name] = text
				next = append(next, values{env: env, matrix: append(slices.Clone(v.matrix), Value{a.Name, text})})
			}
		}
		all = next
	}
	var repeated []values
	for _, v := range all {
		for i := range max(repeats, 1) {
			env := maps.Clone(v.env)
			env["repeat"] = strconv.Itoa(i + 1)
			repeated = append(repeated, values{env: env, matrix: v.matrix, repeat: i + 1})
		}
	}
	return repeated
}

// variables visits the entries of vars or matrix.
func (r *reader) variables(n *node, what string, visit func(name string, v *node)) {
	if n == nil || !r.is(n, mapping, what+": want a mapping of names and values") {
		return
	}
	for i, k := range n.keys {
		if !isName(k.text) {
			r.problem(k.at, "%s: %q is not a name: %s", what, k.text, nameRule)
		} else if late(k.text) || k.text == "repeat" {
			r.problem(k.at, "%s: ${%s} has a value of its own: choose another name", what, k.text)
		} else {
			visit(k.text, n.values[i])
		}
	}
}

// substitute returns a node with the variables of a run in place of ${name}. What only the place knows stays.
func (r *reader) substitute(n *node, env map[string]string) *node {
	if n.kind == null || n.kind == scalar && !strings.Contains(n.text, "${") {
		return n
	}
	out := *n
	if n.kind == scalar {
		if whole := placeholder.FindString(n.text); whole == n.text && whole != "$${" {
			out.quoted = false // "${count}" is a number where count is one: flow style needs the quotes
		}
		out.text = placeholder.ReplaceAllStringFunc(n.text, func(match string) string {
			name, _ := strings.CutPrefix(strings.TrimSuffix(match, "}"), "${")
			value, ok := env[name]
			switch {
			case match == "$${", late(name):
				return match // Places resolves them
			case !ok:
				known := append(slices.Sorted(maps.Keys(env)), "host", "address")
				r.problem(n.at, "unknown variable ${%s}%s; $${ stands for ${", name, hint(name, known))
			}
			return value
		})
		return &out
	}
	out.values = make([]*node, len(n.values))
	for i, v := range n.values {
		out.values[i] = r.substitute(v, env)
	}
	return &out
}

// Places resolves what only the place knows: ${host}, ${address} and ${address.HOST}, and makes ${ of $${. Names were checked when the file was read.
func Places(text, host string, addresses map[string]string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name, _ := strings.CutPrefix(strings.TrimSuffix(match, "}"), "${")
		switch {
		case match == "$${":
			return "${"
		case name == "host":
			return host
		case name == "address":
			return addresses[host]
		}
		return addresses[strings.TrimPrefix(name, "address.")]
	})
}

// PlacesIn is Places for every text within a value as JSON has it. The value itself stays as it is.
func PlacesIn(v any, host string, addresses map[string]string) any {
	switch v := v.(type) {
	case string:
		return Places(v, host, addresses)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = PlacesIn(v[i], host, addresses)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, one := range v {
			out[k] = PlacesIn(one, host, addresses)
		}
		return out
	}
	return v
}

// value returns what a node means as JSON has it: numbers, true and false are such unless they are quoted.
func (n *node) value() any {
	switch n.kind {
	case mapping:
		out := make(map[string]any, len(n.keys))
		for i, k := range n.keys {
			out[k.text] = n.values[i].value()
		}
		return out
	case list:
		out := make([]any, 0, len(n.values))
		for _, v := range n.values {
			out = append(out, v.value())
		}
		return out
	case null:
		return nil
	}
	if n.quoted {
		return n.text
	}
	switch n.text {
	case "true":
		return true
	case "false":
		return false
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(n.text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && strings.Trim(n.text, "+-.0123456789eE") == "" {
		return f
	}
	return n.text
}
