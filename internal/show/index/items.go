package index

import "meridian/trace"

// Item is a slice, or a message of a link. Instants are ns since the origin.
type Item struct {
	At    int64 // when it begins, or was sent
	To    int64 // when it ends, or was received
	Event int64 // that begins or sends it
	Other int64 // that ends or receives it; -1 where none was recorded
	Class int   // of a slice: its name
}

// Items shows the items of a lane of slices or messages that are there at some instant from one on and before another, in
// the lane's order. An item is only valid during the call. The cost is that of the pages that hold them.
func (x *Index) Items(lane int, from, to int64, see func(*Item)) error {
	if lane < 0 || lane >= len(x.lanes) {
		return nil
	}
	return itemsOf(fileLanes{x}, lane, from, to, see)
}

// Items is as for an [Index]. A slice that has no end yet reaches to the last instant, and its Other is -1.
func (v *View) Items(lane int, from, to int64, see func(*Item)) error {
	if lane < 0 || lane >= len(v.lanes) {
		return nil
	}
	return itemsOf(viewLanes{v}, lane, from, to, see)
}

func itemsOf(x laneSource, lane int, from, to int64, see func(*Item)) error {
	k := x.kind(lane)
	if k != sliced && k != messages {
		return nil
	}
	var w walker
	return x.walk(&w, lane, &itemVisitor{kind: k, from: from, to: to, see: see})
}

type itemVisitor struct {
	kind     laneKind
	from, to int64
	see      func(*Item)
	is       Item
}

func (v *itemVisitor) node(n *node) bool { return n.begin < v.to && n.end >= v.from }

func (v *itemVisitor) item(it *item) {
	if !it.touches(v.kind, v.from, v.to) {
		return
	}
	v.is = Item{At: it.at, To: it.to, Event: it.event, Other: it.other, Class: int(it.class)}
	v.see(&v.is)
}

// Texts shows the values of some fields, as text, of all events from one on whose classes have the first of them. A field that an
// event has not is empty. The texts are only valid during the call.
func (x *Index) Texts(from int64, names []string, see func(event int64, texts []string)) error {
	return textsOf(fileLanes{x}, x.fields, from, names, see)
}

// Texts is as for an [Index].
func (v *View) Texts(from int64, names []string, see func(event int64, texts []string)) error {
	return textsOf(viewLanes{v}, v.fields(), from, names, see)
}

func textsOf(x eventSource, fieldsOf [][]trace.Field, from int64, names []string, see func(event int64, texts []string)) error {
	places := make([][]int, len(fieldsOf))
	var classes uint64
	for c, fields := range fieldsOf {
		for _, name := range names {
			at := -1
			for i := range fields {
				if fields[i].Name == name {
					at = i
					break
				}
			}
			places[c] = append(places[c], at)
		}
		if len(names) > 0 && places[c][0] >= 0 {
			classes |= 1 << (c % 64)
		}
	}
	if classes == 0 {
		return nil
	}
	out := make([]string, len(names))
	texts := texts{left: 1 << 62}
	return scanEvents(x, from, func(b *block) bool { return b.classes&classes != 0 }, func(number int64, h *head, values *decoder) (bool, error) {
		if places[h.class][0] < 0 || len(values.b) == 0 {
			return true, nil
		}
		fields := texts.of(fieldsOf[h.class], values)
		if values.bad {
			return false, damaged("the fields of event %d cannot be read", number)
		}
		for i, name := range names {
			out[i] = ""
			for k := range fields {
				if fields[k][0] == name {
					out[i] = fields[k][1]
					break
				}
			}
		}
		see(number, out)
		return true, nil
	})
}
