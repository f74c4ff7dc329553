package captures

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"meridian/format/pcap"
	"meridian/internal/collect/tunnel"
	"meridian/internal/reduced"
	"meridian/trace"
)

// maxFiles is how many captures of a directory are listed.
const maxFiles = 4096

// Dirs are the directories whose captures an agent gives: absolute and clean paths.
type Dirs []string

// CheckDirs makes directories absolute. One that is not there is an error.
func CheckDirs(dirs []string) (Dirs, error) {
	var all Dirs
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory", dir)
		}
		all = append(all, abs)
	}
	return all, nil
}

// Memory keeps the packets of a capture until it is given.
type Memory interface {
	trace.Memory
	Progress(done, total int64) // bytes of the file that are read
	Err() error                 // why packets could not be kept
	Close() error
}

// Agent gives captures.
type Agent struct {
	Dirs Dirs
	// Memory returns what keeps the packets of one capture, and calls fail where it cannot. Nil keeps them on Go's heap.
	Memory func(fail func(error)) Memory
	// Log says what was given, and what was refused.
	Log func(format string, args ...any)
}

// Serve answers the requests of an operator until its stream ends or ctx does.
func (a *Agent) Serve(ctx context.Context, s *tunnel.Stream) {
	log := a.Log
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	defer func() { cancel(); <-over }()
	go func() { // a reading that nobody waits for ends; a stream whose agent ends is closed
		defer close(over)
		select {
		case <-ctx.Done():
			s.Close()
		case <-s.Over():
			cancel()
		}
	}()
	in := bufio.NewReader(s)
	for {
		var q request
		if err := readLine(in, &q); err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				log("captures: %v", err)
			}
			s.End("")
			return
		}
		if err := a.answer(ctx, s, &q); err != nil {
			if ctx.Err() == nil {
				log("captures: %s %s: %v", q.Op, q.Path, err)
			}
			s.End(err.Error())
			return
		}
	}
}

// answer answers a request. What a request may not have is an answer; an error ends the stream.
func (a *Agent) answer(ctx context.Context, w io.Writer, q *request) error {
	refuse := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.Log("captures: %s of %q is refused: %v", q.Op, q.Path, err)
		return writeLine(w, answer{Refused: err.Error()})
	}
	switch q.Op {
	case opList:
		files, err := a.Dirs.list(q.Path)
		if err != nil {
			return refuse(err)
		}
		return writeLine(w, answer{Files: files})
	case opRead:
		return a.give(ctx, w, q, refuse)
	}
	return refuse(fmt.Errorf("unknown request %q: update the agent", q.Op))
}

// give reads a capture and sends it.
func (a *Agent) give(ctx context.Context, w io.Writer, q *request, refuse func(error) error) (err error) {
	reading, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var memory trace.Memory
	progress, full := func(int64, int64) {}, func() error { return nil }
	if a.Memory != nil {
		m := a.Memory(fail)
		defer func() { err = errors.Join(err, m.Close()) }()
		memory, progress, full = m, m.Progress, m.Err
	}
	var warnings trace.Warnings
	c, err := a.Dirs.read(reading, q, memory, progress, &warnings)
	if err := cmp.Or(full(), err); err != nil {
		return refuse(err)
	}
	if err := writeLine(w, answer{}); err != nil {
		return err
	}
	a.Log("captures: %s is given to an operator, reduced: %d packets", q.Path, c.Packets.Len())
	return reduced.Write(ctx, w, c, warnings.All())
}

// open opens a file or directory below one of the directories.
func (d Dirs) open(path string) (*os.File, fs.FileInfo, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, nil, fmt.Errorf("%q: want an absolute path in which neither . nor .. stands", path)
	}
	for _, dir := range d {
		inside, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		return openIn(dir, inside)
	}
	return nil, nil, fmt.Errorf("%s is in none of the directories that the agent permits (--allow-captures)", path)
}

// openIn opens what lies in a directory; nothing leads out of that. Beside an error it describes what it could not open, or nil.
func openIn(dir, inside string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not hold up the agent
	if err != nil {
		info, _ := root.Stat(inside)
		return nil, info, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s is neither a file nor a directory", filepath.Join(dir, inside))
	}
	if err != nil {
		f.Close()
		return nil, info, err
	}
	return f, info, nil
}

// list returns the capture at a path, or those in a directory, by name.
func (d Dirs) list(path string) ([]File, error) {
	f, info, err := d.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !info.IsDir() {
		return []File{{path, info.Size()}}, isCapture(f, path)
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var files []File
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		at := filepath.Join(path, name)
		size, ok, err := d.captureSize(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; name the captures of the directory instead", at, err)
		}
		if ok {
			files = append(files, File{at, size})
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("%s: no capture in the directory", path)
	case len(files) > maxFiles:
		return nil, fmt.Errorf("%s: %d captures, more than %d: name some of them", path, len(files), maxFiles)
	}
	return files, nil
}

// captureSize returns the size of a capture; false for anything else. What may not be opened is an error: it may be a capture, and to leave it
// out in silence would make the result incomplete.
func (d Dirs) captureSize(path string) (int64, bool, error) {
	f, info, err := d.open(path)
	if err == nil {
		defer f.Close()
		return info.Size(), info.Mode().IsRegular() && isCapture(f, path) == nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) || info != nil && !info.Mode().IsRegular() {
		return 0, false, nil // removed meanwhile, or a directory, a pipe, a socket or a device
	}
	return 0, false, err
}

// isCapture returns why a file is no capture.
func isCapture(f *os.File, path string) error {
	r, err := pcap.NewReader(f, path, nil)
	if err != nil {
		return err
	}
	return r.Close()
}

// read reads a capture. Errors and warnings have the operator's name of it.
func (d Dirs) read(ctx context.Context, q *request, m trace.Memory, progress func(done, total int64), w *trace.Warnings) (*trace.Capture, error) {
	f, info, err := d.open(q.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", q.Path)
	}
	return pcap.ReadFrom(ctx, f, q.Name, "", m, w, func(read int64) { progress(read, info.Size()) })
}
