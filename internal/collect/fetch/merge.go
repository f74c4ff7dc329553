package fetch

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meridian/internal/collect/wire"
)

// part is a file and the server that has most of it.
type part struct {
	wire.State
	server string
}

// merge returns of each file the server that has most of it, in the order of names. Servers that come first are preferred. What they have of a file is the same from
// its beginning, and metadata grows at its end alone.
func merge(lists []wire.FileList) (parts []part, err error) {
	most := make(map[string]part)
	for _, l := range lists {
		for _, f := range l.Files {
			if err := wire.CheckFile(f.Name); err != nil {
				return nil, fmt.Errorf("server %s: %w", l.Server, err)
			}
			if p, is := most[f.Name]; !is || f.Have > p.Have {
				most[f.Name] = part{f, l.Server}
			}
		}
	}
	for _, p := range most {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.Name, b.Name) })
	return parts, nil
}

// Where the head of a packet has the number of its stream.
const (
	packetMagic = 0xc1fc1fc1
	streamAt    = 20
)

var streamOf = regexp.MustCompile(`(?m)^stream \{\s*id = ([0-9]+);`)

// Undescribed returns files in the directory of a trace whose streams its metadata does not have: nobody can read them. Files that do not begin with a packet
// are left out.
func Undescribed(dir string) (names []string, err error) {
	metadata, err := os.ReadFile(filepath.Join(dir, wire.Metadata))
	if err != nil {
		return nil, err
	}
	known := make(map[uint32]bool)
	for _, m := range streamOf.FindAllSubmatch(metadata, -1) {
		if id, err := strconv.ParseUint(string(m[1]), 10, 32); err == nil {
			known[uint32(id)] = true
		}
	}
	all, err := wire.List(dir, os.ReadDir)
	if err != nil {
		return nil, err
	}
	head := make([]byte, streamAt+4)
	for _, name := range all {
		if name == wire.Metadata {
			continue
		}
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		_, err = io.ReadFull(f, head)
		_ = f.Close() // only read
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			continue
		} else if err != nil {
			return nil, err
		}
		if binary.LittleEndian.Uint32(head) == packetMagic && !known[binary.LittleEndian.Uint32(head[streamAt:])] {
			names = append(names, name)
		}
	}
	return names, nil
}
