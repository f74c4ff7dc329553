package ship

import (
	"encoding/binary"
	"io"
	"strings"

	"meridian/internal/collect/wire"
)

// walker finds how far a file consists of whole packets (CTF) or blocks (pcapng). A recorder that goes on after another was killed cuts off
// half a packet, so only whole ones are sent.
type walker struct {
	capture bool
	whole   int64
	packets int64 // up to there; of a foreign file those before it was found to be one
	foreign bool  // the file is not as recorders write it: all bytes count as whole
	buffer  []byte
}

func newWalker(name string) *walker {
	return &walker{capture: strings.HasPrefix(name, wire.Folder+"/")}
}

// Where a packet of a recorder has its size, in bits, and how long its head is up to there; and what a packet begins with.
const (
	packetMagic = 0xc1fc1fc1
	packetSize  = 56
	packetHead  = packetSize + 8
	blockHead   = 8
	sectionType = 0x0a0d0d0a
	byteOrder   = 0x1a2b3c4d
)

// walkBuffer is what is read at a time.
const walkBuffer = 256 << 10

// walk goes on to the end of the last whole packet of a file of some size, and returns it.
func (w *walker) walk(r io.ReaderAt, size int64) (int64, error) {
	if w.buffer == nil {
		w.buffer = make([]byte, walkBuffer)
	}
	for w.whole < size && !w.foreign {
		n, err := r.ReadAt(w.buffer[:min(size-w.whole, walkBuffer)], w.whole)
		if err != nil && err != io.EOF {
			return w.whole, err
		}
		from := w.whole
		if whole := w.over(w.buffer[:n], size); !whole || w.whole == from {
			break
		}
	}
	if w.foreign {
		w.whole = size
	}
	w.buffer = nil // of a file that is idle
	return w.whole, nil
}

// over walks over bytes that lie at whole. It is false where a packet is not whole yet.
func (w *walker) over(b []byte, size int64) bool {
	for at := int64(0); ; {
		length, known := w.length(b[at:])
		switch {
		case w.foreign:
			return false
		case !known:
			return at > 0 // the head is in the next read
		case length > size-w.whole:
			return false
		}
		w.whole += length
		w.packets++
		if at += length; at >= int64(len(b)) {
			return true
		}
	}
}

// length returns the length of the packet or block that begins with b; false if b is too short to tell.
func (w *walker) length(b []byte) (int64, bool) {
	le := binary.LittleEndian
	if w.capture {
		if len(b) < blockHead {
			return 0, false
		}
		if w.whole == 0 && (le.Uint32(b) != sectionType || len(b) >= 12 && le.Uint32(b[8:]) != byteOrder) {
			w.foreign = true
			return 0, false
		}
		n := int64(le.Uint32(b[4:]))
		if n < 12 || n%4 != 0 {
			w.foreign = true
		}
		return n, true
	}
	if len(b) < packetHead {
		return 0, false
	}
	bits := le.Uint64(b[packetSize:])
	if le.Uint32(b) != packetMagic || bits%8 != 0 || bits/8 < packetHead || bits > 1<<40 {
		w.foreign = true
	}
	return int64(bits / 8), true
}
