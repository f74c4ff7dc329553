package packet

import (
	"errors"
	"fmt"
	"os"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/trace"
)

// File is a capture on disk, in pcapng. It is written in whole blocks, so that after a crash all but the last can be read:
//
//	section | interface ... | packet ... | interface (met later) | packet ... | statistics of each interface | packet ...
//
// Statistics follow whenever packets were lost since the last ones, and at the end. A File is for one goroutine at a time.
type File struct {
	f       *os.File
	w       *pcap.Writer
	size    int64 // of the whole blocks
	failed  error // after which nothing is written
	pending []Written
	written []Written // the part of pending that is in the file
	dropped int64     // as of the last statistics
	before  int64     // what was dropped before the file began, which earlier files of the capture tell
}

// StartAt says what the capture had dropped before the file began: its statistics tell of what was dropped since.
func (x *File) StartAt(s Stats) { x.before, x.dropped = s.Dropped, s.Dropped }

// Size returns how many bytes are in the file.
func (x *File) Size() int64 { return x.size }

// Written counts an interface's packets in a file.
type Written struct {
	Interface      // as it was first seen
	Packets, Bytes int64
}

// Create creates a file, which must not exist. The comment says what is in it; it may be empty.
func Create(path, comment string) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	x := &File{f: f}
	x.w, err = pcap.NewWriter(blocks{x}, nil, comment)
	if err == nil {
		err = x.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return x, nil
}

// blocks writes the buffer of pcap.Writer, which holds whole blocks.
type blocks struct{ *File }

func (b blocks) Write(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.f.WriteAt(p, b.size)
	if err != nil {
		// A torn block must not stay in the middle of the file.
		b.failed = errors.Join(err, b.f.Truncate(b.size))
		return n, b.failed
	}
	b.size += int64(n)
	b.written = append(b.written[:0], b.pending...)
	return n, nil
}

// Describe adds the interfaces that are new. The list may only grow; the frames' interfaces are indices into it.
func (x *File) Describe(all []Interface) error {
	for _, i := range all[min(len(x.pending), len(all)):] {
		if _, err := x.w.AddInterface(pcap.WriterInterface{Name: i.Name, LinkType: i.LinkType, SnapLength: i.SnapLength}); err != nil {
			return err
		}
		x.pending = append(x.pending, Written{Interface: i})
	}
	return nil
}

// Write writes a frame of an interface that was described. It is in the file after Flush at the latest.
func (x *File) Write(f *trace.Frame) error {
	if f.Interface < 0 || f.Interface >= len(x.pending) {
		return fmt.Errorf("packet %d of interface %d, which was not described", f.Number+1, f.Interface)
	}
	if err := x.w.Write(f.Interface, f); err != nil {
		return err
	}
	c := &x.pending[f.Interface]
	c.Packets++
	c.Bytes += int64(32+(len(f.Data)+3)&^3) + int64(len(f.Options))
	if len(f.Options) > 0 {
		c.Bytes += 4
	}
	return nil
}

// Flush writes the buffered blocks.
func (x *File) Flush() error { return x.w.Flush() }

// Written returns the counts of each interface, in their order.
func (x *File) Written() []Written { return x.written }

// WriteStatistics flushes the file and writes the counts as of a time of the file's clock, if packets were dropped since the last
// ones, or always. All interfaces share one ring, so the interface of a dropped packet is not known: their number stands with
// the first interface.
func (x *File) WriteStatistics(s Stats, at clock.HostTime, always bool) error {
	err := x.Flush()
	if err != nil || !always && s.Dropped == x.dropped {
		return err
	}
	x.dropped = s.Dropped
	for i := range x.written {
		counts := pcap.Statistics{Received: x.written[i].Packets, Dropped: -1}
		if i == 0 {
			if counts.Dropped = s.Dropped - x.before; len(x.written) > 1 {
				counts.Comment = "dropped packets are those of all interfaces"
			}
		}
		if err := x.w.Statistics(i, at, counts); err != nil {
			return err
		}
	}
	return x.Flush()
}

// Close closes the file. What was not flushed is lost.
func (x *File) Close() error { return x.f.Close() }
