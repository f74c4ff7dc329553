package ctf

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"meridian/trace"
)

// A trace that Meridian wrote is read back as what it was written from. The name of an event class ends with what its
// events do to their row, the event context says of which slice and which message an event is, and the packet context
// names the row.

// linkSlots are the slots of an event's slice, flow and role; -1 for those that its class lacks.
type linkSlots struct {
	any               bool
	slice, flow, role int
}

// bindLinks finds the phase and the link fields (slice, flow, role) of an event class, and gives these slots. The class becomes
// one with the name and the fields that it was written from.
func (p *tracePlan) bindLinks(ep *eventPlan, c *compiler) {
	ep.links = linkSlots{slice: -1, flow: -1, role: -1}
	slots := map[string]*int{"slice": &ep.links.slice, "flow": &ep.links.flow, "role": &ep.links.role}
	class := *ep.class
	for phase, ending := range phaseEndings {
		if name, ok := strings.CutSuffix(class.Name, ending); ok && ending != "" && !strings.HasPrefix(class.URI, instantURI) {
			class.Name, ep.phase = name, trace.Phase(phase)
			break
		}
	}
	if class.Context != nil {
		context := *class.Context
		context.Fields = append([]Field{}, context.Fields...)
		for i := range context.Fields {
			f := &context.Fields[i]
			to := slots[f.Name]
			if to == nil || f.Type == nil || f.Type.Kind != Integer || f.Type.Size > 64 {
				continue
			}
			t := *f.Type
			if t.Slot < 0 {
				t.Slot = max(p.slots, c.slots)
				p.slots = t.Slot + 1
			}
			f.Type, *to, ep.links.any = &t, t.Slot, true
			ep.hidden = append(ep.hidden, i) // among the context so far
		}
		class.Context = &context
	}
	ep.class = &class
}

// link copies slice, flow and role from their slots.
func (ep *eventPlan) link(e *trace.Event, slots []uint64) {
	if s := ep.links.slice; s >= 0 {
		e.Slice = slots[s]
	}
	if s := ep.links.flow; s >= 0 {
		e.Flow = slots[s]
	}
	if s := ep.links.role; s >= 0 && slots[s] <= uint64(trace.Leaves) {
		e.Role = trace.Role(slots[s])
	}
}

// visible removes the values that are fields of trace.Event.
func (ep *eventPlan) visible(v []trace.Value) []trace.Value {
	kept := v[:0]
	next := 0
	for i := range v {
		if next < len(ep.hidden) && ep.hidden[next] == i {
			next++
			continue
		}
		kept = append(kept, v[i])
	}
	return kept
}

// streamNaming holds the indexes of the fields that name the stream, in the packet context or in the common event context; -1 for absent ones.
type streamNaming struct {
	scope                  Scope
	name, kind, id, parent int
	host                   int // of a stream with the events of several hosts
}

// streamNamingOf finds those of a stream class of Meridian's. Streams that share a file are named with each event.
func streamNamingOf(class *StreamClass) streamNaming {
	for _, scope := range []Scope{PacketContextScope, CommonContextScope} {
		t := class.PacketContext
		if scope == CommonContextScope {
			t = class.EventContext
		}
		f := streamNaming{scope, fieldIndex(t, "row"), fieldIndex(t, "row_kind"), fieldIndex(t, "row_id"), fieldIndex(t, "row_parent"), -1}
		if scope == CommonContextScope {
			f.host = fieldIndex(t, "host")
		}
		if f.name >= 0 {
			return f
		}
	}
	return streamNaming{name: -1}
}

// checksummed gives the checksum in the packet context of a stream class of Meridian's a slot, in a copy of the context. It is
// the CRC-32C of the events: the content behind the context.
func (p *tracePlan) checksummed(sp *streamPlan) *Type {
	t := sp.class.PacketContext
	k := fieldIndex(t, "crc32c")
	if !p.meridian || k < 0 || t.Fields[k].Type == nil || t.Fields[k].Type.Kind != Integer || t.Fields[k].Type.Size != 32 {
		return t
	}
	sum, context := *t.Fields[k].Type, *t
	if sum.Slot < 0 {
		sum.Slot = p.slots
		p.slots++
	}
	sp.checksum = sum.Slot
	context.Fields = slices.Clone(t.Fields)
	context.Fields[k].Type = &sum
	return &context
}

// fieldIndex returns the index of the field with a name, -1 without one.
func fieldIndex(t *Type, name string) int {
	if t == nil {
		return -1
	}
	return slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
}

// hidden appends the indexes of the common context fields that name the stream; base is the index of the first.
func (f *streamNaming) takenOf(base int, taken []int) []int {
	if f.name < 0 || f.scope != CommonContextScope {
		return taken
	}
	for _, k := range []int{f.name, f.kind, f.id, f.parent, f.host} {
		if k >= 0 {
			taken = append(taken, base+k)
		}
	}
	slices.Sort(taken)
	return taken
}

func streamKindOf(name []byte) trace.StreamKind {
	for k := range trace.StreamKinds {
		if k.String() == string(name) {
			return k
		}
	}
	return trace.OtherStream
}

// namedStreams are the streams that Meridian's packets and events have named so far.
type namedStreams struct {
	key     []byte
	byKey   map[string]int
	parents map[string]int // a row that is only known as a parent, by its host and its name
}

// namedStream returns the stream that the reader's packet or event names.
func (s *Source) namedStream(r *Reader) int {
	_, fields := r.Fields(r.sp.naming.scope)
	at := r.sp.naming
	part := func(i int) []byte {
		if i < 0 || i >= len(fields) {
			return nil
		}
		return fields[i].Data
	}
	id := int64(0)
	if at.id >= 0 {
		id = fields[at.id].Int()
	}
	t := &s.named
	t.key = binary.LittleEndian.AppendUint64(t.key[:0], uint64(id))
	t.key = append(append(append(append(append(t.key, part(at.kind)...), 0), part(at.host)...), 0), part(at.name)...)
	if n, ok := t.byKey[string(t.key)]; ok {
		return n
	}
	if t.byKey == nil {
		t.byKey, t.parents = map[string]int{}, map[string]int{}
	}
	row := trace.Stream{Name: string(part(at.name)), Host: string(part(at.host)), Kind: streamKindOf(part(at.kind)), ID: id, Parent: -1}
	whole := row.Host + "\x00" + row.Name
	n, known := t.parents[whole]
	if known {
		delete(t.parents, whole)
		row.Parent = s.streams[n].Parent
		s.streams[n] = row
	} else {
		n = s.addStream(row)
	}
	t.byKey[string(t.key)] = n
	if parent := string(part(at.parent)); parent != "" {
		s.streams[n].Parent = s.parentStream(row.Host, parent, n)
	}
	return n
}

// parentStream returns the stream of a host's name; if there is none yet, one to be completed later.
func (s *Source) parentStream(host, name string, child int) int {
	for i := range s.streams {
		if i != child && s.streams[i].Name == name && s.streams[i].Host == host {
			return i
		}
	}
	n := s.addStream(trace.Stream{Name: name, Host: host})
	s.named.parents[host+"\x00"+name] = n
	return n
}

// restoreClass gives a class of Meridian's the category and the fields that the writer was given.
func (ep *eventPlan) restoreClass(c trace.Class) trace.Class {
	for _, prefix := range []string{categoryURI, instantURI} {
		if category, ok := strings.CutPrefix(ep.class.URI, prefix); ok {
			c.Category = category
		}
	}
	c, ep.restore = newRestorer(c)
	return c
}

// embedFields returns the index of each of a class's fields among those of a wider class of the same name; false if
// they are not all there, in their order. Fields that all records of an event class lack are not in the file.
func embedFields(c, wider *trace.Class) (place []int, ok bool) {
	if c.Name != wider.Name || c.Category != wider.Category || len(c.Fields) > len(wider.Fields) || c.Context > wider.Context {
		return nil, false
	}
	own, ownWide := len(c.Fields)-c.Context, len(wider.Fields)-wider.Context
	k := 0
	for i := range c.Fields {
		if i == own {
			k = max(k, ownWide)
		}
		end := len(wider.Fields)
		if i < own {
			end = ownWide
		}
		for k < end && !reflect.DeepEqual(c.Fields[i], wider.Fields[k]) {
			k++
		}
		if k == end {
			return nil, false
		}
		place = append(place, k)
		k++
	}
	return place, true
}
