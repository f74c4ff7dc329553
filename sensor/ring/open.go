package ring

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

var (
	// ErrBusy is returned by Open if another reader has the ring.
	ErrBusy = errors.New("another reader has this ring; end that one first")
	// ErrUnready is returned if the ring's writer has not finished making it.
	ErrUnready = errors.New("this ring is still being made, or its writer died over it; try again or remove it")
)

// Reader takes events out of a ring. It validates all that it finds there: a file that is damaged, or was made up, is an error or
// gives wrong events, but never a crash or an endless loop. One goroutine at a time may use it.
type Reader struct {
	layout
	info    Info
	file    *os.File
	mem     []byte
	cursors []cursor
	turn    int      // shard at which Next goes on looking
	limits  []uint64 // of each shard, where Next ends its round; nil for nowhere
	copied  []byte   // of the sub-buffer that the last packet is from
	broken  error    // the file shrank: nothing more can be read
	watches bool     // it is one of several, and stores nothing in the ring (Subscribe)
}

// Info is what the header says of a ring.
type Info struct {
	Path                        string
	Program                     string
	PID                         int
	Started                     uint64   // start time of the process, 0 where unknown
	Network                     uint64   // inode of its network namespace when it made the ring, as it says itself; 0 where unknown
	Boot                        [16]byte // of the start of the machine that its clock counts from; 0 where unknown
	UUID                        [16]byte
	Clock                       Clock
	Overwrite                   bool
	Shards, Buffers, BufferSize int
}

// Elsewhere says that the ring was written before this machine was started, or on another one, so that its stamps are not of
// the counter that runs here. It is false where the ring or this system does not say.
func (i Info) Elsewhere() bool {
	unknown := [16]byte{}
	return i.Boot != unknown && thisBoot() != unknown && i.Boot != thisBoot()
}

var thisBoot = sync.OnceValue(boot)

var fileName = regexp.MustCompile(`^meridian-[0-9]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.ring$`)

// Find returns the files of rings in a directory that this user may open, for root those of all users; without a
// directory, in those where Create makes them.
func Find(dir string) ([]string, error) {
	where := []string{dir}
	if dir == "" {
		where = dirs()
	}
	var found []string
	for _, d := range where {
		entries, err := os.ReadDir(d)
		if err != nil {
			if dir == "" && errors.Is(err, os.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("ring: %w", err)
		}
		for _, entry := range entries {
			if !fileName.MatchString(entry.Name()) {
				continue
			}
			// A file that is gone meanwhile is none.
			if info, err := entry.Info(); err == nil && ours(info) == nil {
				found = append(found, filepath.Join(d, entry.Name()))
			}
		}
	}
	return found, nil
}

// Look returns what the header of a ring says, whether or not a reader has it, and takes nothing.
func Look(path string) (_ Info, err error) {
	f, err := openFile(path)
	if err != nil {
		return Info{}, fmt.Errorf("ring: %w", err)
	}
	defer f.Close()
	s, head, err := readHeader(f, func() error { return nil })
	if err != nil {
		return Info{}, fmt.Errorf("ring: %s: %w", path, err)
	}
	return infoOf(s, head, path), nil
}

// Open makes the caller the ring's one reader, until Close or the process's end. It goes on where the last one
// committed.
func Open(path string) (*Reader, error) { return open(path, false) }

// Subscribe returns one of any number of readers of a ring in overwrite mode, beside the one of [Open]. It begins with the oldest
// event that the ring holds. It takes nothing away, and the writer knows nothing of it: Commit and Switch do nothing, and the
// file is mapped for reading only.
func Subscribe(path string) (*Reader, error) { return open(path, true) }

func open(path string, watches bool) (_ *Reader, err error) {
	openIt, mapIt, lockIt := openFile, mapFile, lockFile
	if watches {
		openIt, mapIt, lockIt = openForReading, mapForReading, func(*os.File) error { return nil }
	}
	f, err := openIt(path)
	if err != nil {
		return nil, fmt.Errorf("ring: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			err = fmt.Errorf("ring: %s: %w", path, err)
		}
	}()
	s, head, err := readHeader(f, func() error { return lockIt(f) })
	if err != nil {
		return nil, err
	}
	if watches && !s.overwrite {
		return nil, errors.New("its writer waits for the one reader and overwrites nothing; open it as that one")
	}
	mem, err := mapIt(f, s.size)
	if err != nil {
		return nil, err
	}
	r := newReader(s, mem, head, path)
	r.file, r.watches = f, watches
	if err := r.begin(); err != nil {
		unmapFile(mem)
		return nil, err
	}
	return r, nil
}

// readHeader returns a copy of the header, which does not change while it is judged, and the layout that it tells. The file is
// taken after it is known to be one that may be a ring.
func readHeader(f *os.File, take func() error) (s layout, head []byte, err error) {
	stat, err := f.Stat()
	if err != nil {
		return s, nil, err
	}
	if err := ours(stat); err != nil {
		return s, nil, err
	}
	if swapped() {
		return s, nil, fmt.Errorf("%s is big-endian, and rings are little-endian", runtime.GOARCH)
	}
	if stat.Size() < headerSize {
		// The writer makes the file at its full size at once, so this is the instant before, or no ring.
		if stat.Size() == 0 {
			return s, nil, ErrUnready
		}
		return s, nil, fmt.Errorf("%d bytes, and the header alone has %d", stat.Size(), headerSize)
	}
	if err := take(); err != nil {
		return s, nil, err
	}
	head = make([]byte, headerSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return s, nil, err
	}
	if binary.LittleEndian.Uint32(head[atState:]) == 0 {
		return s, nil, ErrUnready
	}
	s, err = readLayout(head, stat.Size())
	return s, head, err
}

// infoOf returns what a header says.
func infoOf(s layout, head []byte, path string) Info {
	le := binary.LittleEndian
	program, _, _ := bytes.Cut(head[atProgram:atProgram+maxProgram], []byte{0})
	return Info{
		Path:    path,
		Program: strings.ToValidUTF8(string(program), "\ufffd"),
		PID:     int(int32(le.Uint32(head[atPid:]))),
		Started: le.Uint64(head[atStartTime:]),
		Network: le.Uint64(head[atNetwork:]),
		Boot:    [16]byte(head[atBoot : atBoot+16]),
		UUID:    [16]byte(head[atUUID : atUUID+16]),
		Clock: Clock{Kind: le.Uint32(head[atClock:]), Frequency: le.Uint64(head[atFrequency:]),
			Origin: int64(le.Uint64(head[atOrigin:])), FrequencyError: le.Uint64(head[atFrequencyError:])},
		Overwrite: s.overwrite, Shards: s.shardCount, Buffers: s.bufferCount, BufferSize: s.bufferSize,
	}
}

// newReader is the reader's side of memory that has that layout.
func newReader(s layout, mem, head []byte, path string) *Reader {
	return &Reader{layout: s, info: infoOf(s, head, path), mem: mem, cursors: make([]cursor, s.shardCount), copied: make([]byte, s.bufferSize)}
}

// begin goes to where the last reader committed, as a subscriber to the oldest that there is.
func (r *Reader) begin() (err error) {
	defer r.fault(&err, debug.SetPanicOnFault(true))
	from := uint64(atConsumed)
	if r.watches {
		from = atOldest
	}
	for i := range r.cursors {
		at := atomic.LoadUint64(word64(r.mem, r.control(i)+from))
		r.cursors[i] = cursor{position: at, committed: at}
	}
	if r.watches {
		return nil
	}
	atomic.StoreUint32(word32(r.mem, atReader), 1)
	return nil
}

// fault, deferred, makes an error of the signal that comes where a file is shorter than it was when it was mapped. Other
// panics go on.
func (r *Reader) fault(err *error, before bool) {
	debug.SetPanicOnFault(before)
	caught := recover()
	if caught == nil {
		return
	}
	at, ok := caught.(interface{ Addr() uintptr })
	if ok {
		if offset := at.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))); offset < uintptr(len(r.mem)) {
			r.broken = fmt.Errorf("ring: %s: offset %d cannot be read any more: the file was truncated, or its file system is full",
				r.info.Path, offset)
			*err = r.broken
			return
		}
	}
	panic(caught)
}

// Info returns what the header says.
func (r *Reader) Info() Info { return r.info }

// String returns the name of the file, so that printing a reader does not print the memory.
func (r *Reader) String() string { return r.info.Path }

// ClassInfo is a class as the file has it. Names are what the program chose, whatever that is.
type ClassInfo struct {
	ID             uint16
	Name, Category string
	On             bool
}

// classCount loads how many classes there are.
func (r *Reader) classCount() int {
	return min(int(atomic.LoadUint32(word32(r.mem, atClassCount))), r.classCapacity)
}

// Classes returns those registered so far; none from a file that cannot be read any more, of which Next tells.
func (r *Reader) Classes() (all []ClassInfo) {
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	for id := range r.classCount() {
		at := r.class(id)
		record := slices.Clone(r.mem[at+8 : at+classSize])
		text := func(at, n, most int) string {
			return strings.ToValidUTF8(string(record[at:at+min(n, most)]), "\ufffd")
		}
		all = append(all, ClassInfo{
			ID:       uint16(id),
			Name:     text(8, int(record[0]), maxName),
			Category: text(168, int(record[1]), maxCategory),
			On:       atomic.LoadUint32(word32(r.mem, at)) != 0,
		})
	}
	return all
}

// Metadata returns the declarations of all classes so far, as the file has them. Ask after Next: it has those of all
// events that Next returned.
func (r *Reader) Metadata() (text string) {
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	n := min(atomic.LoadUint64(word64(r.mem, atMetadataLength)), uint64(r.metadataSize))
	return strings.ToValidUTF8(string(r.mem[r.metadataAt:r.metadataAt+n]), "\ufffd")
}

// Switch turns the classes that match on or off, in the program as it runs, and returns how many matched. Classes that it
// registers later are as it says.
func (r *Reader) Switch(match func(name, category string) bool, on bool) (n int) {
	if r.watches {
		return 0
	}
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	var value uint32
	if on {
		value = 1
	}
	for _, c := range r.Classes() {
		if match(c.Name, c.Category) {
			atomic.StoreUint32(word32(r.mem, r.class(int(c.ID))), value)
			n++
		}
	}
	return n
}

// Closed says that the writer has closed the ring. Ask before Next: what it then returns until there is no more is all.
func (r *Reader) Closed() (closed bool) {
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	return atomic.LoadUint32(word32(r.mem, atState)) == stateClosed
}

// Alive says that the writer's process still runs. Ask before Next, as with Closed.
func (r *Reader) Alive() bool { return r.info.Alive() }

// Alive says that the writer's process runs.
func (i Info) Alive() bool { return !i.Elsewhere() && alive(i.PID, i.Started) }

// Remove removes the file's name; what was not taken is lost when reader and writer are gone.
func (r *Reader) Remove() error {
	if err := os.Remove(r.info.Path); err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	return nil
}

// Close lets the ring go, for another reader. What was not committed stays in it.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	r.leave()
	unlockFile(r.file)
	err := errors.Join(unmapFile(r.mem), r.file.Close())
	r.file, r.mem = nil, nil
	r.broken = errors.New("ring: this reader is closed")
	return err
}

// leave says that the ring has no reader.
func (r *Reader) leave() {
	if r.broken != nil || r.watches {
		return
	}
	var err error
	defer r.fault(&err, debug.SetPanicOnFault(true))
	atomic.StoreUint32(word32(r.mem, atReader), 0)
}
