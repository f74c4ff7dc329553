package packet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"meridian/internal/record/netstate"
)

// names keeps a capture of named interfaces with those that bear the names, and knows what all others are called. An interface that is removed and made anew under
// its name is another one to the kernel, of another index, and the socket and its filter know indices:
//
//	netlink: eth0 (7) removed    --> filter without 7
//	         eth0 (9) appears    --> filter with 9; the socket is bound to 9, if it is the only one
//
// The ring stays, so that nothing in it is lost and no stamp moves. What an interface does in the instant between its
// appearing and its being heard of is missed; most are switched on only then. One that gets another name stays, as with
// tcpdump. In the list of interfaces the new one is another, since its link layer and its neighbours may be.
type names struct {
	wanted      []string
	filter      filter
	promiscuous bool
	watcher     *netstate.Watcher
	stop        context.CancelFunc
	done        chan struct{}

	// Of the capture's mutex, once follow runs.
	bearers []bearer       // that are captured, if some were named
	called  map[int]string // how an index is called, or was: packets are read when their interface may be gone
	removed []int          // of called, the latest
	again   []string       // names that have got another bearer since
	deaf    error          // why nobody is heard of any more
}

// mostRemoved is how many that are gone keep their names: where containers come and go all the time there are many.
const mostRemoved = 1 << 10

// bearer is an interface that has a wanted name, or had it.
type bearer struct {
	index int
	name  string
}

func (n *names) indices() (all []int) {
	for _, b := range n.bearers {
		all = append(all, b.index)
	}
	return all
}

// begin follows what becomes of the interfaces.
func (c *Capture) begin() {
	n := &c.names
	var ctx context.Context
	ctx, n.stop = context.WithCancel(context.Background())
	n.done = make(chan struct{})
	go func() {
		defer close(n.done)
		if err := n.watcher.Read(ctx, c.heard); err != nil {
			c.mu.Lock()
			n.deaf = err
			c.mu.Unlock()
		}
	}()
}

// end follows no longer, when all is heard that was there to be heard of.
func (n *names) end() {
	if n.stop != nil {
		n.stop()
		<-n.done
		n.stop = nil
	}
	if n.watcher != nil {
		n.watcher.Close()
		n.watcher = nil
	}
}

// heard takes note of what became of an interface. An error ends the following, and not the capture.
func (c *Capture) heard(change *netstate.Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, i := &c.names, &change.Interface
	n.called[i.Index] = i.Name
	if change.Kind == netstate.Removed {
		if n.removed = append(n.removed, i.Index); len(n.removed) > mostRemoved {
			delete(n.called, n.removed[0])
			n.removed = n.removed[1:]
		}
	}
	at := slices.IndexFunc(n.bearers, func(b bearer) bool { return b.index == i.Index })
	switch {
	case change.Kind == netstate.Removed && at >= 0:
		n.bearers = slices.Delete(n.bearers, at, at+1)
	case change.Kind != netstate.Removed && at < 0 && slices.Contains(n.wanted, i.Name):
		n.bearers = append(n.bearers, bearer{i.Index, i.Name})
		if !slices.Contains(n.again, i.Name) {
			n.again = append(n.again, i.Name)
		}
	default:
		return nil
	}
	err := errors.New("the capture is closed")
	if e := c.raw.Control(func(fd uintptr) { err = c.take(int(fd)) }); e != nil {
		err = e
	}
	return err
}

// take has a socket take the packets of the interfaces that bear the names by now, or of all where none are named.
func (c *Capture) take(fd int) error {
	n := &c.names
	indices := n.indices()
	code := []instruction{{code: giveBack}}
	if len(indices) > 0 || len(n.wanted) == 0 {
		var err error
		if code, err = compileFilter(n.filter, indices, c.snaplen); err != nil {
			return err
		}
	}
	if err := attach(fd, code); err != nil || c.ring == nil {
		return err
	}
	if n.promiscuous {
		for _, index := range indices { // each counts itself, and forgets that with the interface
			m := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
			if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); err != nil && !vanished(err) {
				return os.NewSyscallError("PACKET_MR_PROMISC", err)
			}
		}
	}
	if len(indices) == 0 && len(n.wanted) > 0 {
		return nil
	}
	bound := 0 // to all; the filter chooses among several
	if len(indices) == 1 {
		bound = indices[0]
	}
	address := unix.SockaddrLinklayer{Protocol: swapped(unix.ETH_P_ALL), Ifindex: bound}
	if err := unix.Bind(fd, &address); err != nil && !vanished(err) {
		return os.NewSyscallError("bind", err)
	}
	return nil
}

// vanished says that an interface is gone again already, which will be heard.
func vanished(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) }

// told brings what is known of the names into the statistics. The mutex is held.
func (c *Capture) told() {
	n := &c.names
	var gone []string
	for _, name := range n.wanted {
		if !slices.ContainsFunc(n.bearers, func(b bearer) bool { return b.name == name }) && !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
	}
	c.stats.Gone, c.stats.Again, c.stats.Deaf = strings.Join(gone, ", "), strings.Join(n.again, ", "), ""
	if n.deaf != nil && len(n.wanted) > 0 {
		c.stats.Deaf = fmt.Sprint(n.deaf)
	}
}
