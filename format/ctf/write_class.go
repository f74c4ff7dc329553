package ctf

import (
	"slices"
	"strings"

	"meridian/trace"
)

// classPlan is a class of the schema and what is known of its events so far.
type classPlan struct {
	class            trace.Class
	context          int    // how many of the fields are context
	contextInPayload bool   // the context has a part that needs a length or a selector
	known            uint32 // the version for which contextInPayload was computed
	version          uint32 // counts the changes of which fields are optional
	presence         []presence
	nested           bool            // some field has parts, which may be absent too
	patterns         map[uint64]bool // of absent fields
	last             uint64          // the pattern that came last
}

// presence says whether a field, or a part of one, may be absent, as far as is known.
type presence struct {
	optional bool
	parts    []presence // Struct, Choice: one for each; Array: one
}

// maxPatterns is how many sets of absent fields a class may have before they become optional.
const maxPatterns = 32

func (w *Writer) plan(class int) *classPlan {
	for class >= len(w.plans) {
		w.plans = append(w.plans, nil)
	}
	if p := w.plans[class]; p != nil {
		return p
	}
	c := w.schema.Classes[class]
	p := &classPlan{class: c, context: min(max(c.Context, 0), len(c.Fields)), patterns: map[uint64]bool{0: true}}
	p.presence = make([]presence, len(c.Fields))
	for i := range c.Fields {
		p.presence[i] = newPresence(&c.Fields[i].Type, 0)
		p.nested = p.nested || len(p.presence[i].parts) > 0
	}
	p.contextInPayload = p.needsHelper()
	w.plans[class] = p
	return p
}

// needsHelper reports whether a part of the context needs a length, a selector or a presence.
func (p *classPlan) needsHelper() bool {
	for i := len(p.presence) - p.context; i < len(p.presence); i++ {
		if p.presence[i].needsHelper(&p.class.Fields[i].Type, 0) {
			return true
		}
	}
	return false
}

func (x *presence) needsHelper(t *trace.Type, depth int) bool {
	if depth > maxTypeDepth || x.optional || t.Kind == trace.Bytes || t.Kind == trace.Variant || t.Kind == trace.Array && t.Length == 0 {
		return true
	}
	switch t.Kind {
	case trace.Struct:
		for i := range x.parts {
			if x.parts[i].needsHelper(&t.Fields[i].Type, depth+1) {
				return true
			}
		}
	case trace.Array:
		return t.Elem != nil && x.parts[0].needsHelper(t.Elem, depth+1)
	}
	return false
}

func newPresence(t *trace.Type, depth int) presence {
	var p presence
	if depth > maxTypeDepth {
		return p
	}
	switch t.Kind {
	case trace.Struct, trace.Variant:
		p.parts = make([]presence, len(t.Fields))
		for i := range t.Fields {
			p.parts[i] = newPresence(&t.Fields[i].Type, depth+1)
		}
	case trace.Array:
		if t.Elem != nil {
			p.parts = []presence{newPresence(t.Elem, depth+1)}
		}
	}
	return p
}

// missing returns the fields that are absent and not optional, a bit for each, and makes those optional that cannot be
// encoded so: beyond the 64th, inside others, or in one pattern too many.
func (p *classPlan) missing(values []trace.Value) uint64 {
	m := uint64(0)
	for i := range p.presence {
		if (i >= len(values) || values[i].Kind == trace.None) && !p.presence[i].optional {
			if i < 64 {
				m |= 1 << i
			} else {
				p.presence[i].optional = true
				p.version++
			}
		}
	}
	if p.nested {
		for i := range values {
			if len(p.presence[i].parts) > 0 && values[i].Kind != trace.None {
				p.markAbsent(&p.presence[i], &p.class.Fields[i].Type, &values[i])
			}
		}
	}
	if p.version != p.known {
		p.known, p.contextInPayload = p.version, p.needsHelper()
	}
	if m == p.last {
		return m
	}
	if !p.patterns[m] {
		if len(p.patterns) >= maxPatterns {
			for i := range p.presence {
				if i < 64 && m>>i&1 != 0 {
					p.presence[i].optional = true
				}
			}
			p.version++
			p.known, p.contextInPayload = p.version, p.needsHelper()
			return 0
		}
		p.patterns[m] = true
	}
	p.last = m
	return m
}

// markAbsent makes the absent parts of a value optional.
func (p *classPlan) markAbsent(x *presence, t *trace.Type, v *trace.Value) {
	look := func(x *presence, t *trace.Type, v *trace.Value) {
		if v.Kind == trace.None && t.Kind != trace.None {
			if !x.optional {
				x.optional = true
				p.version++
			}
		} else if len(x.parts) > 0 {
			p.markAbsent(x, t, v)
		}
	}
	switch t.Kind {
	case trace.Struct:
		for i := range x.parts {
			if i < len(v.Items) {
				look(&x.parts[i], &t.Fields[i].Type, &v.Items[i])
			} else {
				look(&x.parts[i], &t.Fields[i].Type, &absentValue)
			}
		}
	case trace.Array:
		for i := range v.Items {
			look(&x.parts[0], t.Elem, &v.Items[i])
		}
	case trace.Variant:
		if v.Bits < uint64(len(x.parts)) && len(v.Items) == 1 {
			look(&x.parts[v.Bits], &t.Fields[v.Bits].Type, &v.Items[0])
		}
	}
}

// eventKey distinguishes the event classes of one class.
type eventKey struct {
	missing uint64
	version uint32
	phase   trace.Phase
	extras  uint8
}

const (
	hasSlice = 1 << iota
	hasFlow
	hasRole
	hasComponent // of a PacketWriter, like all below
	hasBounds
	hasBehind
	hasMoved
)

// streamEvents are the event classes of a stream class, by class of the schema.
type streamEvents []classEvents

type classEvents struct {
	last  eventKey
	index int // of the last one's event class in its stream class
	byKey map[eventKey]int
}

// event returns the index of the event class for a key and makes it at its first event.
func (h *hostWriter) event(stream, class int, key eventKey, p *classPlan) int {
	for class >= len(h.events[stream]) {
		h.events[stream] = append(h.events[stream], classEvents{})
	}
	e := &h.events[stream][class]
	if e.byKey != nil && e.last == key {
		return e.index
	}
	index, ok := e.byKey[key]
	if !ok {
		s := &h.m.Streams[stream]
		index = len(s.Events)
		s.Events = append(s.Events, h.eventClass(uint64(index), key, p))
		if e.byKey == nil {
			e.byKey = map[eventKey]int{}
		}
		e.byKey[key] = index
	}
	e.last, e.index = key, index
	return index
}

// phaseEndings are what the names of event classes end in, by phase.
var phaseEndings = [...]string{trace.Instant: "", trace.Begin: ":begin", trace.End: ":end", trace.Counter: ":counter"}

// eventName returns the name and the model.emf.uri of an event class: the name of the class and what its phase adds, and its category.
// Instant events keep their name even if it ends like that of a phase: the URI then says that it does not.
func eventName(class *trace.Class, phase trace.Phase) (name, uri string) {
	name = class.Name
	if int(phase) < len(phaseEndings) {
		name += phaseEndings[phase]
	}
	if phase == trace.Instant && hasPhaseEnding(name) {
		return name, instantURI + class.Category
	}
	if class.Category != "" {
		uri = categoryURI + class.Category
	}
	return name, uri
}

func hasPhaseEnding(name string) bool {
	return slices.ContainsFunc(phaseEndings[1:], func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// The model.emf.uri of an event class begins with one of these, before its category.
const (
	categoryURI = "meridian:category:"
	instantURI  = "meridian:instant:" // instant events with a name that ends like that of another phase
)

func (h *hostWriter) eventClass(id uint64, key eventKey, p *classPlan) EventClass {
	e := EventClass{ID: id}
	e.Name, e.URI = eventName(&p.class, key.phase)
	var context, fields []Field
	if key.extras&hasSlice != 0 {
		context = append(context, Field{"slice", plainInteger(64, NoRole)})
	}
	if key.extras&hasFlow != 0 {
		context = append(context, Field{"flow", plainInteger(64, NoRole)})
	}
	if key.extras&hasRole != 0 {
		context = append(context, Field{"role", enumerationOf(8, trace.Leaves+1, roleName)})
	}
	context = append(context, key.placed()...)
	reserved := make(map[string]bool, len(context))
	for i := range context {
		reserved[context[i].Name] = true // which mean something in this place
	}
	reserved["slice"], reserved["flow"], reserved["role"] = true, true, true
	var added []Field
	for i := range p.class.Fields {
		if i < 64 && key.missing>>i&1 != 0 {
			continue
		}
		f := &p.class.Fields[i]
		made := h.fieldsFor(f.Name, &f.Type, &p.presence[i], 0)
		if i < len(p.class.Fields)-p.context {
			fields = append(fields, made...)
		} else {
			added = append(added, made...)
		}
	}
	if p.contextInPayload {
		fields = append(fields, Field{"_context", structOfFields(added...)})
	} else {
		for i := range added {
			if n := added[i].Name; reserved[n] {
				added[i].Name = n + "_"
			}
		}
		context = append(context, added...)
	}
	if len(context) > 0 {
		e.Context = structOfFields(context...)
	}
	e.Payload = structOfFields(fields...)
	return e
}

// placed returns the fields that say where a [PacketWriter]'s event is on the timeline.
func (k *eventKey) placed() (fields []Field) {
	for _, x := range []struct {
		extra uint8
		names []string
	}{{hasComponent, []string{"component"}}, {hasBounds, []string{"early", "late"}}, {hasBehind, []string{"behind"}}, {hasMoved, []string{"moved"}}} {
		for _, name := range x.names {
			if k.extras&x.extra != 0 {
				fields = append(fields, Field{name, plainInteger(64, NoRole)})
			}
		}
	}
	return fields
}

func roleName(r trace.Role) string {
	return [...]string{"none", "sends", "receives", "enters", "leaves"}[r]
}
