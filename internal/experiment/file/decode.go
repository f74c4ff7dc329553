package file

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"meridian/internal/filter"
)

// is notes a problem unless a node is of a kind.
func (r *reader) is(n *node, k kind, want string) bool {
	if n.kind == k {
		return true
	}
	what, rest, _ := strings.Cut(want, ": ")
	r.problem(n.at, "%s: got %s, %s", what, n.what(), rest)
	return false
}

// object visits the entries of a mapping by its table, and notes unknown and missing keys. at is that of the mapping itself.
func (r *reader) object(n *node, table, what string, visit func(key string, v *node)) bool {
	if !r.is(n, mapping, what+": want a mapping of "+names(tables[table])) {
		return false
	}
	var known []string
	for _, k := range tables[table] {
		known = append(known, k.name)
	}
	for i, k := range n.keys {
		if !slices.Contains(known, k.text) {
			r.problem(k.at, "%s: unknown key %q%s", what, k.text, hintOrList(k.text, known))
			continue
		}
		if n.values[i].kind == null {
			r.problem(k.at, "%s: %s has no value", what, k.text)
			continue
		}
		visit(k.text, n.values[i])
	}
	whole := true
	for _, k := range tables[table] {
		if k.required && n.get(k.name) == nil {
			whole = false
			r.problem(n.at, "%s: %s is missing: %s", what, k.name, k.doc)
		}
	}
	return whole
}

func names(keys []key) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
	}
	return strings.Join(all, ", ")
}

// hintOrList names the nearest right word, or all.
func hintOrList(word string, known []string) string {
	if h := hint(word, known); h != "" {
		return h
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// hint names the nearest right word; "" if none is near.
func hint(word string, known []string) string {
	best, limit := "", min(2, len(word)/2)
	for _, k := range known {
		if d := filter.Distance(strings.ToLower(word), k); d <= limit {
			best, limit = k, d-1
		}
	}
	if best == "" {
		for _, k := range known { // a plural, or a word with an ending
			if len(word) > 2 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)) {
				best = k
				break
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// nameRule says what names of hosts, daemons and variables are. They become names of files and of environment variables.
const nameRule = "want letters, digits, - and _, at most 40, a letter first"

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`)

func isName(s string) bool { return nameForm.MatchString(s) }

func (r *reader) name(n *node, what string) string {
	if r.text(n, what) && !isName(n.text) {
		r.problem(n.at, "%s: %q is not a name: %s", what, n.text, nameRule)
	}
	return n.text
}

// text notes a problem unless a node is a text without variables of the place.
func (r *reader) text(n *node, what string) bool {
	if !r.is(n, scalar, what+": want a text") {
		return false
	}
	for _, match := range placeholder.FindAllStringSubmatch(n.text, -1) {
		if late(match[1]) {
			r.problem(n.at, "%s: ${%s} is known in run, shell, env and with of a daemon and in with of a phase only", what, match[1])
			return false
		}
	}
	return true
}

// texts returns a list of texts, or one text as a list.
func (r *reader) texts(n *node, what string) (all []*node) {
	switch n.kind {
	case scalar:
		return []*node{n}
	case list:
		for _, v := range n.values {
			if r.is(v, scalar, what+": want a text") {
				all = append(all, v)
			}
		}
		if len(n.values) == 0 {
			r.problem(n.at, "%s: the list is empty", what)
		}
		return all
	}
	r.problem(n.at, "%s: got %s, want a list of texts", what, n.what())
	return nil
}

func plain(nodes []*node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.text)
	}
	return all
}

func (r *reader) number(n *node, what string, low, high int64) int64 {
	i, err := strconv.ParseInt(n.text, 10, 64)
	if n.kind != scalar || n.quoted || err != nil || i < low || i > high {
		limit := fmt.Sprintf("from %d to %d", low, high)
		if high == math.MaxInt64 {
			limit = fmt.Sprintf("of %d or more", low)
		}
		r.problem(n.at, "%s: got %s, want a whole number %s", what, n.what(), limit)
		return low
	}
	return i
}

func (r *reader) float(n *node, what string) *float64 {
	f, err := strconv.ParseFloat(n.text, 64)
	if n.kind != scalar || n.quoted || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.problem(n.at, "%s: got %s, want a number", what, n.what())
	}
	return &f
}

func (r *reader) flag(n *node, what string) bool {
	if n.kind != scalar || n.text != "true" && n.text != "false" {
		r.problem(n.at, "%s: got %s, want true or false", what, n.what())
	}
	return n.text == "true"
}

// maxTimeout bounds all durations of a file.
const maxTimeout = 7 * 24 * time.Hour

func (r *reader) duration(n *node, what string) time.Duration {
	d, err := time.ParseDuration(n.text)
	if n.kind != scalar || err != nil || d <= 0 || d > maxTimeout {
		r.problem(n.at, "%s: got %s, want a time such as 500ms, 20s or 5m", what, n.what())
		return time.Second
	}
	return d
}

var sizeUnits = map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
var rateUnits = map[string]float64{"bit": 1, "kbit": 1e3, "Kbit": 1e3, "Mbit": 1e6, "mbit": 1e6, "Gbit": 1e9, "gbit": 1e9}

var quantity = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z%]*)$`)

// amount reads a number with a unit; the result is at least 1.
func (r *reader) amount(n *node, what string, units map[string]float64, want string) int64 {
	m := quantity.FindStringSubmatch(n.text)
	if n.kind == scalar && m != nil && units[m[2]] != 0 {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil && f*units[m[2]] >= 1 && f*units[m[2]] < 1e15 {
			return int64(f * units[m[2]])
		}
	}
	r.problem(n.at, "%s: got %s, want %s", what, n.what(), want)
	return 1
}

// part reads a percentage.
func (r *reader) part(n *node, what string) float64 {
	m := quantity.FindStringSubmatch(n.text)
	if n.kind == scalar && m != nil && m[2] == "%" {
		if f, err := strconv.ParseFloat(m[1], 64); err == nil && f <= 100 {
			return f / 100
		}
	}
	r.problem(n.at, "%s: got %s, want a percentage from 0%% to 100%%", what, n.what())
	return 0
}
