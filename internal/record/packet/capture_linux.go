package packet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/netstate"
	"meridian/trace"
)

// Capture is a running capture.
type Capture struct {
	netns   string
	snaplen uint32
	socket  *os.File // waits in the runtime's poller
	raw     syscall.RawConn
	ring    *ring
	origin  int64 // Options.Origin
	line    timeline
	watcher *watcher    // of the clocks, where there is an origin
	place   map[int]int // of an interface's index and link type in shown
	options [8]byte
	number  int

	mu    sync.Mutex // of what follows; taken is only written by Read
	stats Stats
	went  int64 // packets that the kernel put into the ring
	taken int64 // and that were taken out
	shown []Interface
	names names // of the interfaces
}

// Open begins to capture: what the kernel sees from now on is kept for Read.
func Open(o Options) (*Capture, error) {
	c := &Capture{netns: o.NetNS, snaplen: 1<<32 - 1, place: make(map[int]int)}
	if o.Snaplen == 0 {
		o.Snaplen = DefaultSnaplen
	}
	if o.Snaplen > 0 {
		c.snaplen = uint32(min(uint64(o.Snaplen), 1<<32-1))
	}
	if o.BufferSize <= 0 {
		o.BufferSize = DefaultBuffer
	}
	var f filter
	if strings.TrimSpace(o.Filter) != "" {
		var err error
		if f, err = parseFilter(o.Filter); err != nil {
			return nil, err
		}
	}
	if o.Promiscuous && len(o.Interfaces) == 0 {
		return nil, errors.New("packets: name the interfaces that are to be promiscuous")
	}
	err := netstate.Within(o.NetNS, func() error { return c.open(&o, f) })
	if err != nil {
		c.Close()
		return nil, explain(err)
	}
	return c, nil
}

// explain says what to do about a missing right.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("packets: %w; capturing needs root (CAP_NET_RAW)", err)
	}
	return fmt.Errorf("packets: %w", err)
}

func (c *Capture) open(o *Options, f filter) error {
	w, err := netstate.Open(netstate.Options{})
	if err != nil {
		return err
	}
	all := w.Snapshot()
	c.names = names{wanted: o.Interfaces, filter: f, promiscuous: o.Promiscuous, watcher: w, called: map[int]string{}}
	if c.names.bearers, err = choose(o.Interfaces, all, o.NetNS); err != nil {
		return err
	}
	indices := c.names.indices()
	// The socket is made for no protocol, so that it takes nothing before its filter and its ring are there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return os.NewSyscallError("AF_PACKET", err)
	}
	c.socket = os.NewFile(uintptr(fd), "packets")
	if c.raw, err = c.socket.SyscallConn(); err != nil {
		return err
	}
	if err := c.take(fd); err != nil { // by its filter alone, without a ring
		return err
	}
	// Without it packets are stamped when they reach the ring; with it, when the device hands them over.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return os.NewSyscallError("SO_TIMESTAMPNS", err)
	}
	if c.ring, err = newRing(fd, o.BufferSize); err != nil {
		return err
	}
	for _, i := range all {
		if len(indices) == 0 || slices.Contains(indices, i.Index) {
			c.describe(i.Index, i.Hardware, i.Name)
		}
	}
	if err := c.SetOrigin(o.Origin); err != nil {
		return err
	}
	if err := c.take(fd); err != nil {
		return err
	}
	c.begin()
	return nil
}

// SetOrigin does what Options.Origin does, for those who learn it only when the capture is open. It is called before Read.
func (c *Capture) SetOrigin(ns int64) error {
	if c.origin = ns; ns == 0 || c.watcher != nil {
		return nil
	}
	if err := c.look(); err != nil {
		return err
	}
	var err error
	c.watcher, err = watch(func() { _ = c.look() })
	return err
}

// swapped returns a number in network byte order.
func swapped(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// choose finds the interfaces that are named.
func choose(names []string, all []netstate.Interface, netns string) (found []bearer, err error) {
	for _, name := range names {
		at := slices.IndexFunc(all, func(i netstate.Interface) bool { return i.Name == name })
		if at < 0 {
			var there []string
			for _, i := range all {
				there = append(there, i.Name)
			}
			where := "here"
			if netns != "" {
				where = "in " + netns
			}
			return nil, fmt.Errorf("no interface %s %s; there are %s", name, where, strings.Join(there, ", "))
		}
		if _, ok := linkOf(all[at].Hardware); !ok {
			return nil, fmt.Errorf("interface %s has a link layer that is not known here (ARPHRD %d); Ethernet, loopback, tunnels and PPP are",
				name, all[at].Hardware)
		}
		if b := (bearer{all[at].Index, name}); !slices.Contains(found, b) {
			found = append(found, b)
		}
	}
	return found, nil
}

// describe enters an interface into the list, if its link layer is known, and returns its place there.
func (c *Capture) describe(index int, hardware uint16, name string) (int, bool) {
	link, ok := linkOf(hardware)
	if !ok {
		return 0, false
	}
	snap := c.snaplen
	if snap == 1<<32-1 {
		snap = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place[index<<16|int(link)] = len(c.shown)
	c.shown = append(c.shown, Interface{trace.Interface{Name: name, LinkType: link, SnapLength: snap}, index})
	return len(c.shown) - 1, true
}

// interfaceOf returns the place in the list of a packet's interface, which may be new.
func (c *Capture) interfaceOf(p *raw) (int, bool) {
	link, ok := linkOf(p.hardware)
	if !ok {
		return 0, false
	}
	if i, ok := c.place[p.index<<16|int(link)]; ok {
		return i, true
	}
	c.mu.Lock()
	name, heard := c.names.called[p.index]
	c.mu.Unlock()
	if heard {
		return c.describe(p.index, p.hardware, name)
	}
	name = fmt.Sprintf("if%d", p.index) // if it is gone already
	_ = netstate.Within(c.netns, func() error {
		w, err := netstate.Open(netstate.Options{})
		if err != nil {
			return err
		}
		defer w.Close()
		for _, i := range w.Snapshot() {
			if i.Index == p.index {
				name = i.Name
			}
		}
		return nil
	})
	return c.describe(p.index, p.hardware, name)
}

// Interfaces returns the interfaces met so far, under the names that they had when they were met; the list only grows. A
// frame's Interface is its place there.
func (c *Capture) Interfaces() []Interface {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.shown)
}

// Read calls f with every frame, which is f's until it returns, until ctx is done (which is no error) or f returns an
// error (which Read returns). When ctx is done, what the kernel had taken by then is still read. Frames come in the order
// in which the kernel put them into the ring, stamps of different processors some microseconds out of order.
func (c *Capture) Read(ctx context.Context, f func(*trace.Frame, trace.Direction) error) error {
	if err := c.socket.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.socket.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		if err := c.drain(f); err != nil {
			return err
		}
		err := c.raw.Read(func(uintptr) bool { return c.ring.ready() })
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return c.finish(f)
		case err != nil:
			return fmt.Errorf("packets: %w", err)
		}
		if err := c.failed(); err != nil {
			return err
		}
	}
}

// failed takes the socket's error: an interface that was switched off has one (ENETDOWN), which ends nothing.
func (c *Capture) failed() error {
	var errno int
	var err error
	if e := c.raw.Control(func(fd uintptr) { errno, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR) }); e != nil {
		err = e
	}
	if err == nil && errno != 0 && unix.Errno(errno) != unix.ENETDOWN {
		err = unix.Errno(errno)
	}
	if err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	return nil
}

// drain hands over the blocks that are ready.
func (c *Capture) drain(f func(*trace.Frame, trace.Direction) error) error {
	var frame trace.Frame
	for c.ring.ready() {
		taken, unknown := int64(0), int64(0)
		if c.origin != 0 {
			if err := c.look(); err != nil { // a step may be in this block before anybody was told
				return err
			}
		}
		err := eachPacket(c.ring.block(), func(p *raw) error {
			taken++
			if c.origin != 0 {
				p.time = c.line.monotonic(c.taken+taken, p.time) + c.origin
			}
			i, ok := c.interfaceOf(p)
			if !ok {
				unknown++
				return nil
			}
			if uint64(len(p.data)) > uint64(c.snaplen) {
				p.data = p.data[:c.snaplen] // longer by a VLAN's tag
			}
			direction, flags := flagsOf(p.kind)
			frame = trace.Frame{Number: c.number, Time: p.time, Interface: i, Wire: max(p.wire, uint32(len(p.data))), Data: p.data, Options: c.flags(flags)}
			c.number++
			return f(&frame, direction)
		})
		c.ring.release()
		c.mu.Lock()
		c.taken += taken
		c.stats.Received += taken - unknown
		c.stats.Unknown += unknown
		c.mu.Unlock()
		if err != nil {
			if errors.Is(err, errRing) {
				err = fmt.Errorf("packets: %w", err)
			}
			return err
		}
	}
	return nil
}

// flags returns the option of pcapng that holds epb_flags.
func (c *Capture) flags(flags uint32) []byte {
	b := c.options[:]
	binary.LittleEndian.PutUint16(b, 2)
	binary.LittleEndian.PutUint16(b[2:], 4)
	binary.LittleEndian.PutUint32(b[4:], flags)
	return b
}

// finish reads what the kernel has taken: it refuses all that comes from now on and waits until as many packets came out of the
// ring as its count says went in.
func (c *Capture) finish(f func(*trace.Frame, trace.Direction) error) error {
	c.names.end() // which would take packets again
	var err error
	if e := c.raw.Control(func(fd uintptr) { err = attach(int(fd), []instruction{{code: giveBack}}) }); e != nil || err != nil {
		return fmt.Errorf("packets: %w", errors.Join(e, err))
	}
	// A packet that passed the old filter may still be on its way into the ring, without being counted yet. It is there long
	// before the blocks are retired.
	patience := 0
	for {
		if err := c.drain(f); err != nil {
			return err
		}
		went, err := c.wentIn()
		if err != nil {
			return err
		}
		c.mu.Lock()
		left := went - c.taken
		c.mu.Unlock()
		if left <= 0 && patience > 0 {
			return nil
		}
		if patience++; patience > 100 {
			return fmt.Errorf("packets: the kernel counts %d packets that never came out of the ring", left)
		}
		// The block in which they are is handed over when it is as old as retire says.
		if err := c.socket.SetReadDeadline(time.Now().Add(retire * time.Millisecond)); err != nil {
			return fmt.Errorf("packets: %w", err)
		}
		if err := c.raw.Read(func(uintptr) bool { return c.ring.ready() }); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("packets: %w", err)
		}
	}
}
