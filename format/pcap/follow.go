package pcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"meridian/trace"
)

// Follower reads a capture while it is written: pcap or pcapng, not compressed, which may not exist yet and is appended to. Packets
// come once their block or record is whole. Interfaces and sections may follow at any place.
//
//	f := pcap.Follow(path, warnings)
//	for ctx.Err() == nil {
//		if _, err := f.Refresh(); err != nil { ... }
//		for f.Next(&frame, &packet) == nil { ... }
//		wait() // for a change of the file, or a moment
//	}
//
// A Follower starts nothing in the background and never sleeps. It holds the flows met so far and a window of the file. It belongs
// to one goroutine.
type Follower struct {
	path        string
	w           *trace.Warnings
	file        *os.File // nil until it is there
	info        fs.FileInfo
	size, tried int64     // now, and when reading came to an end
	changed     time.Time // of the file, when it came to an end within a block
	r           *Reader   // nil until the file has a header
	d           *Decoder
	granularity trace.Granularity
	closed      bool
	complete    bool   // nothing more is written to the file
	head        []byte // the beginning of what was read, at most HeadSize
	checked     int64  // size when head was compared with the file's
	first       int64  // where the first packet ends; 0 before it was read
}

// HeadSize is how many bytes at most tell a capture from others: the first packets of two have other stamps.
const HeadSize = 1024

// coarsestTime is a time after which a file that is written again has another time of change: of two seconds on FAT.
const coarsestTime = 2 * time.Second

// ErrReplaced is wrapped by the error of [Follower.Refresh] when the path names another file than the one that was read, which was
// read to its end, or when the file was written anew from its beginning. What was not read of it by then is gone.
var ErrReplaced = errors.New("another file was put in its place")

// Follow follows a capture from its beginning. Damage is reported to w, which may be nil.
func Follow(path string, w *trace.Warnings) *Follower {
	return &Follower{path: path, w: w, d: NewDecoder(path, w)}
}

// Refresh looks for what was appended since the last one. Grew is true if Next may now return more. The data of the last frame become
// invalid. After an error the next Refresh tries again.
func (f *Follower) Refresh() (grew bool, err error) {
	if f.closed {
		return false, errors.New("pcap: Refresh of a closed Follower")
	}
	if f.file == nil {
		if err := f.open(); f.file == nil {
			return false, err
		}
	}
	if f.size, err = f.file.Seek(0, io.SeekEnd); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	}
	if f.r == nil {
		if err := f.begin(); f.r == nil {
			return false, err
		}
	}
	if same, err := f.sameHead(); err != nil {
		return false, fmt.Errorf("%s: %w", f.path, err)
	} else if !same {
		return false, fmt.Errorf("%s: written anew: %w; follow it anew", f.path, ErrReplaced)
	}
	if at := f.r.in.offset(); f.size < at {
		f.w.Add(f.path, "file became shorter than what was read of it: it is read on from there", "")
		f.r.rewind(f.size)
	}
	if f.size == f.tried && f.size > f.r.in.offset() {
		// The block may have been cut off, and another written that ends at the same place.
		if info, err := f.file.Stat(); err == nil && (!info.ModTime().Equal(f.changed) || time.Since(f.changed) < coarsestTime) {
			f.changed, f.tried = info.ModTime(), -1
		}
	}
	if f.size != f.tried {
		return true, nil
	}
	if info, err := os.Stat(f.path); err == nil && !os.SameFile(info, f.info) {
		return false, fmt.Errorf("%s: %w; follow it anew", f.path, ErrReplaced)
	}
	return false, nil
}

// sameHead says whether the file still begins as what was read, looking if its size has changed or more of the beginning was read.
func (f *Follower) sameHead() (bool, error) {
	read := min(f.r.in.offset(), HeadSize)
	if f.size == f.checked && read <= int64(len(f.head)) {
		return true, nil
	}
	f.checked = f.size
	b := make([]byte, len(f.head), HeadSize)
	if n, err := f.file.ReadAt(b, 0); n < len(b) {
		if err == io.EOF {
			err = nil
		}
		return false, err
	}
	if !bytes.Equal(b, f.head) {
		return false, nil
	}
	if n := min(read, f.size); n > int64(len(f.head)) {
		b = b[:n]
		if _, err := f.file.ReadAt(b, 0); err != nil {
			return false, err
		}
		f.head = b
	}
	return true, nil
}

// Head returns the beginning of what was read as of the last Refresh, by which the capture is known under another name; nil if no packet
// is in it. It must not be changed.
func (f *Follower) Head() []byte {
	if f.first == 0 || int64(len(f.head)) < f.first {
		return nil
	}
	return f.head
}

func (f *Follower) open() error {
	info, err := os.Stat(f.path) // opening a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file, which alone can be followed", f.path)
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if f.info, err = file.Stat(); err != nil {
		return errors.Join(err, file.Close())
	}
	f.file = file
	return nil
}

// begin takes the file's header, once it is there.
func (f *Follower) begin() error {
	head := make([]byte, headerLength)
	n, err := f.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if head = head[:n]; n < 12 {
		return nil
	}
	if !Recognises(head) {
		return fmt.Errorf("%s: neither pcap nor pcapng (begins with % x), or compressed; only a plain capture can be followed", f.path, head[:8])
	}
	r := &Reader{file: f.path, layout: layout{step: 1}, live: true, tally: tally{file: f.path, w: f.w}}
	r.shown.Store(new([]trace.Interface))
	r.in = newWindow(&growing{follower: f})
	if isBlocks(head) {
		r.next = r.nextBlock
	} else if n < headerLength {
		return nil
	} else if err := r.beginRecords(head); err != nil {
		return err
	} else {
		r.rewind(headerLength)
	}
	f.r, f.tried = r, -1
	return nil
}

// growing reads a file up to the size that its follower knows.
type growing struct {
	follower *Follower
	at       int64
}

func (g *growing) Read(p []byte) (int, error) {
	n := min(int64(len(p)), g.follower.size-g.at)
	if n <= 0 {
		return 0, io.EOF
	}
	read, err := g.follower.file.ReadAt(p[:n], g.at)
	g.at += int64(read)
	if read > 0 && err == io.EOF {
		err = nil // it has become shorter
	}
	return read, err
}

// rewind makes the reader go on at an offset of the file, of which nothing is in memory any more.
func (r *Reader) rewind(offset int64) {
	w := &r.in
	w.base, w.lo, w.hi, w.err = offset, 0, 0, nil
	w.r.(*growing).at = offset
}

// Next fills frame with the next frame and p, unless that is nil, with the packet that it is decoded to. It returns io.EOF if there is
// none now. The frame's bytes stay valid until the next Next or Refresh.
func (f *Follower) Next(frame *trace.Frame, p *trace.Packet) error {
	if f.r == nil || f.closed || f.size == f.tried {
		return io.EOF
	}
	r := f.r
	r.stuck = ""
	if err := r.next(frame); err != nil {
		r.rewind(r.at)
		if err == io.EOF {
			f.tried = f.size
		}
		return err
	}
	if f.first == 0 {
		f.first = r.in.offset()
	}
	if p != nil {
		f.d.Decode(r.ifaces[frame.Interface].LinkType, frame, p)
		if r.unknown {
			p.Kind = trace.Untimed
		}
	}
	if !r.unknown {
		f.granularity.Unit = r.step
		f.granularity.Add(frame.Time)
	}
	return nil
}

// Append appends all packets that are there now to a capture, whose other fields it renews. The capture is one that the Follower
// has filled from its beginning.
func (f *Follower) Append(c *trace.Capture) error {
	c.File = f.path
	var frame trace.Frame
	var p trace.Packet
	for {
		err := f.Next(&frame, &p)
		if err == nil {
			*c.Packets.Append() = p
			continue
		}
		c.Flows, c.Interfaces, c.Granularity = f.Flows(), f.Interfaces(), f.Granularity()
		if err == io.EOF {
			return nil
		}
		return err
	}
}

// ForgetFlows drops the flows met so far: packets from here on refer to new ones, numbered from 0. A capture that Append has filled is
// not to be filled on. So memory stays bounded however long a capture is followed.
func (f *Follower) ForgetFlows() {
	f.d.Flush()
	f.d = NewDecoder(f.path, f.w)
}

// Flows returns the flows met so far, in the order of their first packets.
func (f *Follower) Flows() []trace.Flow { return f.d.Flows() }

// Interfaces returns the interfaces met so far.
func (f *Follower) Interfaces() []trace.Interface {
	if f.r == nil {
		return nil
	}
	return f.r.Interfaces()
}

// Read returns up to which byte the file is not read again, but for its first HeadSize bytes.
func (f *Follower) Read() int64 {
	if f.r == nil {
		return 0
	}
	return f.r.at
}

// Granularity returns the step of the stamps so far in ns, as [trace.Granularity] finds it; at least 1.
func (f *Follower) Granularity() int64 {
	if f.r != nil {
		f.granularity.Unit = f.r.step
	}
	return max(1, f.granularity.Step())
}

// Packets returns how many packets were returned.
func (f *Follower) Packets() int {
	if f.r == nil {
		return 0
	}
	return f.r.number
}

// Complete says that nothing more is written to the file: a packet that is not whole at its end is a gap.
func (f *Follower) Complete() { f.complete = true }

// Close closes the file and reports what was wrong with packets, and what was left at its end, to the warnings.
func (f *Follower) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.d.Flush()
	if f.r != nil {
		r := f.r
		switch {
		case r.stuck != "":
			r.tally.add(r.stuck, r.number, r.at)
		case f.size > r.in.offset() && f.size == f.tried:
			if f.complete {
				r.tally.add(cutPacket, r.number, r.in.offset())
			} else { // its writer may go on: a warning, but no gap
				r.tally.warn(cutPacket, place{r.number, r.in.offset()}.String())
			}
		}
		r.tally.flush()
	}
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
