package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// WriterInterface describes one source of frames in the file that is written.
type WriterInterface struct {
	Name        string
	Description string // may be empty
	LinkType    uint16
	SnapLength  uint32 // 0: frames are whole
	// Offset, in seconds, is added to all stamps by readers of the file. pcapng cannot hold a stamp before it, which
	// is 1970 unless the timeline begins earlier.
	Offset int64
}

// Writer writes pcapng in nanoseconds, little-endian, in one section.
type Writer struct {
	w      io.Writer
	buf    []byte // what is not yet written; its capacity does not grow except for a frame that is longer
	starts []clock.HostTime
	err    error // the first error of w, after which nothing is written
	part   bool  // buf is all that was written since Flush
}

const writeSize = 1 << 20

// NewWriter begins a file. Comment may be empty. More interfaces may follow by [Writer.AddInterface].
func NewWriter(w io.Writer, ifaces []WriterInterface, comment string) (*Writer, error) {
	x := &Writer{w: w, buf: make([]byte, 0, writeSize)}
	x.begin(sectionBlock)
	x.u32(byteOrderMagic)
	x.u16(1) // version 1.0
	x.u16(0)
	x.u32(math.MaxUint32) // the section's length is not known
	x.u32(math.MaxUint32)
	x.option(1, comment)
	x.option(4, "meridian") // shb_userappl
	x.u32(endOfOptions)
	x.close(0)
	for _, i := range ifaces {
		if _, err := x.AddInterface(i); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Part returns a writer of packets of the interfaces that x has so far, which keeps them in memory until Flush. So parts of a
// file can be made by several goroutines, and written one behind the other.
func (x *Writer) Part(w io.Writer) *Writer {
	return &Writer{w: w, starts: slices.Clip(x.starts), part: true}
}

// AddInterface describes one more interface and returns its index for Write.
func (x *Writer) AddInterface(i WriterInterface) (int, error) {
	if i.Offset > 1<<33 || i.Offset < -(1<<33) {
		return 0, fmt.Errorf("pcapng: interface %s: offset of %d s is out of range", i.Name, i.Offset)
	}
	start := len(x.buf)
	x.begin(interfaceBlock)
	x.u16(i.LinkType)
	x.u16(0)
	x.u32(i.SnapLength)
	x.option(2, i.Name)
	x.option(3, i.Description)
	x.option(9, "\x09") // if_tsresol: nanoseconds
	if i.Offset != 0 {
		x.count(14, uint64(i.Offset)) // if_tsoffset
	}
	x.u32(endOfOptions)
	x.close(start)
	x.starts = append(x.starts, clock.HostTime(i.Offset*1_000_000_000))
	return len(x.starts) - 1, x.err
}

var errBefore = errors.New("pcapng: a packet before the earliest time that its interface can hold")

func (x *Writer) unknown(iface int) error {
	return fmt.Errorf("pcapng: interface %d out of range (the file has %d)", iface, len(x.starts))
}

// Write writes a frame of an interface, f.Time being its time in the file. It keeps nothing of f.
func (x *Writer) Write(iface int, f *trace.Frame) error {
	if x.err != nil {
		return x.err
	}
	kept, options := len(f.Data), len(f.Options)
	if iface < 0 || iface >= len(x.starts) {
		return x.unknown(iface)
	}
	if f.Time < x.starts[iface] {
		return errBefore
	}
	if options%4 != 0 || kept > maxFrame || options > maxBlock-maxFrame {
		return fmt.Errorf("pcapng: packet %d of %d bytes with %d bytes of options cannot be written", f.Number+1, kept, options)
	}
	padded := (kept + 3) &^ 3
	length := 28 + padded + options + 4
	if options > 0 {
		length += 4
	}
	if cap(x.buf)-len(x.buf) < length {
		if x.part {
			x.buf = slices.Grow(x.buf, max(length, cap(x.buf)/2))
		} else if x.Flush() != nil {
			return x.err
		} else if cap(x.buf) < length {
			x.buf = make([]byte, 0, length)
		}
	}
	start := len(x.buf)
	x.buf = x.buf[:start+length]
	b := x.buf[start:]
	stamp := uint64(f.Time - x.starts[iface])
	binary.LittleEndian.PutUint32(b, enhancedBlock)
	binary.LittleEndian.PutUint32(b[4:], uint32(length))
	binary.LittleEndian.PutUint32(b[8:], uint32(iface))
	binary.LittleEndian.PutUint32(b[12:], uint32(stamp>>32))
	binary.LittleEndian.PutUint32(b[16:], uint32(stamp))
	binary.LittleEndian.PutUint32(b[20:], uint32(kept))
	binary.LittleEndian.PutUint32(b[24:], f.Wire)
	if padded > kept {
		binary.LittleEndian.PutUint32(b[28+padded-4:], 0)
	}
	copy(b[28:], f.Data)
	if options > 0 {
		copy(b[28+padded:], f.Options)
		binary.LittleEndian.PutUint32(b[28+padded+options:], endOfOptions)
	}
	binary.LittleEndian.PutUint32(b[length-4:], uint32(length))
	return nil
}

// Statistics are counts of an interface.
type Statistics struct {
	Received int64  // packets of it that are in the file
	Dropped  int64  // packets that found no room; below 0: nothing is said of them
	Comment  string // may be empty
}

// Statistics writes the counts of an interface as they are at a time of the file.
func (x *Writer) Statistics(iface int, at clock.HostTime, s Statistics) error {
	if x.err != nil {
		return x.err
	}
	if iface < 0 || iface >= len(x.starts) {
		return x.unknown(iface)
	}
	if at < x.starts[iface] {
		return errBefore
	}
	start, stamp := len(x.buf), uint64(at-x.starts[iface])
	x.begin(statisticsBlock)
	x.u32(uint32(iface))
	x.u32(uint32(stamp >> 32))
	x.u32(uint32(stamp))
	x.option(1, s.Comment)
	if s.Dropped >= 0 {
		x.count(7, uint64(s.Dropped)) // isb_osdrop
	}
	x.count(8, uint64(s.Received)) // isb_usrdeliv
	x.u32(endOfOptions)
	x.close(start)
	return nil
}

// Flush writes what is buffered. The file is complete after it.
func (x *Writer) Flush() error {
	if x.err != nil {
		return x.err
	}
	n, err := x.w.Write(x.buf)
	if err == nil && n < len(x.buf) {
		err = io.ErrShortWrite
	}
	x.buf = x.buf[:0]
	x.err = err
	return err
}

func (x *Writer) u16(v uint16) { x.buf = binary.LittleEndian.AppendUint16(x.buf, v) }
func (x *Writer) u32(v uint32) { x.buf = binary.LittleEndian.AppendUint32(x.buf, v) }

// begin begins a block other than a packet's, whose length close will fill in.
func (x *Writer) begin(kind uint32) {
	x.u32(kind)
	x.u32(0)
}

func (x *Writer) close(start int) {
	length := uint32(len(x.buf) - start + 4)
	x.u32(length)
	binary.LittleEndian.PutUint32(x.buf[start+4:], length)
}

// count writes an option of 64 bits.
func (x *Writer) count(code uint16, n uint64) {
	x.option(code, string(binary.LittleEndian.AppendUint64(nil, n)))
}

// option writes an option with a value that is not empty.
func (x *Writer) option(code uint16, value string) {
	if value == "" {
		return
	}
	value = value[:min(len(value), math.MaxUint16)]
	x.u16(code)
	x.u16(uint16(len(value)))
	x.buf = append(x.buf, value...)
	for len(x.buf)%4 != 0 {
		x.buf = append(x.buf, 0)
	}
}
