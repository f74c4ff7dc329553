// Package input finds and reads the traces that a command is given.
//
// In go arguments of the form [HOST=]PATH; out comes a [Set]: what alignment needs of each trace, by kind.
//
//	captures        packets reduced to their headers and stamps; the bytes stay in the file
//	message lists   as they are
//	recordings      CTF, spans, Go execution traces: their extent and marks; events are read again for each use
//
// Packets that a host recorded twice, by its kernel and in a capture, are dropped once (dedup.go).
//
// A trace that grows is read again from its beginning: a Set is never changed, so that two of them can be compared.
package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/format"
	"meridian/internal/pipeline/usage"
)

// Trace is one trace file, or directory of CTF, and the host that recorded it.
type Trace struct {
	Host string
	Path string
	kind format.Kind
	away *Away
	reading
}

// IsCapture reports whether a trace is a capture of packets.
func (t Trace) IsCapture() bool { return t.kind == format.Capture }

// Parse turns arguments of the form [HOST=]PATH into traces. A directory stands for all traces in it, of one host. A path
// without a host gives its base name, or as many of its directories as distinguish it from the others.
func Parse(args []string) ([]Trace, error) { return ParseWith(args, nil) }

// ParseWith is Parse where some arguments name captures that stay elsewhere: away returns these, nil for an argument that does not. It may be nil.
func ParseWith(args []string, away func(arg string) ([]Trace, error)) ([]Trace, error) {
	var traces []Trace
	var unnamed []argument
	for _, arg := range args {
		if away != nil {
			found, err := away(arg)
			if err != nil {
				return nil, err
			}
			for _, in := range found {
				if slices.ContainsFunc(traces, func(other Trace) bool { return in.Path == other.Path }) {
					return nil, usage.Errorf("%s is given twice", in.Path)
				}
				traces = append(traces, in)
			}
			if len(found) > 0 {
				continue
			}
		}
		host, path, named := strings.Cut(arg, "=")
		if _, err := format.Stat(arg); err == nil || !named {
			host, path, named = "", arg, false
		}
		if named && host == "" {
			return nil, usage.Errorf("%q: no host before the =", arg)
		}
		if path == "" {
			return nil, usage.Errorf("%q: no file after the =", arg)
		}
		found, err := tracesAt(path)
		if err != nil {
			return nil, err
		}
		a := argument{path: path}
		for _, in := range found {
			if slices.ContainsFunc(traces, func(other Trace) bool { return SameFile(in.Path, other.Path) }) {
				return nil, usage.Errorf("%s is given twice", in.Path)
			}
			switch {
			case named:
				in.Host = host
			case in.Host == "":
				in.Host = Stem(path)
				a.traces = append(a.traces, len(traces))
			}
			traces = append(traces, in)
		}
		if len(a.traces) > 0 {
			unnamed = append(unnamed, a)
		}
	}
	distinguish(traces, unnamed)
	return traces, nil
}

// tracesAt returns the traces that a path stands for. Those of a directory have a Host only if the traces themselves say
// that they are of several.
func tracesAt(path string) ([]Trace, error) {
	info, err := format.Stat(path)
	if path == "-" && err != nil {
		return nil, errors.New("-: standard input is not read here: write it to a file first")
	}
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("%s: %w; give the path of a trace: a capture, a CTF directory, spans, a list of messages", path, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, usage.Errorf("%s is neither a file nor a directory nor a pipe", path)
	}
	var found []Trace
	files := []string{path}
	if info.IsDir() {
		if found, err = directoriesAt(path); err != nil {
			return nil, err
		}
		files, err = format.Files(path)
		var unread *fs.PathError
		if err != nil && len(found) > 0 && !errors.As(err, &unread) {
			return found, nil // the other files are the streams of these traces
		}
		if err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		kind, err := format.Detect(file)
		if err != nil {
			return nil, err
		}
		found = append(found, Trace{Path: file, kind: kind})
	}
	return found, nil
}

// directoriesAt returns the CTF traces in a directory, and then the captures in their packets directories.
func directoriesAt(path string) ([]Trace, error) {
	dirs, err := format.Traces(path)
	if err != nil {
		return nil, err
	}
	var found []Trace
	for _, dir := range dirs {
		found = append(found, Trace{Path: dir, kind: format.CTF})
	}
	nameHosts(found)
	for _, in := range slices.Clone(found) {
		captures, err := capturesIn(in)
		if err != nil {
			return nil, err
		}
		found = append(found, captures...)
	}
	return found, nil
}

// capturesIn returns the captures that a recorder has put into the directory "packets" of a trace: they are of the
// trace's host and stamped by its clock.
func capturesIn(in Trace) (found []Trace, err error) {
	dir := filepath.Join(in.Path, "packets")
	entries, err := format.ReadDir(dir)
	if err != nil {
		return nil, nil // the trace has none
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := format.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || strings.HasPrefix(e.Name(), ".") {
			continue // an empty file is of a recorder that was killed as it began
		}
		kind, err := format.Detect(path)
		if err != nil {
			return nil, err
		}
		if kind == format.Capture {
			found = append(found, Trace{Host: in.Host, Path: path, kind: kind})
		}
	}
	return found, nil
}

// SameFile reports whether two paths lead to one file.
func SameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := format.Stat(a)
	y, errY := format.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
