package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"meridian/format/ctf"
	"meridian/internal/filter"
	"meridian/trace"
)

// Trigger selects the events that ask for a snapshot: those whose name the pattern selects and that fulfil all conditions.
type Trigger struct {
	Event string // as [filter.Options].Events
	Where []filter.Condition
}

// ParseTrigger reads EVENT[,FIELD OP VALUE]..., such as "sched_switch,prev_tid=17" or "http:request,status>=500,ms>100".
func ParseTrigger(text string) (Trigger, error) {
	event, rest, more := strings.Cut(text, ",")
	t := Trigger{Event: strings.TrimSpace(event)}
	if t.Event == "" {
		return t, fmt.Errorf("invalid trigger %q: want EVENT or EVENT,FIELD>VALUE", text)
	}
	if err := (&filter.Options{Events: []string{t.Event}}).Check(); err != nil {
		return t, err
	}
	for more {
		var condition string
		condition, rest, more = strings.Cut(rest, ",")
		c, err := filter.ParseCondition(condition)
		if err != nil {
			return t, err
		}
		t.Where = append(t.Where, c)
	}
	return t, nil
}

// String returns the trigger as it is read.
func (t *Trigger) String() string {
	parts := []string{t.Event}
	for i := range t.Where {
		parts = append(parts, t.Where[i].String())
	}
	return strings.Join(parts, ",")
}

// triggerTest is what the triggers ask of the events of one class.
type triggerTest struct {
	trigger *Trigger
	matcher *filter.Matcher
}

// triggersOf returns the triggers that events of a class of a source can meet.
func triggersOf(all []Trigger, c *trace.Class, checks *triggerChecks) (tests []triggerTest) {
	checks.declared(c)
	for i := range all {
		t := &all[i]
		if !t.names(c) {
			continue
		}
		if m := filter.NewMatcher(t.Where, c.Fields); m != nil {
			tests = append(tests, triggerTest{trigger: t, matcher: m})
		}
	}
	return tests
}

// ringTriggers are those that events of a class of a ring can meet.
type ringTriggers struct {
	tests    []triggerTest
	contexts []*ctf.Type // before the payload
	payload  *ctf.Type
	values   []trace.Value
}

// triggersOfRing returns the triggers that events of a class of a ring can meet, nil for none.
func triggersOfRing(all []Trigger, s *ctf.StreamClass, e *ctf.EventClass, checks *triggerChecks) *ringTriggers {
	category, _ := strings.CutPrefix(e.URI, "meridian:category:")
	c := trace.Class{Name: e.Name, Category: category}
	if e.Payload != nil {
		for _, f := range e.Payload.Fields {
			c.Fields = append(c.Fields, trace.Field{Name: f.Name, Type: scalarType(f.Type)})
		}
	}
	tests := triggersOf(all, &c, checks)
	if len(tests) == 0 {
		return nil
	}
	return &ringTriggers{tests: tests, contexts: []*ctf.Type{s.EventContext, e.Context}, payload: e.Payload}
}

// met returns the first trigger that an event meets, whose bytes after its header are given; nil for none. Fields behind one
// that is neither a number nor a text are not looked at.
func (r *ringTriggers) met(b []byte) *Trigger {
	for _, t := range r.contexts {
		n, ok := sizeOfType(t, b)
		if !ok {
			return nil
		}
		b = b[n:]
	}
	r.values = r.values[:0]
	if r.payload != nil {
		for _, f := range r.payload.Fields {
			n, ok := sizeOfType(f.Type, b)
			if !ok {
				break
			}
			r.values = append(r.values, scalar(f.Type, b[:n]))
			b = b[n:]
		}
	}
	return met(r.tests, r.values)
}

func met(tests []triggerTest, values []trace.Value) *Trigger {
	for i := range tests {
		if tests[i].matcher.Holds(values) {
			return tests[i].trigger
		}
	}
	return nil
}

// sizeOfType returns how many bytes a value takes at the beginning of b; false if that is not known, or b is too short.
func sizeOfType(t *ctf.Type, b []byte) (n int, ok bool) {
	if t == nil {
		return 0, true
	}
	if t.Align > 8 {
		return 0, false
	}
	switch t.Kind {
	case ctf.Integer, ctf.Float, ctf.Boolean:
		n = t.Size / 8
		return n, t.Size%8 == 0 && n <= len(b)
	case ctf.CString:
		n = bytes.IndexByte(b, 0) + 1
		return n, n > 0
	case ctf.Struct:
		for _, f := range t.Fields {
			size, ok := sizeOfType(f.Type, b[n:])
			if !ok {
				return 0, false
			}
			n += size
		}
		return n, true
	}
	return 0, false
}

// scalarType returns the type of a number or text, that of nothing for others.
func scalarType(t *ctf.Type) trace.Type {
	switch {
	case t.Kind == ctf.Integer && t.Signed:
		return trace.Type{Kind: trace.Int, Bits: t.Size}
	case t.Kind == ctf.Integer || t.Kind == ctf.Boolean:
		return trace.Type{Kind: trace.Uint, Bits: t.Size}
	case t.Kind == ctf.Float:
		return trace.Type{Kind: trace.Float, Bits: t.Size}
	case t.Kind == ctf.CString:
		return trace.Type{Kind: trace.Text}
	}
	return trace.Type{}
}

// scalar returns the value of a number or text, an absent one for others.
func scalar(t *ctf.Type, b []byte) trace.Value {
	if t.Kind == ctf.CString {
		return trace.Value{Kind: trace.Text, Data: b[:len(b)-1]}
	}
	if t.Kind == ctf.Struct || len(b) > 8 || t.BigEndian {
		return trace.Value{}
	}
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	switch {
	case t.Kind == ctf.Float && t.Size == 64:
		return trace.OfFloat(math.Float64frombits(v))
	case t.Kind == ctf.Float && t.Size == 32:
		return trace.OfFloat(float64(math.Float32frombits(uint32(v))))
	case t.Kind == ctf.Integer && t.Signed:
		shift := 64 - t.Size
		return trace.OfInt(int64(v<<shift) >> shift)
	case t.Kind == ctf.Float:
		return trace.Value{}
	}
	return trace.OfUint(v)
}
