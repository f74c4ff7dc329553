package sensor

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// class is one type of events, whatever its fields.
type class struct {
	// The gate points to the switch in the ring, or to [off] if there is no ring. Any process that may write the ring's file may
	// store the switch.
	gate
	// number is the class's in the ring. Classes are entered in the order in which they were declared, so that it holds for
	// every ring of the process.
	number uint32

	category, name  string
	ending          string // of the name in the trace: what its events do to their row
	context, fields []member
}

// off is the switch of all classes as long as there is no ring.
var off uint32

// Enabled reports whether an event would be written. Ask it before computing expensive fields.
func (c *class) Enabled() bool { return c.open() }

// Longest names, in bytes.
const (
	maxName     = 160
	maxCategory = 64
)

// classes is all that were declared.
var classes struct {
	sync.Mutex
	all   []*class
	known map[string]any // by declaration: what NewEvent and the others returned
}

// declare returns the event type of a declaration: a new one, or that of an earlier call with the same arguments. It panics for
// invalid names: declarations are package variables, so that the program fails at its start.
func declare[E any](category, name, ending string, context, fields []member, made func(*E) *class) *E {
	bad := func(s string) bool {
		return !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' })
	}
	if name == "" || len(name)+len(ending) > maxName || bad(name) {
		panic(fmt.Sprintf("sensor: event %q: a name has 1 to %d bytes of UTF-8, no quotes, backslashes and control characters", name, maxName-len(ending)))
	}
	if len(category) > maxCategory || bad(category) {
		panic(fmt.Sprintf("sensor: event %q: its category %q must have at most %d bytes of UTF-8, no quotes, backslashes and control characters",
			name, category, maxCategory))
	}
	e := new(E)
	key := fmt.Sprintf("%T %q %q %v %v", e, category, name+ending, context, fields)
	classes.Lock()
	defer classes.Unlock()
	if known, ok := classes.known[key].(*E); ok {
		return known
	}
	if classes.known == nil {
		classes.known = map[string]any{}
	}
	classes.known[key] = e
	c := made(e)
	c.category, c.name, c.ending, c.context, c.fields = category, name, ending, context, fields
	c.number = uint32(len(classes.all))
	c.lead(&off)
	classes.all = append(classes.all, c)
	if r := running.Load(); r != nil {
		r.enter(c)
	}
	return e
}
