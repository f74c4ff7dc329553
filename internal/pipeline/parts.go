package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/output"
	"meridian/internal/pipeline/usage"
)

// partsFormat is the output of a directory, named by a slash at its end: each capture again, at corrected times.
var partsFormat = outputFormat{ending: "/", what: "each capture again at corrected times, in a directory", kind: ofParts}

// checkParts refuses inputs that cannot be written again.
func checkParts(path string, traces []input.Trace) error {
	for _, in := range traces {
		if !in.IsCapture() {
			return usage.Errorf("%s%c: only captures are written again, and %s is none; write events as a .ctf directory", path, filepath.Separator, in.Path)
		}
	}
	return nil
}

// parts returns a merge for each file, in the order in which they were given: a file that is in several segments, since its clock was
// set, has them all.
func (m *packetMerge) parts() []*packetMerge {
	var parts []*packetMerge
	number := make(map[string]int) // by file
	for _, s := range m.segments {
		if !s.selected {
			continue
		}
		n, known := number[s.file]
		if !known {
			n = len(parts)
			number[s.file] = n
			parts = append(parts, &packetMerge{method: m.method, selection: m.selection, total: m.total, begins: m.begins})
		}
		parts[n].segments = append(parts[n].segments, s)
	}
	return parts
}

// partNames returns the names of the files of parts: that of the host, and where a host has several, of the capture as well.
func partNames(parts []*packetMerge) []string {
	of := make(map[string]int) // parts by host
	for _, p := range parts {
		of[p.segments[0].host]++
	}
	names := make([]string, len(parts))
	taken := make(map[string]bool)
	for i, p := range parts {
		stem := p.segments[0].host
		if of[stem] > 1 {
			stem += "-" + input.Stem(p.segments[0].file)
		}
		stem = fileName(stem)
		names[i] = stem + ".pcapng"
		for n := 2; taken[strings.ToLower(names[i])]; n++ {
			names[i] = fmt.Sprintf("%s-%d.pcapng", stem, n)
		}
		taken[strings.ToLower(names[i])] = true // some file systems do not tell letters of both cases apart
	}
	return names
}

// fileName makes a file name of a host's, which may have any characters.
func fileName(host string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:`, r) {
			return '_'
		}
		return r
	}, host)
	if strings.HasPrefix(clean, ".") {
		clean = "_" + clean[1:]
	}
	return clean
}

// writeParts writes each capture again into a directory, which it makes. It returns how many packets it wrote, and how many of
// these are out of order.
func (m *packetMerge) writeParts(ctx context.Context, dir string, p Progress) (written, late int64, err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return 0, 0, err
	}
	var files output.Set
	defer files.Remove()
	parts := m.parts()
	names := partNames(parts)
	for i, part := range parts {
		before := written
		err := files.Write(ctx, filepath.Join(dir, names[i]), func(to io.Writer) error {
			n, l, err := part.write(ctx, to, func(stage string, done, total int64) { p.Report(stage, before+done, total) })
			written, late = written+n, late+l
			return err
		})
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", names[i], err)
		}
	}
	return written, late, files.Publish()
}
