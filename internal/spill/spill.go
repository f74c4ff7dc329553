// Package spill keeps large arrays of a run in a file of its scratch directory, once they are more than the run may hold in
// memory. It implements [trace.Memory].
//
//	arrays, as they come:  | on the heap, up to 3/8 of the limit less 64 MiB | in the file, mapped ...
//
// Arrays on the heap stay there to the end. So where the part of the input read so far shows ([Memory.Progress]) that its packets will not
// fit, only a sixteenth of the limit is for them, and the rest of the heap for those who work on the arrays.
//
// What is in the file is read and written through a mapping, so all code works on slices and yields the same bytes. A mapped page counts
// as the process's memory from when it was touched. So a goroutine looks some hundred times a second at how many there are, and unmaps
// all of them if they are more than an eighth of the limit. Pages that are touched again are mapped again: from
// the page cache while the machine has memory, else from the disk. Arrays should be read in their order, therefore.
//
// The rest of the limit is for everything else on the heap, and what the collector has not collected yet. Arrays written and kept at once ([Memory.Keep]) are written as files are, without a
// fault for each page. Space is allocated before it is mapped, so a full disk is an error and no signal.
//
// The file has no name any more once it is open: the system frees it with the process, however that ends. Only Linux can do all this;
// elsewhere all arrays stay on the heap.
package spill

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"meridian/internal/scratch"
)

const (
	// segment is how much of the file is mapped at once at least, bytes: systems limit the number of mappings.
	segment = 64 << 20
	// least is the shortest array that is worth pages of its own, bytes.
	least = 1 << 14
	// base is what a run needs beside arrays, whatever its limit, bytes.
	base = 64 << 20
	// shareOfLarge is the part of the limit that arrays may take on the heap where the input is too large for it.
	shareOfLarge = 16
	// lookAfter is after how many bytes touched there is a look at how much is mapped.
	lookAfter = 4 << 20
	// interval is the time between two looks at how much is mapped: within it, memory fills by some tens of megabytes.
	interval = 4 * time.Millisecond
)

// Memory keeps arrays. Its zero value is not usable: see [New].
type Memory struct {
	dir   *scratch.Dir
	limit int64
	fail  func(error)

	mu     sync.Mutex
	onHeap int64 // bytes of arrays
	large  bool  // the input is, for the limit
	file   *os.File
	length int64  // of the file
	rest   []byte // of the last segment, not used yet
	end    int64  // place of the end of rest in the file
	pages  residency
	others int64 // mapped bytes of other files, when this one was opened
	opened atomic.Bool
	seen   atomic.Int64 // bytes touched since the last look
	quit   chan struct{}
	err    error // the first one
	done   sync.WaitGroup
	freed  sync.WaitGroup // discards of arrays

	// The file may make a change of its length wait until gigabytes are freed; unmapping must not wait for that.
	mapping sync.Mutex
	mapped  [][]byte // parts of the file in order
}

// New returns a memory that tries to keep the whole process within a limit in bytes. It makes its file in a scratch directory when the first
// array does not fit, and calls fail, once, if an array cannot be kept there. It must be closed before the directory. With a limit of 0
// all arrays are kept in the file, as tests want it.
func New(dir *scratch.Dir, limit int64, fail func(error)) *Memory {
	return &Memory{dir: dir, limit: limit, fail: fail, quit: make(chan struct{})}
}

// Spilled returns how many bytes of the file are in use.
func (m *Memory) Spilled() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.length - int64(len(m.rest))
}

// Progress tells the memory that a part of the input has become arrays: done bytes of total. What is kept until then says how much all
// of it will be.
func (m *Memory) Progress(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := float64(m.onHeap + m.length - int64(len(m.rest)))
	if done > 0 && kept/float64(done)*float64(total) > float64(m.heapBudget()) {
		m.large = true
	}
}

// heapBudget returns how many bytes of arrays may be on the heap.
func (m *Memory) heapBudget() int64 {
	all := m.limit/8*3 - base
	if m.large {
		return min(all, m.limit/shareOfLarge)
	}
	return all
}

// Keep implements [trace.Memory].
func (m *Memory) Keep(array []byte) []byte {
	b, at, ok := m.reserve(int64(len(array)))
	if !ok {
		return array
	}
	if err := writePieces(m.file, at, int64(len(array)), func(from, to int64) []byte { return array[from:to] }); err != nil {
		m.failed(err)
		return array
	}
	return b
}

// piece is how much is written at once, bytes. File systems keep what was written at once as one block of memory, up to some megabytes, and a page
// fault maps all of its block (Linux 6.18, ext4): a thousand faults would map gigabytes before anybody could look.
const piece = 64 << 10

// writePieces writes so many bytes to a file at an offset: those that part returns.
func writePieces(f *os.File, at, length int64, part func(from, to int64) []byte) error {
	for from := int64(0); from < length; from += piece {
		if _, err := f.WriteAt(part(from, min(from+piece, length)), at+from); err != nil {
			return err
		}
	}
	return nil
}

// Make implements [trace.Memory].
func (m *Memory) Make(length int) []byte { return m.make(length, allocate) }

// Room returns an array like that of Make, of which no page is touched before [Memory.Place] has written it: to write zeros first would take as
// long as what follows.
func (m *Memory) Room(length int) []byte { return m.make(length, makeRoom) }

// make returns an array for which a function makes room in the file.
func (m *Memory) make(length int, room func(f *os.File, at, length int64) error) []byte {
	b, at, ok := m.reserve(int64(length))
	if !ok {
		return make([]byte, length)
	}
	if err := room(m.file, at, int64(length)); err != nil {
		m.failed(err)
		return make([]byte, length)
	}
	return b
}

// Place writes a part of an array of Room, as files are written.
func (m *Memory) Place(array []byte, at int, part []byte) {
	before := int64(0)
	for _, b := range m.parts() {
		if holds(b, array) {
			offset := before + int64(uintptr(unsafe.Pointer(&array[0]))-uintptr(unsafe.Pointer(&b[0]))) + int64(at)
			err := writePieces(m.file, offset, int64(len(part)), func(from, to int64) []byte { return part[from:to] })
			if err == nil {
				return
			}
			m.failed(err)
			break
		}
		before += int64(len(b))
	}
	copy(array[at:], part)
}

// Free implements [trace.Memory]. The file's part becomes a hole, in a while: what the system has not written until then is never written.
func (m *Memory) Free(array []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.parts() {
		if holds(b, array) {
			m.freed.Go(func() { discard(array[:cap(array)]) }) // gigabytes take a second
			return
		}
	}
	m.onHeap -= int64(len(array))
}

// Drop takes all arrays so far: nothing uses them any more. Their room on the disk is given back in a while.
func (m *Memory) Drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onHeap, m.rest = 0, nil
	all := m.parts()
	m.freed.Go(func() {
		for _, b := range all {
			discard(b)
		}
	})
}

// holds reports whether an array lies in a mapped part.
func holds(part, array []byte) bool {
	first, at := uintptr(unsafe.Pointer(&part[0])), uintptr(unsafe.Pointer(&array[0]))
	return at >= first && at-first < uintptr(len(part))
}

// Err returns why an array could not be kept in the file.
func (m *Memory) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// reserve returns a place in the file for an array of a length, and its offset there. It is false for an array that is to be on the heap.
func (m *Memory) reserve(length int64) (b []byte, at int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !supported || m.err != nil || m.limit > 0 && (length < least || m.onHeap+length <= m.heapBudget()) {
		m.onHeap += length
		return nil, 0, false
	}
	whole := (length + pageSize - 1) / pageSize * pageSize
	if whole > int64(len(m.rest)) {
		if err := m.grow(max(whole, segment)); err != nil {
			m.err = err
			m.fail(err)
			return nil, 0, false
		}
	}
	b, at = m.rest[:length:length], m.end-int64(len(m.rest))
	m.rest = m.rest[whole:]
	return b, at, true
}

// grow maps a new part of the file.
func (m *Memory) grow(length int64) error {
	if m.file == nil {
		if err := m.open(); err != nil {
			return err
		}
	}
	if err := m.file.Truncate(m.length + length); err != nil {
		return m.explain(err)
	}
	b, err := mapFile(m.file, m.length, length)
	if err != nil {
		return m.explain(err)
	}
	m.length += length
	m.rest, m.end = b, m.length
	m.mapping.Lock()
	defer m.mapping.Unlock()
	m.mapped = append(m.mapped, b)
	return nil
}

func (m *Memory) open() error {
	dir, err := m.dir.Path()
	if err != nil {
		return err
	}
	if m.file, err = os.CreateTemp(dir, "arrays-"); err != nil {
		return fmt.Errorf("scratch file: %w", err)
	}
	if err := os.Remove(m.file.Name()); err != nil {
		return fmt.Errorf("scratch file: %w", err)
	}
	if m.pages, err = openResidency(); err != nil {
		return fmt.Errorf("how much memory the process has: %w", err)
	}
	m.others = m.pages.bytes()
	m.opened.Store(true)
	m.done.Go(m.watch)
	return nil
}

// failed notes an error.
func (m *Memory) failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = m.explain(err)
		m.fail(m.err)
	}
}

func (m *Memory) explain(err error) error {
	return fmt.Errorf("scratch file %s, of %d MiB: %w; free space there, name another directory with --scratch, or allow more with --memory",
		m.file.Name(), m.length>>20, err)
}

// watch unmaps pages while more are mapped than may be.
func (m *Memory) watch() {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-ticker.C:
			m.trim(m.mostMapped())
		}
	}
}

// mostMapped returns how many bytes of the file may be mapped.
func (m *Memory) mostMapped() int64 { return max(m.limit/8, least) }

// Touched implements [trace.Memory]: whoever reads arrays looks how much that has mapped, however late the goroutine comes that watches.
func (m *Memory) Touched(bytes int) {
	if m.seen.Add(int64(bytes)) < lookAfter || !m.opened.Load() {
		return
	}
	m.seen.Store(0)
	m.trim(m.mostMapped())
}

// trim unmaps all pages if more bytes are mapped than some. Those in use come back from the page cache at once.
func (m *Memory) trim(most int64) {
	if m.pages.bytes()-m.others <= most {
		return
	}
	for _, b := range m.parts() {
		unmapPages(b)
	}
}

// parts returns the mapped parts.
func (m *Memory) parts() [][]byte {
	m.mapping.Lock()
	defer m.mapping.Unlock()
	return slices.Clone(m.mapped)
}

// Close frees everything. No array may be used afterwards.
func (m *Memory) Close() error {
	close(m.quit)
	m.done.Wait()
	m.freed.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	for _, b := range m.parts() {
		unmap(b)
	}
	m.mapped, m.rest = nil, nil
	err := errors.Join(m.file.Close(), m.pages.close())
	m.file = nil
	return err
}
