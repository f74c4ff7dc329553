package live

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meridian/format/ctf"
	"meridian/format/pcap"
)

// Traces come into directories that hold several, and captures into the directories "packets" of traces. They are looked for at intervals:
// discoverInterval, ns, and longer if the look takes more than 1/discoverShare of that.
const (
	discoverInterval = 1_000_000_000
	discoverShare    = 50
)

// discover follows what has come, and closes the captures that a recorder has removed.
func (s *Session) discover(now bool) error {
	if !now && s.discovered > 0 && s.elapsed()-s.discovered < max(discoverInterval, discoverShare*int64(s.discovery)) {
		return nil
	}
	began := time.Now()
	s.discovered = max(s.elapsed(), 1)
	for _, in := range slices.Clone(s.inputs) {
		if in.given && in.trace != nil && in.host < 0 {
			in.findTraces()
		}
	}
	for _, in := range slices.Clone(s.inputs) { // with the traces that were found
		if in.trace != nil && !in.expanded {
			in.findCaptures()
		}
	}
	s.discovery = time.Since(began)
	return s.closeEnded()
}

// findTraces follows the traces that have come into a directory that is none itself.
func (in *input) findTraces() {
	before := in.searched
	in.searched = true
	if ctf.IsTrace(in.dir) {
		return
	}
	found, err := ctf.Find(in.dir)
	if err != nil {
		return // it is not there
	}
	for _, dir := range found {
		if in.s.follows(dir) || in.s.moved(dir) {
			continue
		}
		if in.s.alone {
			in.s.several() // nothing can have come of the directory itself
		}
		in.expanded = true
		x := newInput(in.s, Input{Dir: dir})
		if !in.derived {
			x.name = in.name
		} else if in.s.o.HostsByDirectory {
			x.name = in.hostOf(dir)
		}
		x.looked = before
		if info, err := os.Stat(dir); err == nil {
			x.info = info // before anything is read: it may move at any time
		}
		in.s.inputs = append(in.s.inputs, x)
		in.s.watch(dir)
	}
}

// seek looks whether the trace, which has vanished, is elsewhere in a directory that was given: LTTng moves what a rotation has ended.
func (in *input) seek() {
	for _, other := range in.s.inputs {
		if !other.expanded {
			continue
		}
		found, err := ctf.Find(other.dir)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(found, in.moved) {
			return
		}
	}
}

// moved says whether a directory is one that is followed by another path, and follows it there.
func (s *Session) moved(dir string) bool {
	return slices.ContainsFunc(s.inputs, func(in *input) bool { return in.moved(dir) })
}

func (in *input) moved(dir string) bool {
	if in.trace == nil || in.info == nil || in.dir == dir {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil || !os.SameFile(info, in.info) {
		return false
	}
	in.dir = dir
	in.trace.Moved(dir)
	in.s.watch(dir)
	return true
}

// hostOf returns the element of a path that follows the input's directory.
func (in *input) hostOf(dir string) string {
	within, err := filepath.Rel(in.dir, dir)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(within, string(filepath.Separator))
	return first
}

// watch has a directory waited for.
func (s *Session) watch(dir string) {
	if s.watcher != nil {
		s.watcher.Add(dir)
	}
}

// packetFiles is the directory in a trace's directory that has the packets of its host.
const packetFiles = "packets"

// findCaptures follows the captures that have come into the directory "packets" of a trace.
func (in *input) findCaptures() {
	before := in.sought
	in.sought = true
	entries, err := os.ReadDir(filepath.Join(in.dir, packetFiles))
	if err != nil {
		return // the trace has none
	}
	for _, e := range entries {
		path := filepath.Join(in.dir, packetFiles, e.Name())
		if strings.HasPrefix(e.Name(), ".") || in.s.follows(path) {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !IsCapture(path) || in.wasRead(path, info) {
			continue
		}
		x := newInput(in.s, Input{Host: in.name, Dir: path})
		x.parent, x.looked = in, before
		in.s.inputs = append(in.s.inputs, x)
		in.dropped.Opened(e.Name())
	}
}

// rotated knows captures that were read under another name: logs are rotated by renaming or copying them.
type rotated struct {
	heads [][]byte               // of those that were replaced, the latest maxRotated
	known map[string]fs.FileInfo // files that are among these
}

// maxRotated is how many captures that were replaced are known. It is more than tools keep.
const maxRotated = 256

func (r *rotated) add(head []byte) {
	if len(head) == 0 {
		return
	}
	r.heads = append(r.heads, head)
	if n := len(r.heads) - maxRotated; n > 0 {
		r.heads = slices.Delete(r.heads, 0, n)
	}
}

// wasRead says whether a file beside the trace begins as a capture that is followed, or was.
func (in *input) wasRead(path string, info fs.FileInfo) bool {
	r := &in.rotated
	if known := r.known[path]; known != nil && os.SameFile(known, info) && info.Size() >= known.Size() {
		return true
	}
	heads := r.heads
	for _, other := range in.s.inputs {
		if other.parent == in && len(other.capture.Head()) > 0 {
			heads = append(slices.Clip(heads), other.capture.Head())
		}
	}
	if len(heads) == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return true // it has gone
	}
	defer f.Close()
	b := make([]byte, pcap.HeadSize)
	n, _ := f.ReadAt(b, 0)
	if !slices.ContainsFunc(heads, func(head []byte) bool { return bytes.HasPrefix(b[:n], head) }) {
		return false
	}
	if r.known == nil || len(r.known) > 4*maxRotated {
		r.known = make(map[string]fs.FileInfo)
	}
	r.known[path] = info
	return true
}

// follows says whether a path is followed.
func (s *Session) follows(path string) bool {
	return slices.ContainsFunc(s.inputs, func(in *input) bool { return filepath.Clean(in.dir) == filepath.Clean(path) })
}

// closeEnded closes captures that are over.
func (s *Session) closeEnded() error {
	var errs []error
	s.inputs = slices.DeleteFunc(s.inputs, func(in *input) bool {
		if !in.ended() {
			return false
		}
		errs = append(errs, in.close())
		s.packets.leave(in)
		return true
	})
	return errors.Join(errs...)
}

// ended says that a capture beside a trace was removed, and read to its end: its recorder keeps the latest ones.
func (in *input) ended() bool {
	if in.capture == nil || in.parent == nil || in.has || in.from < len(in.held) || in.host < 0 {
		return false
	}
	_, err := os.Stat(in.dir)
	return errors.Is(err, fs.ErrNotExist) && (in.packets == nil || in.s.elapsed()-in.packets.fed > 2*packetWindow)
}
