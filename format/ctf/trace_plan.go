package ctf

import (
	"fmt"
	"slices"

	"meridian/trace"
)

// tracePlan is a trace's metadata, compiled. Readers share it; it does not change.
type tracePlan struct {
	m              *Metadata
	signature      packetSignature
	header         []op
	headerDecoders []fieldDecoder
	streams        map[uint64]*streamPlan
	list           []*streamPlan    // as in the metadata
	masks          map[*Type]uint64 // the alignments, less one, of what the scopes hold
	slots          int
	alignment      int64 // of all fields, bytes
	meridian       bool  // written by Meridian
}

type streamPlan struct {
	number          int // index into the metadata's streams
	class           *StreamClass
	context         []op
	contextDecoders []fieldDecoder
	header          []op // of its events
	layout          headerLayout
	headerDecoders  []fieldDecoder
	extra           []int // fields of the event header that say neither class nor time
	common          []fieldDecoder
	commonMask      uint64
	hasCPU          bool
	naming          streamNaming // of traces that Meridian wrote
	checksum        int          // slot of the packet's checksum, of such traces; -1 for none
	dense           []*eventPlan
	sparse          map[uint64]*eventPlan
	events          []*eventPlan
}

type eventPlan struct {
	class       *EventClass
	program     []op
	fixed       bool // the program is one skip:
	mask, size  uint64
	context     []fieldDecoder
	payload     []fieldDecoder
	contextMask uint64
	payloadMask uint64
	total       int   // values, those in taken included
	hidden      []int // values that the event itself has: see meridian.go
	links       linkSlots
	number      int // in the classes of a Source
	restore     *restorer
	order       []int  // where the values stand among its class's fields; nil: in their order
	nameWritten string // the class's name as it stands in the metadata
	phase       trace.Phase
}

// maxDenseID is the largest event class id that is found by table.
const maxDenseID = 1 << 12

func (sp *streamPlan) event(id uint64) *eventPlan {
	if id < uint64(len(sp.dense)) {
		return sp.dense[id]
	}
	return sp.sparse[id]
}

// newPlan compiles metadata. It skips invalid event classes, with a warning.
func newPlan(m *Metadata, file string, w *trace.Warnings) (*tracePlan, error) {
	p := &tracePlan{m: m, signature: newPacketSignature(m), streams: map[uint64]*streamPlan{}, masks: map[*Type]uint64{}}
	p.slots = m.Slots
	for _, e := range m.Env {
		p.meridian = p.meridian || e.Name == "tracer_name" && e.IsText && e.Text == "meridian"
	}
	// Roles count outside of events alone; what is known of a type depends on it.
	roles := &compiler{extents: map[*Type]extent{}, roles: true}
	plain := &compiler{extents: map[*Type]extent{}}
	p.header = roles.compile(m.PacketHeader)
	p.headerDecoders = p.group(plain, m.PacketHeader)
	if roles.err != nil {
		return nil, fmt.Errorf("%s: packet header: %w", file, roles.err)
	}
	made := map[sharedClass]*streamPlan{}
	for i := range m.Streams {
		class := &m.Streams[i]
		key, shared := sharedClassOf(class)
		sp := made[key].of(i, class)
		if sp == nil {
			var err error
			if sp, err = p.stream(i, class, roles, plain, file, w); err != nil {
				return nil, err
			}
			if shared && len(sp.events) == len(class.Events) { // else each is to be warned of
				made[key] = sp
			}
		}
		if _, twice := p.streams[class.ID]; twice {
			w.Add(file, "duplicate stream class id", fmt.Sprint(class.ID))
			continue
		}
		p.streams[class.ID] = sp
		p.list = append(p.list, sp)
	}
	p.slots = max(p.slots, roles.slots, plain.slots)
	p.alignment = int64(max(8, roles.align, plain.align) / 8)
	return p, nil
}

// of returns the plan for another class that shares all that this one is made of; nil for nil.
func (sp *streamPlan) of(number int, class *StreamClass) *streamPlan {
	if sp == nil {
		return nil
	}
	c := *sp
	c.number, c.class = number, class
	return &c
}

// stream compiles a stream class.
func (p *tracePlan) stream(number int, class *StreamClass, roles, plain *compiler, file string, w *trace.Warnings) (*streamPlan, error) {
	sp := &streamPlan{number: number, class: class, sparse: map[uint64]*eventPlan{}, checksum: -1}
	sp.context = roles.compile(p.checksummed(sp))
	sp.contextDecoders = p.group(plain, class.PacketContext)
	sp.header = roles.compile(class.EventHeader)
	sp.headerDecoders = p.group(plain, class.EventHeader)
	sp.common = p.group(plain, class.EventContext)
	sp.commonMask = p.masks[class.EventContext]
	if err := cmpErr(roles.err, plain.err); err != nil {
		return nil, fmt.Errorf("%s: stream class %d: %w", file, class.ID, err)
	}
	p.slots = max(p.slots, roles.slots, plain.slots)
	sp.layout = newHeaderLayout(class.EventHeader, roles, plain)
	sp.hasCPU = bearsRole(class.PacketContext, CPU)
	sp.naming = streamNaming{name: -1}
	if p.meridian {
		sp.naming = streamNamingOf(class)
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
			w.Gap(file, "event class skipped: "+plain.err.Error(), class.Events[k].Name, 1)
			continue
		}
		sp.add(ep)
	}
	return sp, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// group compiles the fields of a scope, and keeps its alignment.
func (p *tracePlan) group(c *compiler, t *Type) []fieldDecoder {
	if t == nil {
		return nil
	}
	p.masks[t] = c.extent(t).align - 1
	return c.decoders(t)
}

func (p *tracePlan) event(sp *streamPlan, class *EventClass, c *compiler) *eventPlan {
	ep := &eventPlan{class: class, nameWritten: class.Name}
	if p.meridian {
		p.bindLinks(ep, c)
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
	own := ep.hidden
	ep.hidden = sp.naming.takenOf(ep.total-len(ep.context)-len(sp.common), nil)
	for _, k := range own {
		ep.hidden = append(ep.hidden, ep.total-len(ep.context)+k)
	}
	return ep
}

func (sp *streamPlan) add(ep *eventPlan) {
	id := ep.class.ID
	if sp.event(id) != nil {
		return // the first wins: two of one id cannot be distinguished
	}
	sp.events = append(sp.events, ep)
	if id >= maxDenseID {
		sp.sparse[id] = ep
		return
	}
	if n := int(id) + 1; n > len(sp.dense) {
		sp.dense = append(sp.dense, make([]*eventPlan, n-len(sp.dense))...)
	}
	sp.dense[id] = ep
}

// bearsRole reports whether a type, or a part of it, has a role.
func bearsRole(t *Type, r Role) bool {
	if t == nil {
		return false
	}
	if t.Role == r {
		return true
	}
	return bearsRole(t.Elem, r) || slices.ContainsFunc(t.Fields, func(f Field) bool { return bearsRole(f.Type, r) })
}

// headerLayout is the fast path for event headers of integers at fixed offsets, perhaps in forms that the first one selects:
// LTTng's compact and large headers, and what most tracers write.
type headerLayout struct {
	fast  bool
	hasID bool
	id    headerField
	slot  int // where a header's variant looks for the id, -1
	mask  uint64
	need  uint64 // bytes that must be there
	forms []headerForm
}

type headerForm struct {
	chosen   []Range // values of the first id; nil for all
	size     uint64  // bits from the header's begin
	id       headerField
	stamp    headerField
	hasID    bool
	hasStamp bool
}

type headerField struct {
	at    uint64 // bytes from the header's begin
	shift uint8
	width uint8
	big   bool
}

func (h *headerLayout) form(id uint64) *headerForm {
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

// newHeaderLayout finds out whether a header has the fast path.
func newHeaderLayout(t *Type, roles, plain *compiler) headerLayout {
	h := headerLayout{slot: -1}
	if t == nil || t.Kind != Struct {
		return h
	}
	h.mask = roles.extent(t).align - 1
	var first headerForm
	end := uint64(0)
	for i, f := range t.Fields {
		if v := f.Type; v.Kind == Variant && i == len(t.Fields)-1 && i > 0 {
			tag := t.Fields[i-1].Type
			if i != 1 || tag.Slot < 0 || tag.Slot != v.TagSlot || tag.Role != EventClassID || tag.Signed || v.TagSigned ||
				len(v.Select) != len(v.Fields) {
				return headerLayout{}
			}
			h.id, h.hasID, h.slot = first.id, first.hasID, tag.Slot
			for k, alt := range v.Fields {
				form := headerForm{chosen: v.Select[k]}
				if form.chosen == nil || alt.Type == nil {
					return headerLayout{}
				}
				parts := []Field{alt}
				if alt.Type.Kind == Struct {
					parts = alt.Type.Fields
				}
				x := plain.extent(alt.Type)
				if x.align-1 > h.mask {
					return headerLayout{}
				}
				at := alignTo(end, x.align-1)
				for _, p := range parts {
					var ok bool
					if at, ok = form.put(p.Type, at, plain, h.mask, -1); !ok {
						return headerLayout{}
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
			return headerLayout{}
		}
	}
	if h.forms == nil {
		first.size = end
		h.id, h.hasID, first.hasID = first.id, first.hasID, false
		h.forms = []headerForm{first}
	}
	for _, f := range h.forms {
		h.need = max(h.need, f.id.at+8, f.stamp.at+8, h.id.at+8)
	}
	h.fast = h.need <= 64
	return h
}

// put adds one integer of the header; tag is the only slot that may store it.
func (f *headerForm) put(t *Type, pos uint64, plain *compiler, mask uint64, tag int) (end uint64, ok bool) {
	x := plain.extent(t)
	pos = alignTo(pos, x.align-1)
	if t.Kind != Integer || x.align-1 > mask || t.Slot >= 0 && t.Slot != tag || t.Reversed {
		return 0, false
	}
	field := headerField{at: pos / 8, shift: uint8(pos % 8), width: uint8(t.Size), big: t.BigEndian}
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
