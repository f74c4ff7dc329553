package trace

import "meridian/clock"

// Interface is one source of frames in a capture file.
type Interface struct {
	Name       string
	LinkType   uint16 // LINKTYPE_ number
	SnapLength uint32
}

// Frame is one frame as a capture file holds it. Data and Options belong to the reader and last until its next Next.
type Frame struct {
	Number    int            // index in the file, from 0, counting every packet record
	Time      clock.HostTime // the stamp, an instant on the clock of the capture
	Interface int            // index into the reader's Interfaces
	Wire      uint32         // length on the wire
	Data      []byte         // the bytes that the capture kept
	Options   []byte         // pcapng: the packet's options (comments, flags) as little-endian option list without its end; nil without any
}

// FrameReader reads the frames of one capture in file order. It is used by one goroutine at a time.
type FrameReader interface {
	// Next fills f with the next frame, or returns io.EOF after the last. After any other error there are no more frames.
	Next(f *Frame) error
	// Interfaces returns the interfaces met so far; later ones are appended.
	Interfaces() []Interface
}
