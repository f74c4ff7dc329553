// Package format finds out what a file is. It looks at the content, through gzip and zstd, and takes the name into
// account only where the content leaves a choice.
//
//	Detect(file) --> Capture  --> format/pcap
//	             |-> Messages --> format/messages
//	             |-> OTLP, Jaeger, Chrome, GoTrace --> format/otlp, jaeger, chrome, gotrace
//	Traces(dir)  --> CTF      --> format/ctf: a trace is a directory
//
// A new format is one more [Kind] and one more line in [Detect].
package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"meridian/format/chrome"
	"meridian/format/ctf"
	"meridian/format/gotrace"
	"meridian/format/internal/files"
	"meridian/format/internal/stream"
	"meridian/format/jaeger"
	"meridian/format/otlp"
	"meridian/format/pcap"
)

// Kind is what a file holds.
type Kind int

const (
	Unknown  Kind = iota
	Capture       // packets: pcap or pcapng
	Messages      // a list of matched messages, as text
	CTF           // a directory: a trace of LTTng or another tracer, CTF 1.8 or 2
	OTLP          // spans of OpenTelemetry, JSON or protobuf
	Jaeger        // spans as Jaeger's interface exports them
	Chrome        // a Chrome trace, PyTorch's profiler's among them
	GoTrace       // an execution trace of a Go program
)

func (k Kind) String() string {
	names := [...]string{"unknown", "packet capture", "message list", "CTF trace", "OpenTelemetry spans", "Jaeger spans", "Chrome trace", "Go execution trace"}
	if k < 0 || int(k) >= len(names) {
		k = Unknown
	}
	return names[k]
}

// known is said to people whose file is none of these.
const known = "known are pcap and pcapng captures, directories of CTF traces (LTTng), spans (OTLP JSON or protobuf, Tempo JSON, Jaeger JSON), Chrome traces, Go execution traces and message lists (lines FROM TO SENT RECEIVED), files plain or compressed with gzip or zstd"

// Traces returns the directories at or below path that are CTF traces.
func Traces(path string) ([]string, error) { return ctf.Find(path) }

// Reasons for refusing one file of a CTF trace, which are in an error a [partError].
const (
	streamAlone   = "a stream of a CTF trace; give the directory that it is in"
	metadataAlone = "the metadata of a CTF trace; give the directory that it is in"
)

// partError refuses one file of a CTF trace.
type partError struct {
	error
	stream bool // it is not the metadata
}

// IsPartOfTrace reports whether an error of [Detect] refuses one file of a CTF trace, which is read as a directory only.
func IsPartOfTrace(err error) bool {
	var part *partError
	return errors.As(err, &part)
}

// looked is how much of a file decides.
const looked = 64 << 10

// Detect tells what a regular file holds. Its error names the file and says what was found instead.
func Detect(path string) (Kind, error) { return detectFile(path, extension(path)) }

func detectFile(path, extension string) (Kind, error) {
	s, err := stream.Open(path)
	if err != nil {
		return Unknown, err
	}
	defer s.Close()
	head := make([]byte, looked)
	n, err := io.ReadFull(s, head)
	head = head[:n]
	var damage *stream.Damage
	whole := err == io.EOF || err == io.ErrUnexpectedEOF && !errors.As(err, &damage)
	switch {
	case err != nil && !whole && !errors.As(err, &damage):
		return Unknown, fmt.Errorf("%s: %w", path, err)
	case n == 0 && damage != nil:
		return Unknown, fmt.Errorf("%s: %w", path, damage)
	case n == 0:
		return Unknown, fmt.Errorf("%s: empty file", path)
	}
	kind, reason := detect(head, whole, extension)
	if kind == Unknown {
		err = fmt.Errorf("%s: %s", path, reason)
		if stream := strings.HasPrefix(reason, streamAlone); stream || strings.HasPrefix(reason, metadataAlone) {
			err = &partError{err, stream}
		}
		return Unknown, err
	}
	return kind, nil
}

// detect decides by the beginning of a file, which may be all of it; otherwise it says why not.
func detect(head []byte, whole bool, extension string) (Kind, string) {
	if pcap.Recognises(head) {
		return Capture, ""
	}
	if k := recorded(head); k != Unknown {
		return k, ""
	}
	if other := foreign(head); other != "" {
		return Unknown, other + "; " + known
	}
	if !isText(head, whole) {
		return Unknown, fmt.Sprintf("unknown format (begins with % x); %s", head[:min(8, len(head))], known)
	}
	line, listed := isList(head, whole)
	switch {
	case listed == yes:
		return Messages, ""
	case listed == perhaps && isListName(extension):
		// Nothing but comments, or a bad line: reading it gives an empty list, or an error with the line's number.
		return Messages, ""
	case listed == perhaps && line == "":
		return Unknown, "text without any message; " + known
	case isJSON(head):
		return Unknown, "JSON, but neither OTLP, Jaeger nor a Chrome trace; " + known
	case strings.HasPrefix(line, "@") && !strings.HasPrefix(line, "@collective ") && !strings.HasPrefix(line, "@broadcast "):
		word, _, _ := strings.Cut(line, " ")
		return Unknown, fmt.Sprintf("unknown directive %q of a message list; known: @collective, @broadcast", word)
	}
	return Unknown, fmt.Sprintf("text, but not a message list (%q); %s", line, known)
}

// recorded knows formats of events that say what they are.
func recorded(head []byte) Kind {
	for _, f := range []struct {
		recognises func([]byte) bool
		kind       Kind
	}{
		{gotrace.Recognises, GoTrace},
		{otlp.Recognises, OTLP},
		{jaeger.Recognises, Jaeger},
		{chrome.Recognises, Chrome},
	} {
		if f.recognises(head) {
			return f.kind
		}
	}
	return Unknown
}

// foreign knows formats that people are likely to give, and says what to do with them.
func foreign(head []byte) string {
	for _, f := range []struct{ magic, say string }{
		{"\xfd7zXZ\x00", "compressed with xz; decompress it with unxz first"},
		{"BZh", "compressed with bzip2; decompress it with bunzip2 first"},
		{"\x04\x22\x4d\x18", "compressed with lz4; decompress it with unlz4 first"},
		{"PK\x03\x04", "a zip archive; unpack it first"},
		{"XCP\x00", "a capture of NetXRay; convert it with editcap first"},
		{"snoop\x00\x00\x00", "a capture of snoop; convert it with editcap first"},
		{"\x7fELF", "a program"},
		{"/* CTF ", metadataAlone},
		{"\x57\x1d\xd1\x75", metadataAlone},
		{"\x75\xd1\x1d\x57", metadataAlone},
		{"\xc1\x1f\xfc\xc1", streamAlone},
		{"\xc1\xfc\x1f\xc1", streamAlone},
	} {
		if strings.HasPrefix(string(head), f.magic) {
			return f.say
		}
	}
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return "a tar archive; unpack it first"
	}
	return ""
}

// extension returns the file's extension without that of its compression.
func extension(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, c := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, c)
	}
	return filepath.Ext(name)
}

// Mount has paths SCHEME://NAME lead to the files of fsys, for all formats: wherever a path is read, such a path may stand. The files
// must be [io.ReaderAt] as well. What grows is followed on the disks of the operating system only.
func Mount(scheme string, fsys fs.FS) { files.Mount(scheme, fsys) }

// Mounted reports whether a path leads to a file system that was mounted.
func Mounted(path string) bool { return files.Mounted(path) }

// Stat describes a file or a directory, mounted or of the operating system.
func Stat(path string) (fs.FileInfo, error) { return files.Stat(path) }

// ReadDir lists a directory, mounted or of the operating system.
func ReadDir(path string) ([]fs.DirEntry, error) { return files.ReadDir(path) }

// Text is a text file being read: decompressed, but Consumed counts the bytes of the file itself, for progress, and may
// be called by another goroutine.
type Text interface {
	io.ReadCloser
	Consumed() int64
}

// OpenText opens a text file, plain or compressed.
func OpenText(path string) (Text, error) {
	s, err := stream.Open(path)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Files lists the files of a directory that [Detect] knows, sorted by name. It does not look into directories within,
// nor at names that begin with a dot, and no name makes a file a message list here: notes.txt beside captures is common.
// A file that cannot be read is an error, a *fs.PathError: it may be a trace.
func Files(path string) ([]string, error) {
	entries, err := files.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var found []string
	var first error
	streams := false // there are streams of CTF
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := files.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile, or a link to what is
		}
		if err != nil {
			return nil, fmt.Errorf("%w; name the files of the directory instead", err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if _, err := detectFile(name, ""); err != nil {
			var unread *fs.PathError // it may be a trace: to leave it out in silence would make the result incomplete
			if errors.As(err, &unread) && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w; name the files of the directory instead", err)
			}
			var part *partError
			streams = streams || errors.As(err, &part) && part.stream
			if first == nil {
				first = err
			}
			continue
		}
		found = append(found, name)
	}
	if len(found) == 0 {
		if in, ok := compressedTrace(path, entries); ok {
			return nil, fmt.Errorf("%s: a CTF trace with compressed files: decompress all of them first, such as by 'gunzip -r'", in)
		}
		if streams {
			return nil, fmt.Errorf("%s: CTF streams, but no file named metadata", path)
		}
		if first != nil {
			return nil, fmt.Errorf("%s: no file in the directory can be read; the first error: %w", path, first)
		}
		return nil, fmt.Errorf("%s: no file in the directory; %s", path, known)
	}
	sort.Strings(found)
	return found, nil
}

// compressedTrace returns the directory, this one or one within, that has the compressed metadata of a CTF trace.
func compressedTrace(path string, entries []fs.DirEntry) (dir string, ok bool) {
	for _, e := range entries {
		if !e.IsDir() && strings.HasPrefix(e.Name(), "metadata.") && slices.Contains([]string{".gz", ".zst", ".xz", ".bz2"}, filepath.Ext(e.Name())) {
			return path, true
		}
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		within := filepath.Join(path, e.Name())
		if below, err := files.ReadDir(within); err == nil {
			if dir, ok := compressedTrace(within, below); ok {
				return dir, true
			}
		}
	}
	return "", false
}
