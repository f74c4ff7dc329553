package packet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"meridian/internal/record/netstate"
)

// selection keeps a capture of named interfaces on the interfaces that have these names. An interface that is removed and made
// anew under its name is another one to the kernel, with another index, and the socket and its filter select by index:
//
//	netlink: eth0 (7) removed    --> filter without 7
//	         eth0 (9) appears    --> filter with 9; the socket is bound to 9, if it is the only one
//
// The ring stays, so no packet in it is lost and no stamp changes. Packets between the appearance of an interface and its
// announcement are missed; most interfaces are switched on only later. An interface that gets another name stays selected, as
// with tcpdump. In the list of interfaces the new one is another entry, since its link layer and its neighbours may differ.
type selection struct {
	socket      *socket
	wanted      []string // names; all interfaces if empty
	filter      filter
	snaplen     uint32
	promiscuous bool
	watcher     *netstate.Watcher
	stop        context.CancelFunc
	done        chan struct{}

	mu         sync.Mutex
	selected   []selected     // if some were named
	names      map[int]string // of all interfaces by index, also of removed ones: their packets may not be read yet
	removed    []int          // the last of those in names
	reappeared []string       // wanted names that another interface has got since
	failed     error          // why changes are not announced any more
}

// maxRemoved is the most removed interfaces whose names are kept: containers may come and go all the time.
const maxRemoved = 1 << 10

// selected is an interface that has a wanted name, or had it.
type selected struct {
	index int
	name  string
}

// choose selects the interfaces that are named. Netns is for the error.
func (s *selection) choose(all []netstate.Interface, netns string) error {
	for _, name := range s.wanted {
		at := slices.IndexFunc(all, func(i netstate.Interface) bool { return i.Name == name })
		if at < 0 {
			var names []string
			for _, i := range all {
				names = append(names, i.Name)
			}
			where := "here"
			if netns != "" {
				where = "in " + netns
			}
			return fmt.Errorf("no interface %s %s; there are %s", name, where, strings.Join(names, ", "))
		}
		if _, ok := linkOf(all[at].Hardware); !ok {
			return fmt.Errorf("interface %s: unsupported link layer (ARPHRD %d); supported are Ethernet, loopback, tunnels and PPP",
				name, all[at].Hardware)
		}
		if i := (selected{all[at].Index, name}); !slices.Contains(s.selected, i) {
			s.selected = append(s.selected, i)
		}
	}
	return nil
}

func (s *selection) indices() (all []int) {
	for _, i := range s.selected {
		all = append(all, i.index)
	}
	return all
}

// nameOf returns the name of an interface, or the last one of a removed interface.
func (s *selection) nameOf(index int) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.names[index]
	return name, ok
}

// begin follows the changes of the interfaces until end.
func (s *selection) begin() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		if err := s.watcher.Read(ctx, s.changed); err != nil {
			s.mu.Lock()
			s.failed = err
			s.mu.Unlock()
		}
	}()
}

// end stops following, once the changes announced so far have been handled.
func (s *selection) end() {
	if s.stop != nil {
		s.stop()
		<-s.done
		s.stop = nil
	}
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
}

// changed handles a change of an interface. An error ends the following, but not the capture.
func (s *selection) changed(change *netstate.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &change.Interface
	s.names[i.Index] = i.Name
	removed := change.Kind == netstate.Removed
	if removed {
		if s.removed = append(s.removed, i.Index); len(s.removed) > maxRemoved {
			delete(s.names, s.removed[0])
			s.removed = s.removed[1:]
		}
	}
	at := slices.IndexFunc(s.selected, func(other selected) bool { return other.index == i.Index })
	switch {
	case removed && at >= 0:
		s.selected = slices.Delete(s.selected, at, at+1)
	case !removed && at < 0 && slices.Contains(s.wanted, i.Name):
		s.selected = append(s.selected, selected{i.Index, i.Name})
		if !slices.Contains(s.reappeared, i.Name) {
			s.reappeared = append(s.reappeared, i.Name)
		}
	default:
		return nil
	}
	return s.apply(true)
}

// apply sets the filter for the interfaces that are selected now, and, unless the ring is still to come, makes the socket
// receive their packets.
func (s *selection) apply(receive bool) error {
	indices := s.indices()
	none := len(indices) == 0 && len(s.wanted) > 0
	code := []instruction{{code: ret}}
	if !none {
		var err error
		if code, err = compileFilter(s.filter, indices, s.snaplen); err != nil {
			return err
		}
	}
	if err := s.socket.attach(code); err != nil || !receive {
		return err
	}
	if s.promiscuous {
		for _, index := range indices {
			if err := s.socket.setPromiscuous(index); err != nil {
				return err
			}
		}
	}
	switch {
	case none:
		return nil
	case len(indices) == 1:
		return s.socket.bind(indices[0])
	}
	return s.socket.bind(0) // to all: the filter selects among several
}

// report adds what became of the named interfaces to the statistics.
func (s *selection) report(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var removed []string
	for _, name := range s.wanted {
		has := slices.ContainsFunc(s.selected, func(i selected) bool { return i.name == name })
		if !has && !slices.Contains(removed, name) {
			removed = append(removed, name)
		}
	}
	stats.Removed, stats.Reappeared = strings.Join(removed, ", "), strings.Join(s.reappeared, ", ")
	if s.failed != nil && len(s.wanted) > 0 {
		stats.Unwatched = s.failed.Error()
	}
}
