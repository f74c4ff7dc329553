package retention

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"meridian/format/ctf"
)

// Where files are that the recorder names by their last element.
const (
	packetFolder = "packets"
	packetSuffix = ".pcapng"
	statePrefix  = "clocks_" // of chunks that All does not count
)

// PathOf returns the path within a trace's directory of a file as an event names it.
func PathOf(file string) string {
	if strings.HasSuffix(file, packetSuffix) {
		return filepath.Join(packetFolder, file)
	}
	return file
}

// Missing returns what the recorders of a trace dropped and the directory does not have; false for nothing. In the directory where
// they recorded that is all they dropped. A copy that was made while they recorded has what was copied before it was dropped: its
// files are there in full, or in part, of which what is whole is not missing. What the remaining events do not name counts as
// missing. Events of chunks that another recorder wrote are not known, so there may be more events than are counted. All.Bytes,
// All.Packets and All.Events are what is missing, and from Until on the trace is whole.
func Missing(dir string) (missing Dropped, ok bool, err error) {
	named := make(map[string]Dropped) // the latest event of each file
	var rest Span                     // dropped, and not named
	var last, first Dropped
	err = Each(dir, func(x *Dropped) error {
		if strings.HasPrefix(x.File, statePrefix) || filepath.Base(x.File) != x.File {
			return nil
		}
		named[x.File] = *x
		rest = rest.minus(x.Span)
		if x.All.Bytes >= last.All.Bytes {
			last = *x
		}
		if first.File == "" || x.All.Bytes < first.All.Bytes {
			first = *x
		}
		return nil
	})
	if err != nil || len(named) == 0 {
		return missing, false, err
	}
	rest.Bytes, rest.Packets, rest.Events = rest.Bytes+last.All.Bytes, rest.Packets+last.All.Packets, rest.Events+last.All.Events
	if int64(rest.Bytes) > 0 {
		missing.All.count(Span{Packets: rest.Packets, Events: rest.Events, Bytes: rest.Bytes, Begin: first.Begin, End: first.Until})
	}
	for _, x := range named {
		lacks, err := x.lacks(dir)
		if err != nil {
			return missing, false, err
		}
		if lacks.Bytes > 0 {
			missing.All.count(lacks)
		}
	}
	missing.Until = missing.All.End
	return missing, missing.All.Bytes > 0, nil
}

// minus subtracts counts, modulo 2^64.
func (s Span) minus(x Span) Span {
	s.Packets, s.Events, s.Bytes = s.Packets-x.Packets, s.Events-x.Events, s.Bytes-x.Bytes
	return s
}

// count adds counts of another stream, of which none may be negative.
func (s *Span) count(x Span) {
	x.Packets, x.Events = uint64(max(0, int64(x.Packets))), uint64(max(0, int64(x.Events)))
	s.Add(x)
}

// lacks returns what a directory does not have of a chunk.
func (d *Dropped) lacks(dir string) (Span, error) {
	info, err := os.Stat(filepath.Join(dir, PathOf(d.File)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.Span, nil
	case err != nil:
		return Span{}, err
	case uint64(info.Size()) >= d.Bytes:
		return Span{}, nil
	}
	lacks := d.Span
	lacks.Bytes -= uint64(info.Size())
	if PathOf(d.File) != d.File {
		return lacks, nil // how many packets are in it is not known without reading it, so all count
	}
	t, err := ctf.OpenFiles(dir, func(name string) bool { return name == d.File }, nil)
	if err != nil {
		return Span{}, err
	}
	for _, s := range t.Streams {
		r := s.Reader()
		for r.Next() == nil {
			lacks.Begin = r.Cycles()
		}
		lacks = lacks.minus(Span{Packets: uint64(r.Packets), Events: uint64(r.Events)})
	}
	return lacks, t.Close()
}
