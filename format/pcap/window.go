package pcap

import "io"

// windowSize is what is read at once: large enough that system calls do not matter, small enough that the bytes are
// still in the core's cache when they are decoded.
const windowSize = 256 << 10

// window shows a stream piece by piece as contiguous bytes without copying them out: buf[lo:hi] is what was read and
// not yet used, and begins at offset base+lo of the stream. It grows only by what has arrived.
type window struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	base   int64
	err    error // why nothing follows buf[:hi]
}

func newWindow(r io.Reader) window { return window{r: r, buf: make([]byte, windowSize)} }

func (w *window) offset() int64 { return w.base + int64(w.lo) }

func (w *window) rest() []byte { return w.buf[w.lo:w.hi] }

// need reports whether n bytes are there, reading until they are; otherwise err says why not. What the caller holds of
// buf is void afterwards.
func (w *window) need(n int) bool { return w.hi-w.lo >= n || w.fill(n) }

func (w *window) fill(n int) bool {
	if w.err != nil {
		return false
	}
	w.hi = copy(w.buf, w.buf[w.lo:w.hi])
	w.base += int64(w.lo)
	w.lo = 0
	for empty := 0; w.hi < n; {
		if w.hi == len(w.buf) {
			grown := make([]byte, 2*len(w.buf))
			copy(grown, w.buf)
			w.buf = grown
		}
		var k int
		k, w.err = w.r.Read(w.buf[w.hi:])
		w.hi += k
		if k > 0 {
			empty = 0
		} else if empty++; empty == 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
		if w.err != nil {
			return w.hi >= n
		}
	}
	return true
}

// skip passes over n bytes, which need not fit into the window, and reports whether they were there.
func (w *window) skip(n int64) bool {
	for n > int64(w.hi-w.lo) {
		n -= int64(w.hi - w.lo)
		w.lo = w.hi
		if !w.need(1) {
			return false
		}
	}
	w.lo += int(n)
	return true
}
