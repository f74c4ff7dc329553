// Package gotrace reads execution traces of Go programs: what runtime/trace, net/http/pprof and the flight recorder write.
// In goes a file, plain or compressed; out come rows:
//
//	program                      tasks, phases of garbage collection, counters of the runtime's metrics
//	  proc 0, proc 1, ...        which goroutine runs
//	  goroutine 7 main.serve     running, runnable, waiting (by its reason), in a system call; the program's regions and
//	                             logs; help with garbage collection; samples of the CPU profile
//
// A goroutine's states are slices without a number, one after the other; regions, tasks and ranges lie across them and have
// numbers. Functions come from stacks: a goroutine has the name of its first one, and a wait that of its last.
//
// The trace counts its own clock, which is the system's monotonic one. Since Go 1.25 it holds readings of the wall clock
// beside it; the first of them gives the nanoseconds since 1970 of all events, so that they run as steadily as the
// monotonic clock does. In older traces stamps stay the monotonic clock's, and a warning says so. There are no ends of
// messages in such a trace: it joins a timeline by other traces of its host.
//
// Events are read as they are asked for; memory is what golang.org/x/exp/trace needs for a second of the program, and a row
// for each goroutine. A microsecond or two an event. Source: golang.org/x/exp/trace, which reads Go 1.11 to 1.26.
package gotrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	xtrace "golang.org/x/exp/trace"

	"meridian/format/internal/stream"
	"meridian/trace"
)

// File is a trace of which the beginning was read.
type File struct {
	path   string
	w      *trace.Warnings
	offset int64 // of nanoseconds since 1970 against the trace's clock
}

// Recognises says whether a file that begins so is a trace: certainly, since it begins with the words for it.
func Recognises(head []byte) bool {
	const length = 16
	if len(head) < length || !bytes.HasPrefix(head, []byte("go 1.")) {
		return false
	}
	version, rest, found := bytes.Cut(head[5:length], []byte(" trace"))
	for _, c := range version {
		if c < '0' || c > '9' {
			return false
		}
	}
	return found && len(version) > 0 && len(bytes.Trim(rest, "\x00")) == 0
}

// Read opens a trace and reads as much as tells the time.
func Read(path string, w *trace.Warnings) (*File, error) {
	s, r, err := open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	e, err := next(r)
	if err == nil {
		_, err = next(r) // the first one comes of itself, even where nothing behind it can be read
	}
	if err == io.EOF {
		err = errors.New("no events")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &File{path: path, w: w}
	if e.Kind() == xtrace.EventSync {
		if c := e.Sync().ClockSnapshot; c != nil {
			f.offset = between(c)
			return f, nil
		}
	}
	w.Add(path, "times are of the monotonic clock, not since 1970: the trace has no reading of the wall clock (Go 1.25 and later record one)", "")
	return f, nil
}

// between returns how far the wall clock is ahead of the trace's.
func between(c *xtrace.ClockSnapshot) int64 { return c.Wall.UnixNano() - int64(c.Trace) }

// open opens a trace behind its compression.
func open(path string) (*stream.Stream, *xtrace.Reader, error) {
	s, err := stream.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := newReader(s)
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("%s: not a Go execution trace: %w", path, err)
	}
	return s, r, nil
}

// newReader and next turn a panic of the library, which damage may bring about, into an error.
func newReader(s io.Reader) (r *xtrace.Reader, err error) {
	defer recovered(&err)
	return xtrace.NewReader(s)
}

func next(r *xtrace.Reader) (e xtrace.Event, err error) {
	defer recovered(&err)
	return r.ReadEvent()
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged: %v", p)
	}
}

// Marks returns none: nothing in such a trace names a message.
func (f *File) Marks() *trace.Marks { return &trace.Marks{File: f.path, Hosts: []string{""}} }

// Events reads the trace again, from its beginning. The source's first Next says if the file cannot be opened any more.
func (f *File) Events() trace.Source {
	s, r, err := open(f.path)
	src := newSource(f.path, f.w, f.offset)
	if err != nil {
		src.failed = err
		return src
	}
	src.file, src.read = s, func() (xtrace.Event, error) { return next(r) }
	return src
}
