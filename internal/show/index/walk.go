package index

// visitor is told of a lane's pages and items in their order.
type visitor interface {
	// node reports whether the page is to be opened.
	node(n *node) bool
	item(it *item)
}

// walker goes over trees, with memory that it uses again.
type walker struct {
	x       *Index
	items   []item
	varints []uint64
	levels  [][]node
}

// laneSource has the items of lanes, of a file or of a timeline that grows.
type laneSource interface {
	kind(lane int) laneKind
	// walk shows a visitor a lane.
	walk(w *walker, lane int, v visitor) error
	// summed fills the bins of a tile, in any way that is fast.
	summed(w *walker, lane int, b *bins) error
}

// fileLanes are the lanes of one file, by their number in it.
type fileLanes struct{ x *Index }

func (f fileLanes) kind(n int) laneKind { return f.x.lanes[n].kind }

func (f fileLanes) walk(w *walker, n int, v visitor) error {
	w.x = f.x
	return w.walk(&f.x.lanes[n], v)
}

func (f fileLanes) summed(w *walker, n int, b *bins) error {
	l := &f.x.lanes[n]
	if c := l.coarseAt(b.level); c != nil {
		w.x = f.x
		return b.steps(w, c)
	}
	return f.walk(w, n, b)
}

// walk shows a visitor the tree of a lane.
func (w *walker) walk(l *laneRoot, v visitor) error { return w.visit(l.kind, &l.root, v) }

func (w *walker) visit(k laneKind, n *node, v visitor) error {
	if !v.node(n) {
		return nil
	}
	page, err := w.x.pages.page(n.pageRef)
	if err != nil {
		return err
	}
	if n.level == 0 {
		items, err := w.leaf(page, k, n)
		if err != nil {
			return err
		}
		for i := range items {
			v.item(&items[i])
		}
		return nil
	}
	below, err := w.fan(page, k, n)
	for i := range below {
		if err := w.visit(k, &below[i], v); err != nil {
			return err
		}
	}
	return err
}

// fan decodes the nodes of a page. They are good until another of its level is decoded.
func (w *walker) fan(page []byte, k laneKind, n *node) ([]node, error) {
	for n.level >= len(w.levels) {
		w.levels = append(w.levels, nil)
	}
	below, err := decodeFan(w.levels[n.level][:0], page, k, n, w.x.limits)
	if err != nil {
		return nil, err
	}
	w.levels[n.level] = below
	return below, nil
}

// leaves shows the leaves below a node in their order, each with its page.
func (w *walker) leaves(k laneKind, n *node, see func(n *node, page []byte) error) error {
	page, err := w.x.pages.page(n.pageRef)
	if err != nil {
		return err
	}
	if n.level == 0 {
		return see(n, page)
	}
	below, err := w.fan(page, k, n)
	for i := range below {
		if err := w.leaves(k, &below[i], see); err != nil {
			return err
		}
	}
	return err
}

// touches reports whether an item is there at some instant from from on and before to.
func (it *item) touches(k laneKind, from, to int64) bool {
	a, b := it.extent(k)
	return a < to && (b > from || a >= from || k == messages && b >= from)
}

// tally counts the items that touch an interval, until there are more than enough.
type tally struct {
	kind     laneKind
	from, to int64
	enough   int64
	count    int64
}

func (t *tally) node(n *node) bool {
	if t.count > t.enough || n.begin >= t.to || n.end < t.from {
		return false
	}
	if n.first >= t.from && n.last < t.to {
		t.count = sum(t.count, n.count)
		return false
	}
	return true
}

func (t *tally) item(it *item) {
	if it.touches(t.kind, t.from, t.to) {
		t.count++
	}
}

// collect gathers the items that touch an interval.
type collect struct {
	kind     laneKind
	from, to int64
	items    []item
}

func (c *collect) node(n *node) bool { return n.begin < c.to && n.end >= c.from }

func (c *collect) item(it *item) {
	if it.touches(c.kind, c.from, c.to) {
		c.items = append(c.items, *it)
	}
}

// latest finds a counter's last value before an instant.
type latest struct {
	before int64
	value  float64
	known  bool
}

func (l *latest) node(n *node) bool {
	if n.last < l.before {
		l.value, l.known = n.final, true
		return false
	}
	return n.first < l.before
}

func (l *latest) item(it *item) {
	if it.at < l.before {
		l.value, l.known = it.value(), true
	}
}

// named finds the item that an event begins or ends, which is there at an instant from least to at.
type named struct {
	kind  laneKind
	least int64
	at    int64
	event int64
	found bool
	is    item
}

func (x *named) node(n *node) bool { return !x.found && n.begin <= x.at && n.end >= x.least }

func (x *named) item(it *item) {
	if !x.found && (it.event == x.event || it.other == x.event) {
		x.found, x.is = true, *it
	}
}
