package s3

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
)

// File is an open file. Any goroutine may call ReadAt.
type File struct {
	entry  *entry
	client *Client
	cache  *cache

	ctx     context.Context
	cancel  context.CancelFunc
	fetches sync.WaitGroup // requests on their way

	offset int64 // of Read and Seek

	mu     sync.Mutex
	closed bool
	walks  [4]walk // where it is read, the latest first
}

// walk is a place that moves over a file from block to block. A file of a trace has two, since headers of packets are read ahead of their
// events.
type walk struct {
	next  int64 // the block behind the one that was read last
	ahead int64 // the first one that was not requested ahead
	run   int64 // how many are requested at once, doubled each time
}

func (f *File) id(number int64) blockID {
	o, in, _ := f.entry.holding(number)
	return blockID{bucket: o.Bucket, key: o.Key, tag: o.ETag, number: in}
}

// blocks is how many blocks the file has.
func (f *File) blocks() int64 { return (f.entry.object.Size + blockSize - 1) / blockSize }

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) { return f.entry, nil }

// ReadAt reads from an offset on.
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.entry.name, Err: fs.ErrInvalid}
	}
	for n < len(p) {
		if offset >= f.entry.object.Size {
			return n, io.EOF
		}
		data, err := f.block(offset / blockSize)
		if err != nil {
			return n, err
		}
		k := copy(p[n:], data[offset%blockSize:])
		n += k
		offset += int64(k)
	}
	return n, nil
}

// block returns the content of a block.
func (f *File) block(number int64) ([]byte, error) {
	for {
		if err := f.ctx.Err(); err != nil {
			return nil, err
		}
		b := f.request(number)
		if b == nil {
			return nil, &fs.PathError{Op: "read", Path: f.entry.name, Err: fs.ErrClosed}
		}
		select {
		case <-b.ready:
		case <-f.ctx.Done():
			return nil, f.ctx.Err()
		}
		if !errors.Is(b.err, errAbandoned) {
			return b.data, b.err
		}
	}
}

// request returns a block that is there or on its way, nil when the file is closed. Behind one that follows the block read before, more
// are requested.
func (f *File) request(number int64) *block {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	w := f.walk(number)
	b := f.cache.take(f, number, 1)
	if w.next = number + 1; w.ahead < w.next {
		w.ahead = w.next
	}
	if w.run > 0 && w.ahead-number <= max(w.run/2, 1) && w.ahead < f.blocks() {
		for end := min(w.ahead+w.run, f.blocks()); w.ahead < end; {
			_, _, left := f.entry.holding(w.ahead)
			n := min(end-w.ahead, left)
			f.cache.take(f, w.ahead, n)
			w.ahead += n
		}
	}
	return b
}

// walk returns the one that a block belongs to. It goes on at the next block or was there already, else it is a new one.
func (f *File) walk(number int64) *walk {
	for i, w := range f.walks {
		if number != w.next && number != w.next-1 || w.next == 0 {
			continue
		}
		if number == w.next {
			w.run = min(max(1, 2*w.run), f.cache.longestRun())
		}
		copy(f.walks[1:i+1], f.walks[:i])
		f.walks[0] = w
		return &f.walks[0]
	}
	copy(f.walks[1:], f.walks[:])
	f.walks[0] = walk{}
	return &f.walks[0]
}

// Read reads from where the last Read ended.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek sets where the next Read begins.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.entry.object.Size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, &fs.PathError{Op: "seek", Path: f.entry.name, Err: fs.ErrInvalid}
	}
	f.offset = offset
	return offset, nil
}

// Close gives up requests and waits for their ends.
func (f *File) Close() error {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if closed {
		return &fs.PathError{Op: "close", Path: f.entry.name, Err: fs.ErrClosed}
	}
	f.cancel()
	f.fetches.Wait()
	f.cache.closed()
	return nil
}
