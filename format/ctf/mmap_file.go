package ctf

import (
	"io"
	"os"
)

// dataFile is a file of packets. Where the system can, it is mapped into memory, so that unused fields are not
// copied; elsewhere it is read piece by piece.
//
// Truncating a mapped file while it is read ends the program (SIGBUS): the system has no other way to report that
// a page is gone. Tracers only append, and a file's length is looked at before each packet, so that one cut short between
// two packets is only shorter; within a packet the risk remains, and is the price of not copying.
type dataFile struct {
	file   *os.File
	mapped []byte
	size   int64 // when it was opened
}

func openDataFile(path string) (*dataFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &dataFile{file: f}
	if d.size, err = f.Seek(0, io.SeekEnd); err != nil {
		f.Close()
		return nil, err
	}
	if d.size > 0 && !noMapping {
		d.mapped = mapFile(f, d.size)
	}
	return d, nil
}

// noMapping makes tests read files without mapping them.
var noMapping bool

func (d *dataFile) Close() error {
	if d.mapped != nil {
		unmapFile(d.mapped)
		d.mapped = nil
	}
	return d.file.Close()
}

// fileWindow is one reader's view of a dataFile.
type fileWindow struct {
	d        *dataFile
	size     int64  // now
	buf      []byte // where the file is not mapped: size bytes from at
	at       int64
	released int64 // of a mapped file: up to where its memory was given back
}

// releaseStep is how much of a mapped file is given back at once, a multiple of any system's page size.
const releaseStep = 256 << 10

// release gives the memory before offset back to the system. Otherwise a program that reads a large trace would seem
// to hold all of it.
func (w *fileWindow) release(offset int64) {
	if to := offset &^ (releaseStep - 1); w.d.mapped != nil && to > w.released && to <= w.size {
		dropPages(w.d.mapped[w.released:to])
		w.released = to
	}
}

// refresh looks how long the file is now, at most as long as it was.
func (w *fileWindow) refresh() {
	if n, err := w.d.file.Seek(0, io.SeekEnd); err == nil && n < w.size {
		w.size = n
		w.buf = nil
	}
}

// from returns the bytes from offset on: at least n of them unless the file ends before.
func (w *fileWindow) from(offset, n int64) []byte {
	if offset >= w.size || offset < 0 {
		return nil
	}
	if w.d.mapped != nil {
		return w.d.mapped[offset:w.size]
	}
	n = min(n, w.size-offset)
	if offset >= w.at && offset+n <= w.at+int64(len(w.buf)) {
		return w.buf[offset-w.at:]
	}
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, max(n, 64<<10))
	}
	want := min(int64(cap(w.buf)), w.size-offset)
	read, err := w.d.file.ReadAt(w.buf[:want], offset)
	if int64(read) < n && err != nil { // as if the file ended there
		w.size = offset + int64(read)
	}
	w.buf, w.at = w.buf[:read], offset
	return w.buf
}
