package chrome

import (
	"fmt"
	"slices"
	"strings"

	"meridian/format/internal/eventbuffer"
	"meridian/trace"
)

// flows gathers the ends of flows. Only at the end of the file is it known which of them concern other files.
type flows struct {
	kinds []flowKind
	index map[string]int // of kinds, by category and name
	ends  []flowEnd
}

// flowKind is the flows of one category and name.
type flowKind struct{ cat, name string }

type flowEnd struct {
	kind, item int32
	id         string
	sends      bool
}

// add takes note of the end of a flow that is an item.
func (f *flows) add(r *reader, item int) {
	e := &r.event
	kind := f.kind(string(e.cat), string(e.name))
	id := string(e.id)
	if e.local {
		id = string(e.pid) + "\x00" + id
	} else if len(e.scope) > 0 {
		id += "\x00" + string(e.scope)
	}
	f.ends = append(f.ends, flowEnd{int32(kind), int32(item), id, e.phase == 's'})
}

// kind returns the number of a kind of flows.
func (f *flows) kind(cat, name string) int {
	key := cat + "\x00" + name
	kind, known := f.index[key]
	if !known {
		if f.index == nil {
			f.index = make(map[string]int)
		}
		kind = len(f.kinds)
		f.index[key] = kind
		f.kinds = append(f.kinds, flowKind{cat, name})
	}
	return kind
}

// bound is the kind of flows that events name themselves: bind_id with flow_out where it leaves, flow_in where it comes
// to, both on its way. Such a number is unique whatever the events are called.
const bound = "bind_id"

// bind takes note of the end of a flow at an item that the event is: the beginning of a slice, or an instant.
func (f *flows) bind(r *reader, item int) {
	e := &r.event
	f.ends = append(f.ends, flowEnd{int32(f.kind("", bound)), int32(item), string(e.bind), !e.flowIn})
}

// finish gives the ends their numbers, and marks those of kinds that mostly have one end here.
func (f *flows) finish(r *reader, m *trace.Marks) {
	order := make([]int32, len(f.ends))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		x, y := &f.ends[a], &f.ends[b]
		if x.kind != y.kind {
			return int(x.kind) - int(y.kind)
		}
		return strings.Compare(x.id, y.id)
	})
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && f.ends[order[j]].kind == f.ends[order[i]].kind {
			j++
		}
		f.ofKind(r, m, order[i:j])
		i = j
	}
}

// ofKind finishes the ends of one kind, which come by id.
func (f *flows) ofKind(r *reader, m *trace.Marks, ends []int32) {
	both, one := int64(0), int64(0)
	for i := 0; i < len(ends); {
		j, sent, received := i, false, false
		for ; j < len(ends) && f.ends[ends[j]].id == f.ends[ends[i]].id; j++ {
			sent = sent || f.ends[ends[j]].sends
			received = received || !f.ends[ends[j]].sends
		}
		if sent && received {
			both++
		} else {
			one++
		}
		i = j
	}
	kind := f.kinds[f.ends[ends[0]].kind]
	elsewhere := one > both
	if !elsewhere && one > 0 {
		r.w.AddN(r.path, fmt.Sprintf("flows %q of which the other end is missing; most others have both here, so that their numbers say nothing in other files",
			kind.name), "", one)
	}
	for _, n := range ends {
		end := &f.ends[n]
		key := trace.KeyOf("flow", kind.cat, kind.name, end.id)
		if !elsewhere {
			key = trace.KeyOf("flow in", r.path, kind.cat, kind.name, end.id)
		}
		it := r.b.Item(int(end.item))
		it.Flow, it.Role = eventbuffer.Flow(key), trace.Receives
		if end.sends {
			it.Role = trace.Sends
		}
		if elsewhere {
			m.Marks = append(m.Marks, trace.Mark{Time: it.Time, Key: key, Stream: int(it.Stream), Role: it.Role})
		}
	}
}
