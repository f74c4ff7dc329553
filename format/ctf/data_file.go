package ctf

import (
	"errors"
	"io"

	"meridian/format/internal/files"
)

// dataFile is a file of packets. It is read into buffers and never mapped into memory: a process that truncates a mapped file
// ends every reader of it (SIGBUS), and one that writes to it changes bytes after they were checked. Buffers of some 64 KiB stay in
// the processor's cache, so that the copy costs about as much as the page faults of a mapping.
type dataFile struct {
	file files.File
	size int64 // when it was opened; what is appended later is not read
}

func openDataFile(path string) (*dataFile, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	d := &dataFile{file: f}
	if d.size, err = d.length(); err != nil {
		f.Close()
		return nil, err
	}
	return d, nil
}

// length returns the size of the file now.
func (d *dataFile) length() (int64, error) {
	if f, ok := d.file.(io.Seeker); ok {
		return f.Seek(0, io.SeekEnd) // cheaper than Stat, and a Follower asks often
	}
	info, err := d.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d *dataFile) Close() error { return d.file.Close() }

// fileWindow is one reader's view of a dataFile: a buffer that moves over it.
type fileWindow struct {
	d    *dataFile
	size int64  // where the file ends as far as it was read, at most d.size
	buf  []byte // the bytes from offset at on
	at   int64
	err  error // why the file ends there, if it was not truncated
}

// readAhead is how many bytes of a file are read at once, unless more are needed; tests set it.
var readAhead int64 = 64 << 10

// from returns the bytes from offset on: at least n of them unless the file ends before. They are valid until the next call.
func (w *fileWindow) from(offset, n int64) []byte {
	if b := w.held(offset, n); b != nil {
		return b
	}
	if offset < 0 || offset >= w.size {
		return nil
	}
	n = min(max(n, readAhead), w.size-offset)
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	read, err := w.d.file.ReadAt(w.buf[:n], offset)
	if int64(read) < n { // truncated, or unreadable: as if the file ended there
		w.size = offset + int64(read)
		if !errors.Is(err, io.EOF) {
			w.err = err
		}
	}
	w.buf, w.at = w.buf[:read], offset
	return w.buf
}

// held returns what from returns if the buffer holds it, and nil otherwise.
func (w *fileWindow) held(offset, n int64) []byte {
	if offset < w.at || offset >= w.size || offset+min(n, w.size-offset) > w.at+int64(len(w.buf)) {
		return nil
	}
	return w.buf[offset-w.at : min(int64(len(w.buf)), w.size-w.at)]
}
