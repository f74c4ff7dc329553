package ring

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"meridian/sensor/tsdl"
)

// Options say what a ring shall be like. The zero value is good for most programs.
type Options struct {
	Dir        string // where the file is made; empty: /dev/shm, or the directory for temporary files where that fails
	Path       string // the file, which must not be there yet; empty: meridian-PID-UUID.ring in Dir, where recorders look for rings
	Program    string // name of the program, at most 64 bytes are kept; empty: that of the executable
	Shards     int    // how many may write at the same time; 0: twice the processors, at least 64
	Spare      int    // how many more there are for writers whose own is full while a reader is there
	Buffers    int    // sub-buffers a shard, a power of two from 2; 0: 16
	BufferSize int    // bytes of each, a power of two from 4096; 0: 64 KiB
	Classes    int    // how many classes may be registered; 0: 1024
	Metadata   int    // bytes for their declarations; 0: 1 MiB
	Overwrite  bool   // where the reader is behind, overwrite the oldest events instead of dropping the newest
	Clock      Clock  // what the stamps mean
}

// Clock describes the counter that events are stamped with, for the header.
type Clock struct {
	Kind           uint32 // 0 none, 1 TSC, 2 CNTVCT, 3 MONOTONIC_RAW, 4 MONOTONIC
	Frequency      uint64 // Hz
	Origin         int64  // ns since 1970 when the counter was 0
	FrequencyError uint64 // in 10^-12 of the frequency
}

// Ring is the writer's side of a file. Its methods may be called by any goroutine; a Shard belongs to one at a time.
type Ring struct {
	layout
	path    string
	file    *os.File
	mem     []byte
	shards  []Shard
	spares  []spare
	reserve func(at, size uint64) error // takes pages before they are touched

	mu      sync.Mutex
	claimed []bool
	known   map[Class]Handle
	text    uint64 // length of the metadata
	closed  bool
}

// shards returns how many shards there are, spare ones aside.
func (o Options) shards() int {
	return or(o.Shards, min(max(64, 2*runtime.NumCPU()), maxShards-max(o.Spare, 0)))
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func (o Options) layout() (layout, error) {
	s := layout{
		shardCount:    o.shards() + max(o.Spare, 0),
		bufferCount:   or(o.Buffers, 16),
		bufferSize:    or(o.BufferSize, 64<<10),
		classCapacity: or(o.Classes, 1024),
		metadataSize:  or(o.Metadata, 1<<20),
		overwrite:     o.Overwrite,
	}
	return s, s.layOut()
}

// dirs are the directories for rings if Options.Dir is empty.
func dirs() []string {
	if temporary := os.TempDir(); temporary != "/dev/shm" {
		return []string{"/dev/shm", temporary}
	}
	return []string{"/dev/shm"}
}

// Create makes a ring for this process: a file that only its user may read and write. A reader that opens it meanwhile is
// told that it is being made (ErrUnready).
func Create(o Options) (*Ring, error) {
	r, _, err := createAnywhere(o, false)
	return r, err
}

// CreateRead is Create and [Open]: the caller is the ring's one reader before any other can find the file. Options.Path is not used.
func CreateRead(o Options) (*Ring, *Reader, error) {
	o.Path = ""
	return createAnywhere(o, true)
}

func createAnywhere(o Options, read bool) (*Ring, *Reader, error) {
	s, err := o.layout()
	if err != nil {
		return nil, nil, fmt.Errorf("ring: %w", err)
	}
	if swapped() {
		return nil, nil, fmt.Errorf("ring: %s is big-endian, and rings are little-endian", runtime.GOARCH)
	}
	if o.Dir != "" || o.Path != "" {
		return create(o, s, o.Dir, read)
	}
	var failed []error
	for _, dir := range dirs() {
		r, reader, err := create(o, s, dir, read)
		if err == nil {
			return r, reader, nil
		}
		failed = append(failed, err)
	}
	return nil, nil, errors.Join(failed...)
}

// hidden begins the name of a file that its maker opens first. Find does not return it.
const hidden = "."

func create(o Options, s layout, dir string, read bool) (_ *Ring, reader *Reader, err error) {
	var uuid [16]byte
	rand.Read(uuid[:])
	uuid[6], uuid[8] = uuid[6]&0x0f|0x40, uuid[8]&0x3f|0x80 // version 4: random
	path := o.Path
	if path == "" {
		path = filepath.Join(dir, fmt.Sprintf("meridian-%d-%s.ring", os.Getpid(), tsdl.UUID(uuid)))
	}
	shown := path
	if read {
		path = filepath.Join(dir, hidden+filepath.Base(shown))
	}
	f, err := createFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("ring: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(path)
			err = fmt.Errorf("ring: %s: %w", path, err)
		}
	}()
	if err := f.Truncate(int64(s.size)); err != nil {
		return nil, nil, err
	}
	mem, err := mapFile(f, s.size)
	if err != nil {
		return nil, nil, err
	}
	r := newRing(s, o.shards(), mem, func(at, size uint64) error { return reservePages(f, mem, at, size) })
	r.path, r.file = path, f
	if err := r.prepare(o, uuid); err != nil {
		unmapFile(mem)
		return nil, nil, err
	}
	if read {
		if reader, err = r.readAndShow(shown); err != nil {
			unmapFile(mem)
			return nil, nil, err
		}
	}
	return r, reader, nil
}

// readAndShow opens a ring whose name is hidden, and then gives it the name under which others find it, and find it taken.
func (r *Ring) readAndShow(name string) (*Reader, error) {
	reader, err := Open(r.path)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(r.path, name); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	r.path, reader.info.Path = name, name
	return reader, nil
}

// newRing is the writer's side of memory of the right size, wherever it lies. Of the shards those from a number on are
// spare.
func newRing(s layout, own int, mem []byte, reserve func(at, size uint64) error) *Ring {
	r := &Ring{layout: s, mem: mem, reserve: reserve, claimed: make([]bool, own), known: map[Class]Handle{}}
	r.shards, r.spares = make([]Shard, own), make([]spare, s.shardCount-own)
	for i := range r.shards {
		r.shards[i].init(r, i)
	}
	for i := range r.spares {
		r.spares[i].shard.init(r, own+i)
	}
	return r
}

// prepare fills in the header. That it is in use is said last: until then no reader believes anything else.
func (r *Ring) prepare(o Options, uuid [16]byte) error {
	if err := r.reserve(0, headerSize); err != nil {
		return err
	}
	if err := r.reserve(r.shardsAt, r.dataAt-r.shardsAt); err != nil {
		return err
	}
	le, head := binary.LittleEndian, r.mem[:headerSize]
	r.layout.write(head)
	le.PutUint32(head[atClock:], o.Clock.Kind)
	le.PutUint64(head[atFrequency:], o.Clock.Frequency)
	le.PutUint64(head[atOrigin:], uint64(o.Clock.Origin))
	le.PutUint64(head[atFrequencyError:], o.Clock.FrequencyError)
	le.PutUint32(head[atPid:], uint32(os.Getpid()))
	copy(head[atUUID:], uuid[:])
	if start, err := started(os.Getpid()); err == nil {
		le.PutUint64(head[atStartTime:], start)
	}
	program := o.Program
	if program == "" {
		program = filepath.Base(os.Args[0])
	}
	copy(head[atProgram:atProgram+maxProgram], shorten(program))
	le.PutUint64(head[atNetwork:], network())
	start := thisBoot()
	copy(head[atBoot:], start[:])
	if r.path != "" && expected(filepath.Dir(r.path)) {
		atomic.StoreUint32(word32(r.mem, atReader), 1)
	}
	atomic.StoreUint32(word32(r.mem, atState), stateInUse)
	return nil
}

const (
	stateInUse  = 1
	stateClosed = 2
)

// shorten makes a program's name one that the header holds: UTF-8, whole characters.
func shorten(name string) string {
	name = strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "\ufffd")
	if len(name) <= maxProgram {
		return name
	}
	n := maxProgram
	for !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n]
}

// Path returns the name of the file.
func (r *Ring) Path() string { return r.path }

// String returns the name of the file, so that printing a ring does not print its memory.
func (r *Ring) String() string { return r.path }

// Close says that no more events come. The file stays for its reader; the memory stays mapped, since goroutines may still hold
// a shard or read a switch (Unmap).
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	atomic.StoreUint32(word32(r.mem, atState), stateClosed)
	return nil
}

// Remove removes the file's name. Readers that have it open go on reading.
func (r *Ring) Remove() error {
	if err := os.Remove(r.path); err != nil {
		return fmt.Errorf("ring: %w", err)
	}
	return nil
}

// Unmap gives the memory back after Close. No shard and no switch of the ring may be used afterwards: the program would
// end with a fault.
func (r *Ring) Unmap() error {
	r.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := errors.Join(unmapFile(r.mem), r.file.Close())
	r.file, r.mem = nil, nil
	return err
}
