package index

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
