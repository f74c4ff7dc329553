package ctf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"meridian/format/internal/files"
	"meridian/trace"
)

// Trace is an open trace: a directory with a metadata file, and a file for each of its streams.
type Trace struct {
	Dir      string
	Metadata *Metadata
	Streams  []*Stream

	plan    *tracePlan
	w       *trace.Warnings
	readers []*Reader
}

// Stream is one data stream: a file of packets.
type Stream struct {
	Path  string
	trace *Trace
	file  *dataFile
	index []indexEntry
}

// Open opens the trace in a directory. Damage is reported to w, which may be nil, now and while the streams are read.
func Open(dir string, w *trace.Warnings) (*Trace, error) {
	return OpenFiles(dir, nil, w)
}

// OpenFiles opens only the streams in files for whose names only is true; nil opens all. It touches no other file but the metadata.
func OpenFiles(dir string, only func(name string) bool, w *trace.Warnings) (*Trace, error) {
	if w == nil {
		w = new(trace.Warnings)
	}
	name := filepath.Join(dir, "metadata")
	data, err := readMetadata(name)
	if err != nil {
		return nil, err
	}
	m, err := ParseMetadata(data, name, w)
	if err != nil {
		return nil, err
	}
	return open(dir, m, name, only, w)
}

func readMetadata(name string) ([]byte, error) {
	info, err := files.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxMetadata {
		return nil, fmt.Errorf("%s: not a metadata file: not a regular file of at most %d MiB", name, maxMetadata>>20)
	}
	return files.ReadFile(name)
}

// open opens the streams of a trace whose metadata is known.
func open(dir string, m *Metadata, name string, only func(string) bool, w *trace.Warnings) (*Trace, error) {
	p, err := newPlan(m, name, w)
	if err != nil {
		return nil, err
	}
	t := &Trace{Dir: dir, Metadata: m, plan: p, w: w}
	names, err := streamFiles(dir, only)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		path := filepath.Join(dir, n)
		f, err := openDataFile(path)
		if err != nil {
			t.Close()
			return nil, err
		}
		if f.size == 0 { // a tracer's stream without events
			f.Close()
			continue
		}
		s := &Stream{Path: path, trace: t, file: f, index: readIndex(path, f.size)}
		t.Streams = append(t.Streams, s)
		if err := s.checkUUID(); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// streamFiles lists the files of a trace's directory that hold packets and for which only is true or nil, channel_2 before channel_10.
func streamFiles(dir string, only func(name string) bool) ([]string, error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if n == "metadata" || strings.HasPrefix(n, ".") || only != nil && !only(n) {
			continue
		}
		if info, err := files.Stat(filepath.Join(dir, n)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		names = append(names, n)
	}
	sort.SliceStable(names, func(i, k int) bool { return naturalLess(names[i], names[k]) })
	return names, nil
}

// naturalLess compares names, the numbers in them by their value.
func naturalLess(a, b string) bool {
	digits := func(s string) int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	for a != "" && b != "" {
		n, k := digits(a), digits(b)
		if n > 0 && k > 0 {
			x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:k], "0")
			if len(x) != len(y) {
				return len(x) < len(y)
			}
			if x != y {
				return x < y
			}
			a, b = a[n:], b[k:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

// Env returns what the trace says of where it was recorded, numbers as text.
func (t *Trace) Env() map[string]string {
	env := make(map[string]string, len(t.Metadata.Env))
	for _, e := range t.Metadata.Env {
		env[e.Name] = e.Text
		if !e.IsText {
			env[e.Name] = fmt.Sprint(e.Number)
		}
	}
	return env
}

// Host returns the name of the host on which the trace was recorded, "" if it does not say.
func (t *Trace) Host() string { return t.Env()["hostname"] }

// Tally returns what was counted of all streams, as far as they have been read.
func (t *Trace) Tally() Tally {
	var sum Tally
	for _, r := range t.readers {
		sum.add(&r.Tally)
	}
	return sum
}

// Close closes the files. No value of an event may be used after it.
func (t *Trace) Close() error {
	var errs []error
	for _, r := range t.readers {
		if r.Packets+r.Damaged > 0 {
			r.finish() // adds the warnings of streams that were not read to their end
		}
		r.done, r.pos, r.end, r.readable = true, 0, 0, 0
		r.ev, r.sp, r.data = nil, nil, nil
	}
	for _, s := range t.Streams {
		errs = append(errs, s.file.Close())
	}
	t.Streams = nil
	return errors.Join(errs...)
}

// Reader returns a reader at the beginning of the stream. Readers of one trace may be used by a goroutine each; the trace itself
// is used again once they have ended.
func (s *Stream) Reader() *Reader {
	r := s.newReader()
	s.trace.readers = append(s.trace.readers, r)
	return r
}

func (s *Stream) newReader() *Reader {
	p := s.trace.plan
	r := &Reader{s: s, plan: p, w: s.trace.w,
		window: fileWindow{d: s.file, size: s.file.size}, lookahead: fileWindow{d: s.file, size: s.file.size}}
	r.slots = make([]uint64, p.slots)
	return r
}

// Limits of [Find]: the depth below the directory, and how many directories it visits.
const (
	maxFindDepth = 12
	maxFindDirs  = 100_000
)

// Find returns the directories of traces at dir or below: a session of LTTng often has several, such as kernel and
// ust/uid/0/64-bit. It skips directories that cannot be read, and hidden ones below dir.
func Find(dir string) ([]string, error) {
	var found []string
	n := 0
	err := files.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return fs.SkipDir
		}
		if !d.IsDir() {
			return nil
		}
		if path != dir && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir // such as a copy that is not whole yet
		}
		rel, _ := filepath.Rel(dir, path)
		if n++; n > maxFindDirs || strings.Count(rel, string(filepath.Separator)) >= maxFindDepth {
			return fs.SkipDir
		}
		if IsTrace(path) {
			found = append(found, path)
		}
		return nil
	})
	sort.SliceStable(found, func(i, k int) bool { return naturalLess(found[i], found[k]) })
	return found, err
}

// IsTrace reports whether a directory has a metadata file that looks like CTF's.
func IsTrace(dir string) bool {
	name := filepath.Join(dir, "metadata")
	if info, err := files.Stat(name); err != nil || !info.Mode().IsRegular() { // opening a pipe would block
		return false
	}
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	return looksLikeMetadata(head[:n])
}

func looksLikeMetadata(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\x75\xd1\x1d\x57")) || bytes.HasPrefix(head, []byte("\x57\x1d\xd1\x75")) {
		return true
	}
	text := bytes.TrimLeft(head, "\x1e \t\r\n")
	if bytes.HasPrefix(text, []byte("/* CTF 1")) {
		return true
	}
	if bytes.HasPrefix(text, []byte("{")) {
		return bytes.Contains(text, []byte(`"preamble"`))
	}
	for _, word := range []string{"trace", "typealias", "env", "clock", "struct", "typedef", "/*", "//"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return bytes.Contains(text, []byte("{")) || bytes.Contains(text, []byte("typealias"))
		}
	}
	return false
}
