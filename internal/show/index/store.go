package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// store is the file while it is being written. Pages of one kind are together in extents, so that reading the trees does
// not skip over events. An extent is reserved before its contents are known, and written at once.
type store struct {
	f    *os.File
	path string // "" for an unnamed file
	mu   sync.Mutex
	end  int64
}

// newStore creates a temporary file in the same directory, so that the path names a complete file or none.
func newStore(path string) (*store, error) {
	var f *os.File
	var err error
	if path == "" {
		f, err = os.CreateTemp("", "meridian-index-*")
	} else {
		// With the rights of what a person writes, and those of a file that was there.
		mode := os.FileMode(0o666)
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), rand.Uint64()))
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	}
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if path == "" {
		// Where a file that is open cannot be removed, Close does it.
		_ = os.Remove(f.Name())
	}
	return &store{f: f, path: path, end: headerSize}, nil
}

func (s *store) reserve(n int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.end
	s.end += int64(n)
	return at
}

func (s *store) write(b []byte, at int64) error {
	if _, err := s.f.WriteAt(b, at); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// publish renames the complete file to its path.
func (s *store) publish() error {
	if s.path == "" {
		return nil
	}
	if err := os.Rename(s.f.Name(), s.path); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// discard closes and removes what was not placed.
func (s *store) discard() {
	_ = s.f.Close()
	_ = os.Remove(s.f.Name())
}

// frame writes the directory at the end, and what frames the file.
func (s *store) frame(magic string, directory []byte) error {
	at := s.reserve(len(directory) + trailerSize)
	b := directory
	n, sum := len(b), crc32.Checksum(b, castagnoli)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = append(binary.LittleEndian.AppendUint32(b, 0), magic...)
	if err := s.write(b, at); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	return s.write(binary.LittleEndian.AppendUint32(head, 0), 0)
}

// extent is where pages of one kind are gathered.
type extent struct {
	s    *store
	most int // how large one becomes
	size int // of this one, twice as large as the one before: a small index is a small file
	buf  []byte
	at   int64
	end  int64 // of what is reserved
}

// put lays a page down, followed by its checksum, and says where.
func (e *extent) put(page []byte) (pageRef, error) {
	n := len(page) + crc32.Size
	if e.at+int64(len(e.buf)+n) > e.end {
		if err := e.flush(); err != nil {
			return pageRef{}, err
		}
	}
	sum := crc32.Checksum(page, castagnoli)
	if n > e.most {
		at := e.s.reserve(n)
		whole := binary.LittleEndian.AppendUint32(append(make([]byte, 0, n), page...), sum)
		return pageRef{at, int64(n)}, e.s.write(whole, at)
	}
	if len(e.buf) == 0 {
		e.size = min(max(2*e.size, 4<<10, n), e.most)
		e.at = e.s.reserve(e.size)
		e.end = e.at + int64(e.size)
	}
	at := e.at + int64(len(e.buf))
	e.buf = binary.LittleEndian.AppendUint32(append(e.buf, page...), sum)
	return pageRef{at, int64(n)}, nil
}

func (e *extent) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	err := e.s.write(e.buf, e.at)
	e.buf, e.end = e.buf[:0], 0
	return err
}

// pageRef locates a page in the file, with its checksum.
type pageRef struct {
	at, size int64
}

// errDamaged is wrapped by the errors of an inconsistent index file.
var errDamaged = errors.New("the index is damaged; make it again from the traces")

// damaged says what contradicts what.
func damaged(format string, args ...any) error {
	return fmt.Errorf("index: "+format+": %w", append(args, errDamaged)...)
}

// pageReader reads pages through a cache of stretches of files. Each has one possible slot, by its number and its file.
type pageReader struct {
	f    io.ReaderAt
	size int64 // of the part that holds pages
	salt int64 // where its first segment is in the cache
	// unchecked takes pages whatever their checksum: a forged index has a forged checksum.
	unchecked bool
	cache     *pageCache
}

// pageCache is shared by files that are read together.
type pageCache struct {
	slots [2048]atomic.Pointer[stretch]
	files atomic.Int64
}

const stretchSize = 16 << 10

type stretch struct {
	of     *pageReader
	number int64
	data   []byte
}

func newPageReader(f io.ReaderAt, size int64, c *pageCache) pageReader {
	return pageReader{f: f, size: size, cache: c, salt: c.files.Add(1) * 797}
}

// page returns the bytes of a page. The caller must not change them.
func (r *pageReader) page(p pageRef) ([]byte, error) {
	if p.at < headerSize || p.size < crc32.Size || p.size > r.size || p.at > r.size-p.size {
		return nil, damaged("page of %d bytes at offset %d of %d", p.size, p.at, r.size)
	}
	b, err := r.read(p)
	if err != nil {
		return nil, err
	}
	n := len(b) - crc32.Size
	if !r.unchecked && crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, damaged("wrong checksum of the page at offset %d", p.at)
	}
	return b[:n:n], nil
}

func (r *pageReader) read(p pageRef) ([]byte, error) {
	from, to := p.at/stretchSize, (p.at+p.size-1)/stretchSize
	if to > from+1 {
		b := make([]byte, p.size)
		if _, err := r.f.ReadAt(b, p.at); err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		return b, nil
	}
	first, err := r.stretch(from)
	if err != nil {
		return nil, err
	}
	begin := p.at - from*stretchSize
	if to == from {
		return within(first, begin, p.size)
	}
	second, err := r.stretch(to)
	if err != nil {
		return nil, err
	}
	b, err := within(first, begin, stretchSize-begin)
	if err != nil {
		return nil, err
	}
	rest, err := within(second, 0, p.size-int64(len(b)))
	if err != nil {
		return nil, err
	}
	return append(append(make([]byte, 0, p.size), b...), rest...), nil
}

func within(b []byte, at, n int64) ([]byte, error) {
	if at+n > int64(len(b)) {
		return nil, damaged("file cut short")
	}
	return b[at : at+n], nil
}

func (r *pageReader) stretch(number int64) ([]byte, error) {
	slots := &r.cache.slots
	slot := &slots[(number+r.salt)%int64(len(slots))]
	if s := slot.Load(); s != nil && s.number == number && s.of == r {
		return s.data, nil
	}
	s := &stretch{of: r, number: number, data: make([]byte, stretchSize)}
	n, err := r.f.ReadAt(s.data, number*stretchSize)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("index: %w", err)
	}
	s.data = s.data[:n]
	slot.Store(s)
	return s.data, nil
}
