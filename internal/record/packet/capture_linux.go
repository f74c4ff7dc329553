package packet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/netstate"
	"meridian/trace"
)

// Capture is a running capture.
type Capture struct {
	snaplen    uint32
	socket     *socket
	ring       *ring
	counter    counter
	stamps     stamps
	selection  selection
	interfaces interfaceTable
	options    [8]byte // of the frame that Read passes on
	number     int     // of the next frame
}

// Open begins to capture: the packets that the kernel sees from its return on are kept for Read.
func Open(o Options) (*Capture, error) {
	c := &Capture{snaplen: 1<<32 - 1, interfaces: interfaceTable{netns: o.NetNS, places: make(map[int]int)}}
	if o.Snaplen == 0 {
		o.Snaplen = DefaultSnaplen
	}
	if n := uint64(o.Snaplen); o.Snaplen > 0 && n < 1<<32-1 {
		c.snaplen, c.interfaces.snaplen = uint32(n), uint32(n)
	}
	if o.BufferSize <= 0 {
		o.BufferSize = DefaultBuffer
	}
	c.selection = selection{wanted: o.Interfaces, promiscuous: o.Promiscuous, snaplen: c.snaplen, names: map[int]string{}}
	if strings.TrimSpace(o.Filter) != "" {
		var err error
		if c.selection.filter, err = parseFilter(o.Filter); err != nil {
			return nil, err
		}
	}
	if o.Promiscuous && len(o.Interfaces) == 0 {
		return nil, errors.New("packets: name the interfaces for promiscuous mode")
	}
	err := netstate.Within(o.NetNS, func() error { return c.open(&o) })
	if err != nil {
		c.Close()
		return nil, explain(err)
	}
	return c, nil
}

// explain adds the mend to an error of missing privileges.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("packets: %w; capturing needs root (CAP_NET_RAW)", err)
	}
	return fmt.Errorf("packets: %w", err)
}

func (c *Capture) open(o *Options) error {
	w, err := netstate.Open(netstate.Options{})
	if err != nil {
		return err
	}
	c.selection.watcher = w
	all := w.Snapshot()
	if err := c.selection.choose(all, o.NetNS); err != nil {
		return err
	}
	if c.socket, err = newSocket(); err != nil {
		return err
	}
	c.counter.socket, c.selection.socket, c.stamps.counter = c.socket, c.socket, &c.counter
	if err := c.selection.apply(false); err != nil {
		return err
	}
	err = c.socket.control(func(fd int) (err error) {
		// Without the option packets are stamped when they reach the ring; with it, when the device hands them over.
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
			return os.NewSyscallError("SO_TIMESTAMPNS", err)
		}
		c.ring, err = newRing(fd, o.BufferSize, o.Pause)
		return err
	})
	if err != nil {
		return err
	}
	indices := c.selection.indices()
	for _, i := range all {
		if len(indices) == 0 || slices.Contains(indices, i.Index) {
			c.interfaces.add(i.Index, i.Hardware, i.Name)
		}
	}
	if err := c.SetOrigin(o.Origin); err != nil {
		return err
	}
	if err := c.selection.apply(true); err != nil {
		return err
	}
	c.selection.begin()
	return nil
}

// SetOrigin sets Options.Origin, for callers that learn it only when the capture is open. It must be called before Read.
func (c *Capture) SetOrigin(ns int64) error { return c.stamps.setOrigin(ns) }

// Interfaces returns the interfaces seen so far, under the names that they had when they were first seen. The list only
// grows. A frame's Interface is an index into it.
func (c *Capture) Interfaces() []Interface { return c.interfaces.all() }

// Stats returns the counts so far. It may be called while Read runs.
func (c *Capture) Stats() (Stats, error) {
	_, err := c.counter.update()
	s := c.counter.current()
	c.selection.report(&s)
	s.Steps, s.ClockError = c.stamps.line.Count()
	return s, err
}

// Read calls f with every frame until ctx is done, which is no error, or f returns an error, which Read returns. A frame
// belongs to f until it returns. When ctx is done, Read still passes on what the kernel had captured by then. Frames come in
// the order of the ring, where stamps of different processors may be some microseconds out of order.
func (c *Capture) Read(ctx context.Context, f func(*trace.Frame, trace.Direction) error) error {
	if err := c.socket.setDeadline(time.Time{}); err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.socket.setDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		if err := c.drain(f); err != nil {
			return err
		}
		err := c.socket.wait(c.ring.ready)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return c.finish(f)
		}
		if err == nil {
			err = c.socket.takeError()
		}
		if err != nil {
			return fmt.Errorf("packets: %w", err)
		}
	}
}

// drain passes on the packets of the blocks that are ready.
func (c *Capture) drain(f func(*trace.Frame, trace.Direction) error) error {
	var frame trace.Frame
	for c.ring.ready() {
		taken, unknown := int64(0), int64(0)
		if c.stamps.origin != 0 {
			if err := c.stamps.observe(); err != nil { // there may be a step in this block that the watcher has not seen yet
				return err
			}
		}
		err := eachPacket(c.ring.block(), func(p *raw) error {
			taken++
			at := c.stamps.convert(c.counter.taken+taken, p.time)
			i, ok := c.interfaces.find(p, c.selection.nameOf)
			if !ok {
				unknown++
				return nil
			}
			if uint64(len(p.data)) > uint64(c.snaplen) {
				p.data = p.data[:c.snaplen] // longer by a VLAN's tag
			}
			direction, flags := flagsOf(p.kind)
			frame = trace.Frame{Number: c.number, Time: at, Interface: i, Wire: max(p.wire, uint32(len(p.data))), Data: p.data, Options: c.flags(flags)}
			c.number++
			return f(&frame, direction)
		})
		c.ring.release()
		c.counter.add(taken, unknown)
		if errors.Is(err, errRing) {
			return fmt.Errorf("packets: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flags returns pcapng's option epb_flags.
func (c *Capture) flags(flags uint32) []byte {
	b := c.options[:]
	binary.LittleEndian.PutUint16(b, 2)
	binary.LittleEndian.PutUint16(b[2:], 4)
	binary.LittleEndian.PutUint32(b[4:], flags)
	return b
}

// maxFinishRounds is how many times finish waits for a block: 5 s in all.
const maxFinishRounds = 100

// finish reads what the kernel has captured. It makes the filter reject all packets from now on, and waits until as many
// packets came out of the ring as the kernel's count says went in.
func (c *Capture) finish(f func(*trace.Frame, trace.Direction) error) error {
	c.selection.end() // which would set the filter again
	if err := c.socket.attach([]instruction{{code: ret}}); err != nil {
		return fmt.Errorf("packets: %w", err)
	}
	for round := 0; ; round++ {
		if err := c.drain(f); err != nil {
			return err
		}
		arrived, err := c.counter.update()
		if err != nil {
			return err
		}
		// A packet that passed the old filter may be on its way into the ring and not counted yet. It has arrived long before
		// the kernel hands over the next block: hence one round more.
		missing := arrived - c.counter.taken
		if missing <= 0 && round > 0 {
			return nil
		}
		if round == maxFinishRounds {
			return fmt.Errorf("packets: %d packets that the kernel counts did not come out of the ring", missing)
		}
		// The kernel hands over the block that they are in after retireTimeout.
		if err := c.socket.setDeadline(time.Now().Add(retireTimeout * time.Millisecond)); err != nil {
			return fmt.Errorf("packets: %w", err)
		}
		if err := c.socket.wait(c.ring.ready); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("packets: %w", err)
		}
	}
}

// Close ends the capture. It must not be called during Read.
func (c *Capture) Close() (err error) {
	c.selection.end()
	c.stamps.close()
	if c.socket != nil {
		err = c.socket.close()
		c.socket = nil
	}
	if c.ring != nil {
		c.ring.close()
		c.ring = nil
	}
	return err
}
