package plainhttp

import (
	"encoding/binary"

	"golang.org/x/net/http2/hpack"
)

// preface is what a client's part of a connection begins with (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Types and flags of frames (RFC 9113, section 6).
const (
	headersFrame      = 1
	resetFrame        = 3
	settingsFrame     = 4
	pushFrame         = 5
	continuationFrame = 9

	endStream   = 0x1
	endHeaders  = 0x4
	padded      = 0x8
	prioritised = 0x20

	frameHead   = 9
	mostTable   = 64 << 10 // bytes of a table of HPACK, as browsers allow; there may be 8192 tables
	mostStrings = 32 << 10
)

// http2 is one side of a connection.
type http2 struct {
	of      *side
	preface int // bytes of it that come first
	lost    bool
	unnamed bool // HPACK's table is no longer known
	head    []byte
	want    int // bytes of head that make it whole
	skip    int64
	block   []byte // of headers that go on in the next frame
	stream  uint32
	flags   byte
	open    bool // a block of headers is
	decoder *hpack.Decoder

	method, path, status, grpc string
}

func newHTTP2(of *side) *http2 {
	h := &http2{of: of, want: frameHead}
	h.decoder = hpack.NewDecoder(4096, h.field)
	h.decoder.SetMaxStringLength(mostStrings)
	return h
}

func (h *http2) field(f hpack.HeaderField) {
	switch f.Name {
	case ":method":
		h.method = f.Value
	case ":path":
		h.path = f.Value
	case ":status":
		h.status = f.Value
	case "grpc-status":
		h.grpc = f.Value
	}
}

// take goes on with bytes that were captured.
func (h *http2) take(b []byte) {
	if n := min(h.preface, len(b)); n > 0 {
		b, h.preface = b[n:], h.preface-n
	}
	for len(b) > 0 && !h.lost {
		if h.skip > 0 {
			n := min(h.skip, int64(len(b)))
			b, h.skip = b[n:], h.skip-n
			continue
		}
		n := min(h.want-len(h.head), len(b))
		h.head, b = append(h.head, b[:n]...), b[n:]
		if len(h.head) < h.want {
			return
		}
		h.step()
	}
}

// missing passes bytes that were not captured. Where they are not all of one frame that nobody needs, frames are no longer told apart.
func (h *http2) missing(n int64, now bool) {
	switch {
	case h.lost:
	case n <= h.skip:
		h.skip -= n
	case len(h.head) >= frameHead && n <= int64(h.want-len(h.head)): // of headers
		if h.unnamed = true; now {
			h.frame(true)
		}
		h.skip = int64(h.want-len(h.head)) - n
		h.head, h.want = h.head[:0], frameHead
	default:
		h.lost = true
	}
}

// step goes on where head is whole: the head of a frame, or the whole frame.
func (h *http2) step() {
	length := int(h.head[0])<<16 | int(h.head[1])<<8 | int(h.head[2])
	if h.want == frameHead {
		switch kind := h.head[3]; {
		case length == 0:
		case kind == headersFrame || kind == resetFrame || kind == settingsFrame || kind == pushFrame || kind == continuationFrame:
			if length > mostHead {
				h.lost = true
				return
			}
			h.want += length
			return
		}
	}
	if h.want == frameHead && length > 0 { // of data, and others
		h.skip = int64(length)
	}
	h.frame(false)
	h.head, h.want = h.head[:0], frameHead
}

// frame takes a frame. Cut says that its end was not captured.
func (h *http2) frame(cut bool) {
	kind, flags := h.head[3], h.head[4]
	stream := binary.BigEndian.Uint32(h.head[5:]) & (1<<31 - 1)
	b := h.head[frameHead:]
	switch kind {
	case headersFrame, pushFrame:
		h.stream, h.flags, h.open, h.block = stream, flags, true, h.block[:0]
		h.gather(withoutPadding(b, kind, flags, cut), flags, cut)
		if kind == pushFrame {
			h.stream = 0 // a promise is no request of the client's
		}
	case continuationFrame:
		if h.open {
			h.gather(b, flags, cut)
		}
	case resetFrame:
		h.of.report(Item{Stream: stream, What: Reset})
	case settingsFrame:
		h.settings(b, flags)
	default:
		if kind == 0 && flags&endStream != 0 {
			h.of.report(Item{Stream: stream, What: End})
		}
	}
}

// withoutPadding returns the block of headers of a frame.
func withoutPadding(b []byte, kind, flags byte, cut bool) []byte {
	pad := 0
	if flags&padded != 0 && len(b) > 0 {
		pad, b = int(b[0]), b[1:]
	}
	before := 0
	switch {
	case kind == pushFrame:
		before = 4
	case flags&prioritised != 0:
		before = 5
	}
	b = b[min(before, len(b)):]
	if cut {
		return b
	}
	return b[:max(0, len(b)-pad)]
}

// gather adds to a block of headers, and reports it when it is whole.
func (h *http2) gather(b []byte, flags byte, cut bool) {
	if len(h.block)+len(b) > mostHead {
		h.unnamed = true
	} else {
		h.block = append(h.block, b...)
	}
	h.unnamed = h.unnamed || cut
	if flags&endHeaders == 0 {
		return
	}
	h.open = false
	h.method, h.path, h.status, h.grpc = "", "", "", ""
	if !h.unnamed {
		if _, err := h.decoder.Write(h.block); err != nil {
			h.unnamed = true
		} else if h.decoder.Close() != nil {
			h.unnamed = true
		}
	}
	if h.stream != 0 {
		h.headers()
	}
}

// headers reports a block of headers: those of a request, of a response, or trailers.
func (h *http2) headers() {
	item := Item{Stream: h.stream}
	switch client := h.of.client; {
	case h.unnamed && client:
		item.Text = Unknown
		h.of.report(item)
	case h.unnamed:
		item.What, item.Text = Response, Unknown
		h.of.report(item)
	case h.method != "":
		item.Text = printable(h.method) + " " + printable(h.path)
		h.of.report(item)
	case h.status != "" && h.status[0] != '1':
		item.What, item.Text = Response, printable(h.status)
		h.of.report(item)
	}
	if h.grpc != "" {
		h.of.report(Item{Stream: h.stream, What: GRPC, Text: printable(h.grpc)})
	}
	if h.flags&endStream != 0 {
		h.of.report(Item{Stream: h.stream, What: End})
	}
}

// settings takes what this side allows the other's HPACK.
func (h *http2) settings(b []byte, flags byte) {
	const acknowledges, tableSize = 1, 1
	if flags&acknowledges != 0 || h.of.other.two == nil {
		return
	}
	for ; len(b) >= 6; b = b[6:] {
		if binary.BigEndian.Uint16(b) == tableSize {
			h.of.other.two.decoder.SetAllowedMaxDynamicTableSize(min(binary.BigEndian.Uint32(b[2:]), mostTable))
		}
	}
}
