package logical

import "fmt"

// TreeClock is a vector clock of a fixed number of clocks, kept as a tree: its root is the owner, and the children of a
// node are the clocks of which the node's clock brought news, latest first.
//
//	owner 0: 27
//	|-- 3: 12, attached when 0 was at 26
//	|   '-- 1: 4, attached when 3 was at 9
//	'-- 2: 8, attached when 0 was at 5
//
// A clock that knows 3 as of 12 knows what was attached to it by then, and what hangs below. So a join descends only where it
// finds news, and leaves a node's children at the first that was attached before what is known of the node: it visits the
// entries that change and at most one child more for each of them (Mathur and others 2022, section 3). That holds as long
// as clocks are made by Increment, Join and Copy alone, and only the owner increments.
//
// Clocks that are joined or copied must be among as many. Methods panic on others, on numbers out of range and on the zero value,
// as an index out of range does.
//
// A clock takes 24 bytes for each of the clocks there are.
type TreeClock struct {
	root  int32
	nodes []node
	found []int32 // what a join changes, children before parents
}

// node is the entry of one clock; links are numbers of clocks, or none.
type node struct {
	time                          int32 // how many of its events are known; 0 while it is not in the tree
	attached                      int32 // the parent's time when it was attached
	parent, child, before, behind int32 // child is the latest; before and behind are siblings, later and earlier
}

const none = -1

// NewTreeClock returns the clock of an owner among so many clocks that knows of nothing. It panics unless
// 0 <= owner < clocks, as an index out of range does.
func NewTreeClock(owner, clocks int) *TreeClock {
	if owner < 0 || owner >= clocks {
		panic(fmt.Sprintf("logical: owner %d of %d clocks out of range", owner, clocks))
	}
	t := &TreeClock{root: int32(owner), nodes: make([]node, clocks)}
	for i := range t.nodes {
		t.nodes[i] = node{parent: none, child: none, before: none, behind: none}
	}
	return t
}

// Get returns how many events of a clock are known.
func (t *TreeClock) Get(clock int) int32 { return t.nodes[clock].time }

// Increment counts one more event of the owner.
func (t *TreeClock) Increment() { t.nodes[t.root].time++ }

// Join takes over all that o knows, o being the clock of another owner as of one of its sends. The owner's event of
// receiving must have been counted by Increment before. It returns the clocks of which something new was learnt, valid
// until the next call.
func (t *TreeClock) Join(o *TreeClock) []int32 {
	t.found = t.found[:0]
	if o.nodes[o.root].time <= t.nodes[o.root].time || o.root == t.root {
		return t.found
	}
	t.take(o)
	top := &t.nodes[o.root]
	top.attached = t.nodes[t.root].time
	t.attach(o.root, t.root)
	return t.found
}

// Copy makes t equal to o, of which it must be an earlier state: a clock of the same owner that knows nothing which o
// does not. It costs what changed since.
func (t *TreeClock) Copy(o *TreeClock) {
	t.found = t.found[:0]
	if o.nodes[o.root].time > t.nodes[o.root].time {
		t.take(o)
	}
}

// take finds what is news in o, takes it out of t and puts it back as it is in o; o's root itself is left unattached.
func (t *TreeClock) take(o *TreeClock) {
	t.search(o)
	for _, c := range t.found {
		t.detach(c)
	}
	// Parents before children, and of siblings the earliest first, so that the latest comes to stand in front.
	for i := len(t.found) - 1; i >= 0; i-- {
		c := t.found[i]
		from := &o.nodes[c]
		t.nodes[c].time = from.time
		if c != o.root {
			t.nodes[c].attached = from.attached
			t.attach(c, from.parent)
		}
	}
}

// search lists the news of o in the order of a descent, children before their parent. It climbs by the links of the tree
// instead of recursing: a chain of clocks is as deep as they are many.
func (t *TreeClock) search(o *TreeClock) {
	at, next := o.root, o.nodes[o.root].child
	for {
		if next != none {
			n := &o.nodes[next]
			if t.nodes[next].time < n.time {
				at, next = next, n.child
				continue
			}
			if n.attached > t.nodes[at].time {
				next = n.behind
				continue
			}
			// Known, and so is all that was attached to it before.
		}
		t.found = append(t.found, at)
		if at == o.root {
			return
		}
		at, next = o.nodes[at].parent, o.nodes[at].behind
	}
}

func (t *TreeClock) detach(c int32) {
	n := &t.nodes[c]
	if n.parent == none {
		return
	}
	if n.before != none {
		t.nodes[n.before].behind = n.behind
	} else {
		t.nodes[n.parent].child = n.behind
	}
	if n.behind != none {
		t.nodes[n.behind].before = n.before
	}
	n.parent, n.before, n.behind = none, none, none
}

// attach puts a detached node in front of a parent's children.
func (t *TreeClock) attach(c, parent int32) {
	n, p := &t.nodes[c], &t.nodes[parent]
	n.parent, n.before, n.behind = parent, none, p.child
	if p.child != none {
		t.nodes[p.child].before = c
	}
	p.child = c
}

// Tree orders events by tree clocks. It asks the same of events as [Lamport] does, fails as it does, and gives the same
// order as [Vector]. A message carries a copy of its sender's clock: an earlier copy of the same sender, which every clock
// has received, is brought up to date, so that a send costs no more than what changed since that one. Memory is one tree
// for each clock that takes part and each message that is on its way.
func Tree(events []Event) (*Order, error) {
	s, err := newSchedule(events)
	if err != nil {
		return nil, err
	}
	held, err := newBudget(s, 24)
	if err != nil {
		return nil, err
	}
	o := newOrder(s)
	current := make([]*TreeClock, len(s.clocks))
	free := make([][]*TreeClock, len(s.clocks))
	sent := make(map[int]copied[*TreeClock]) // by send, until its last receive
	err = s.run(func(e, send int) error {
		c := s.clock[e]
		if current[c] == nil {
			current[c] = NewTreeClock(int(c), len(s.clocks))
		}
		t := current[c]
		t.nodes[t.root].time = s.position[e]
		if send >= 0 {
			m := sent[send]
			for _, other := range t.Join(m.clock) {
				o.learn(c, t.Get(int(c)), other, t.Get(int(other)))
			}
			if m.left--; m.left > 0 {
				sent[send] = m
			} else {
				delete(sent, send)
				from := s.clock[send]
				free[from] = append(free[from], m.clock)
			}
		}
		if n := s.receives[e]; n > 0 {
			var w *TreeClock
			if last := len(free[c]) - 1; last >= 0 {
				w, free[c] = free[c][last], free[c][:last]
			} else {
				if err := held.add(1); err != nil {
					return err
				}
				w = NewTreeClock(int(c), len(s.clocks))
			}
			w.Copy(t)
			sent[e] = copied[*TreeClock]{w, n}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}
