package packet

import (
	"fmt"
	"slices"
	"sync"

	"meridian/internal/record/netstate"
	"meridian/trace"
)

// interfaceTable is the list of the interfaces of a capture, which only grows. A frame's interface is an index into it.
type interfaceTable struct {
	netns   string
	snaplen uint32      // as a file has it; 0 for all
	places  map[int]int // by an interface's index and link type; only Open and Read use it

	mu   sync.Mutex
	list []Interface
}

// all returns the list so far.
func (t *interfaceTable) all() []Interface {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.list)
}

// add adds an interface, unless its link layer is unknown, and returns its place.
func (t *interfaceTable) add(index int, hardware uint16, name string) (place int, ok bool) {
	link, ok := linkOf(hardware)
	if !ok {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	place = len(t.list)
	t.places[index<<16|int(link)] = place
	t.list = append(t.list, Interface{trace.Interface{Name: name, LinkType: link, SnapLength: t.snaplen}, index})
	return place, true
}

// find returns the place of a packet's interface, and adds it if it is new. NameOf returns the name of an index, if it is known.
func (t *interfaceTable) find(p *raw, nameOf func(index int) (string, bool)) (place int, ok bool) {
	link, ok := linkOf(p.hardware)
	if !ok {
		return 0, false
	}
	if place, ok := t.places[p.index<<16|int(link)]; ok {
		return place, true
	}
	name, ok := nameOf(p.index)
	if !ok {
		name = t.lookUp(p.index)
	}
	return t.add(p.index, p.hardware, name)
}

// lookUp asks the kernel for the name of an interface. One that is removed already is named by its index.
func (t *interfaceTable) lookUp(index int) string {
	name := fmt.Sprintf("if%d", index)
	_ = netstate.Within(t.netns, func() error {
		w, err := netstate.Open(netstate.Options{})
		if err != nil {
			return err
		}
		defer w.Close()
		for _, i := range w.Snapshot() {
			if i.Index == index {
				name = i.Name
			}
		}
		return nil
	})
	return name
}
