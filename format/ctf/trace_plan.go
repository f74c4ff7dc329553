package ctf

import (
	"fmt"
	"slices"

	"meridian/trace"
)

// tracePlan is a trace's metadata, compiled. Readers share it; it does not change.
type tracePlan struct {
	m            *Metadata
	mark         packetMark
	header       []op
	headerMakers []maker
	streams      map[uint64]*streamPlan
	list         []*streamPlan    // as in the metadata
	masks        map[*Type]uint64 // the alignments, less one, of what the scopes hold
	slots        int
	meridian     bool // written by Meridian
}

type streamPlan struct {
	number        int // index into the metadata's streams
	class         *StreamClass
	context       []op
	contextMakers []maker
	header        []op // of its events
	head          headPlan
	headerMakers  []maker
	extra         []int // fields of the event header that say neither class nor time
	common        []maker
	commonMask    uint64
	hasCPU        bool
	row           rowFields // of traces that Meridian wrote
	dense         []*eventPlan
	sparse        map[uint64]*eventPlan
	events        []*eventPlan
}

type eventPlan struct {
	class       *EventClass
	program     []op
	fixed       bool // the program is one skip:
	mask, size  uint64
	context     []maker
	payload     []maker
	contextMask uint64
	payloadMask uint64
	total       int   // values, those in taken included
	taken       []int // values that the event itself has: see meridian.go
	marks       markSlots
	number      int // in the classes of a Source
	back        *restorer
	place       []int  // where the values stand among its class's fields; nil: in their order
	written     string // the class's name as it stands in the metadata
	phase       trace.Phase
}

// densest is up to which number events are found by a table.
const densest = 1 << 12

func (sp *streamPlan) event(id uint64) *eventPlan {
	if id < uint64(len(sp.dense)) {
		return sp.dense[id]
	}
	return sp.sparse[id]
}

// newPlan compiles metadata. An event class that cannot be is left out, with a warning.
func newPlan(m *Metadata, file string, w *trace.Warnings) (*tracePlan, error) {
	p := &tracePlan{m: m, mark: newMark(m), streams: map[uint64]*streamPlan{}, masks: map[*Type]uint64{}}
	p.slots = m.Slots
	for _, e := range m.Env {
		p.meridian = p.meridian || e.Name == "tracer_name" && e.IsText && e.Text == "meridian"
	}
	// Roles count outside of events alone; what is known of a type depends on it.
	roles := &compiler{extents: map[*Type]extent{}, roles: true}
	plain := &compiler{extents: map[*Type]extent{}}
	p.header = roles.compile(m.PacketHeader)
	p.headerMakers = p.group(plain, m.PacketHeader)
	if roles.err != nil {
		return nil, fmt.Errorf("%s: the packet header has %w", file, roles.err)
	}
	for i := range m.Streams {
		class := &m.Streams[i]
		sp := &streamPlan{number: i, class: class, sparse: map[uint64]*eventPlan{}}
		sp.context = roles.compile(class.PacketContext)
		sp.contextMakers = p.group(plain, class.PacketContext)
		sp.header = roles.compile(class.EventHeader)
		sp.headerMakers = p.group(plain, class.EventHeader)
		sp.common = p.group(plain, class.EventContext)
		sp.commonMask = p.masks[class.EventContext]
		if err := cmpErr(roles.err, plain.err); err != nil {
			return nil, fmt.Errorf("%s: stream class %d has %w", file, class.ID, err)
		}
		p.slots = max(p.slots, roles.slots, plain.slots)
		sp.head = newHeadPlan(class.EventHeader, roles, plain)
		sp.hasCPU = bearsRole(class.PacketContext, CPU)
		sp.row = rowFields{name: -1}
		if p.meridian {
			sp.row = rowOf(class)
		}
		if class.EventHeader != nil {
			for k, f := range class.EventHeader.Fields {
				if !bearsRole(f.Type, EventClassID) && !bearsRole(f.Type, Stamp) {
					sp.extra = append(sp.extra, k)
				}
			}
		}
		for k := range class.Events {
			plain.err = nil
			ep := p.event(sp, &class.Events[k], plain)
			if plain.err != nil {
				w.Add(file, "event class left out: it has "+plain.err.Error(), class.Events[k].Name)
				continue
			}
			sp.add(ep)
		}
		if _, twice := p.streams[class.ID]; twice {
			w.Add(file, "two stream classes have one number", fmt.Sprint(class.ID))
			continue
		}
		p.streams[class.ID] = sp
		p.list = append(p.list, sp)
	}
	p.slots = max(p.slots, roles.slots, plain.slots)
	return p, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// group compiles the fields of a scope, and keeps its alignment.
func (p *tracePlan) group(c *compiler, t *Type) []maker {
	if t == nil {
		return nil
	}
	p.masks[t] = c.extent(t).align - 1
	return c.makers(t)
}

func (p *tracePlan) event(sp *streamPlan, class *EventClass, c *compiler) *eventPlan {
	ep := &eventPlan{class: class, written: class.Name}
	if p.meridian {
		p.takeMarks(ep, c)
	}
	class = ep.class
	ep.program = c.compile(sp.class.EventContext, class.Context, class.Payload)
	ep.context, ep.payload = p.group(c, class.Context), p.group(c, class.Payload)
	ep.contextMask, ep.payloadMask = p.masks[class.Context], p.masks[class.Payload]
	switch {
	case len(ep.program) == 0:
		ep.fixed = true
	case len(ep.program) == 1 && ep.program[0].code == opSkip:
		ep.fixed, ep.mask, ep.size = true, ep.program[0].mask, ep.program[0].size
	}
	ep.total = len(ep.payload) + len(sp.extra) + len(sp.common) + len(ep.context)
	if sp.hasCPU {
		ep.total++
	}
	own := ep.taken
	ep.taken = sp.row.takenOf(ep.total-len(ep.context)-len(sp.common), nil)
	for _, k := range own {
		ep.taken = append(ep.taken, ep.total-len(ep.context)+k)
	}
	return ep
}

func (sp *streamPlan) add(ep *eventPlan) {
	id := ep.class.ID
	if sp.event(id) != nil {
		return // the first stands, as two of one number cannot be told apart
	}
	sp.events = append(sp.events, ep)
	if id >= densest {
		sp.sparse[id] = ep
		return
	}
	if n := int(id) + 1; n > len(sp.dense) {
		sp.dense = append(sp.dense, make([]*eventPlan, n-len(sp.dense))...)
	}
	sp.dense[id] = ep
}

// bearsRole says whether a type, or a part of it, has a role.
func bearsRole(t *Type, r Role) bool {
	if t == nil {
		return false
	}
	if t.Role == r {
		return true
	}
	return bearsRole(t.Elem, r) || slices.ContainsFunc(t.Fields, func(f Field) bool { return bearsRole(f.Type, r) })
}

// headPlan is the shortcut for event headers of integers on fixed places, perhaps in forms that a first one selects:
// LTTng's compact and large headers, and what most tracers write.
type headPlan struct {
	fast  bool
	hasID bool
	id    headField
	slot  int // where a header's variant looks for the id, -1
	mask  uint64
	need  uint64 // bytes that must be there
	forms []headForm
}

type headForm struct {
	chosen   []Range // values of the first id; nil for all
	size     uint64  // bits from the header's begin
	id       headField
	stamp    headField
	hasID    bool
	hasStamp bool
}

type headField struct {
	at    uint64 // bytes from the header's begin
	shift uint8
	width uint8
	big   bool
}

func (h *headPlan) form(id uint64) *headForm {
	for i := range h.forms {
		f := &h.forms[i]
		if f.chosen == nil {
			return f
		}
		for k := range f.chosen {
			if id >= uint64(f.chosen[k].Low) && id <= uint64(f.chosen[k].High) {
				return f
			}
		}
	}
	return nil
}

// newHeadPlan finds out whether a header has the shortcut.
func newHeadPlan(t *Type, roles, plain *compiler) headPlan {
	h := headPlan{slot: -1}
	if t == nil || t.Kind != Struct {
		return h
	}
	h.mask = roles.extent(t).align - 1
	var first headForm
	end := uint64(0)
	for i, f := range t.Fields {
		if v := f.Type; v.Kind == Variant && i == len(t.Fields)-1 && i > 0 {
			tag := t.Fields[i-1].Type
			if i != 1 || tag.Slot < 0 || tag.Slot != v.TagSlot || tag.Role != EventClassID || tag.Signed || v.TagSigned ||
				len(v.Select) != len(v.Fields) {
				return headPlan{}
			}
			h.id, h.hasID, h.slot = first.id, first.hasID, tag.Slot
			for k, alt := range v.Fields {
				form := headForm{chosen: v.Select[k]}
				if form.chosen == nil || alt.Type == nil {
					return headPlan{}
				}
				parts := []Field{alt}
				if alt.Type.Kind == Struct {
					parts = alt.Type.Fields
				}
				x := plain.extent(alt.Type)
				if x.align-1 > h.mask {
					return headPlan{}
				}
				at := alignTo(end, x.align-1)
				for _, p := range parts {
					var ok bool
					if at, ok = form.put(p.Type, at, plain, h.mask, -1); !ok {
						return headPlan{}
					}
				}
				form.size = at
				h.forms = append(h.forms, form)
			}
			break
		}
		tag := -1
		if i == 0 && len(t.Fields) == 2 && t.Fields[1].Type.Kind == Variant {
			tag = t.Fields[1].Type.TagSlot
		}
		var ok bool
		if end, ok = first.put(f.Type, end, plain, h.mask, tag); !ok {
			return headPlan{}
		}
	}
	if h.forms == nil {
		first.size = end
		h.id, h.hasID, first.hasID = first.id, first.hasID, false
		h.forms = []headForm{first}
	}
	for _, f := range h.forms {
		h.need = max(h.need, f.id.at+8, f.stamp.at+8, h.id.at+8)
	}
	h.fast = h.need <= 64
	return h
}

// put places one integer of the header behind those before it; tag is the one slot that may look at it.
func (f *headForm) put(t *Type, pos uint64, plain *compiler, mask uint64, tag int) (end uint64, ok bool) {
	x := plain.extent(t)
	pos = alignTo(pos, x.align-1)
	if t.Kind != Integer || x.align-1 > mask || t.Slot >= 0 && t.Slot != tag || t.Reversed {
		return 0, false
	}
	field := headField{at: pos / 8, shift: uint8(pos % 8), width: uint8(t.Size), big: t.BigEndian}
	if int(field.shift)+t.Size > 64 || t.Role != NoRole && t.Signed {
		return 0, false
	}
	switch t.Role {
	case EventClassID:
		f.id, f.hasID = field, true
	case Stamp:
		f.stamp, f.hasStamp = field, true
	}
	return pos + x.size, true
}
