package ctf

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
	"meridian/trace"
)

// eventLine is all that a caller can learn of an event, and its stream: in the traces of these tests that of a file, whatever name the
// file has.
func eventLine(e *trace.Event, s interface {
	trace.Source
	Reader() *Reader
}) (stream, line string) {
	c := s.Classes()[e.Class]
	var b strings.Builder
	fmt.Fprint(&b, e.Time, " ", s.Streams()[e.Stream].Name, " ", c.Category, ":", c.Name, " ", e.Phase, e.Slice, e.Flow, e.Role)
	for i, v := range s.Values() {
		if i < len(c.Fields) {
			fmt.Fprint(&b, " ", c.Fields[i].Name, "=")
		}
		fmt.Fprint(&b, v.Kind, v.Bits, string(v.Data))
		for _, item := range v.Items {
			fmt.Fprint(&b, ",", item.Kind, item.Bits, string(item.Data))
		}
	}
	return s.Streams()[e.Stream].Name, b.String()
}

// offlineLines reads a whole trace with Open: the lines of each stream's events.
func offlineLines(t testing.TB, dir string) map[string][]string {
	t.Helper()
	tr, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Events()
	defer s.Close()
	all := map[string][]string{}
	for e := new(trace.Event); s.Next(e) == nil; {
		stream, line := eventLine(e, s)
		all[stream] = append(all[stream], line)
	}
	return all
}

// growth is a writer that copies a trace bit by bit.
type growth struct {
	t        *rapid.T
	dir      string
	metadata []string // versions, each of which has all that the one before has
	version  int      // of the metadata that was written; -1 for none
	files    map[string][]byte
	names    []string
	written  map[string]int
	torn     map[string]bool
	paths    map[string]string // where files are now
}

func newGrowth(t *rapid.T, dir string, metadata []string, files map[string][]byte) *growth {
	return &growth{t: t, dir: dir, metadata: metadata, version: -1, files: files, names: slices.Sorted(maps.Keys(files)),
		written: map[string]int{}, torn: map[string]bool{}, paths: map[string]string{}}
}

func (g *growth) path(name string) string {
	if g.paths[name] == "" {
		g.paths[name] = filepath.Join(g.dir, name)
	}
	return g.paths[name]
}

// rename gives a file another name, as rotation does.
func (g *growth) rename(name string) {
	if g.written[name] > 0 {
		from := g.path(name)
		g.must(os.Rename(from, from+"_0"))
		g.paths[name] = from + "_0"
	}
}

func (g *growth) must(err error) {
	if err != nil {
		g.t.Fatal(err)
	}
}

// append writes the next n bytes of a file.
func (g *growth) append(name string, n int) {
	g.must(os.MkdirAll(g.dir, 0o777))
	f, err := os.OpenFile(g.path(name), os.O_CREATE|os.O_WRONLY, 0o666)
	g.must(err)
	defer f.Close()
	at := g.written[name]
	if g.torn[name] { // a successor cuts it off
		g.must(f.Truncate(int64(at)))
		g.torn[name] = false
	}
	end := min(len(g.files[name]), at+n)
	_, err = f.WriteAt(g.files[name][at:end], int64(at))
	g.must(err)
	g.written[name] = end
}

// tear writes the beginning of a packet that is never finished, behind the whole packets of a file.
func (g *growth) tear(name string, boundaries []int, n int) {
	at := g.written[name]
	if !slices.Contains(boundaries, at) || at == len(g.files[name]) {
		return
	}
	end := boundaries[slices.Index(boundaries, at)+1]
	part := slices.Clone(g.files[name][at : at+min(n, end-at-1)])
	for i := 60; i < len(part); i++ {
		part[i] ^= 0x55 // its events are others than those that are written in its place
	}
	g.must(os.MkdirAll(g.dir, 0o777))
	f, err := os.OpenFile(g.path(name), os.O_CREATE|os.O_WRONLY, 0o666)
	g.must(err)
	defer f.Close()
	_, err = f.WriteAt(part, int64(at))
	g.must(err)
	g.torn[name] = true
}

// renew writes the next version of the metadata: in place of the old one, or behind it.
func (g *growth) renew(replace bool, cut int) {
	g.must(os.MkdirAll(g.dir, 0o777))
	g.version++
	path := filepath.Join(g.dir, "metadata")
	text := g.metadata[g.version]
	if replace || cut == 0 {
		g.must(os.WriteFile(path+".new", []byte(text), 0o666))
		g.must(os.Rename(path+".new", path))
		return
	}
	g.must(os.WriteFile(path, []byte(text[:max(0, len(text)-cut)]), 0o666)) // it is completed with the next version
}

func (g *growth) done() bool {
	for _, name := range g.names {
		if g.written[name] < len(g.files[name]) || g.torn[name] {
			return false
		}
	}
	return g.version == len(g.metadata)-1
}

// finish writes all that is left.
func (g *growth) finish() {
	for g.version < len(g.metadata)-1 {
		g.renew(true, 0)
	}
	g.version--
	g.renew(true, 0)
	for _, name := range g.names {
		g.append(name, len(g.files[name]))
	}
}

// boundariesOf returns the offsets of the packets of a file, and its end.
func boundariesOf(t testing.TB, metadata string, data []byte) []int {
	tr, err := Open(writeTrace(t, metadata, data), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r := tr.Streams[0].Reader()
	var at []int
	for r.nextPacket() == nil {
		at = append(at, int(r.packet.Offset))
	}
	return append(at, len(data))
}

// smallVersions are versions of smallTSDL, with ever more event classes.
func smallVersions() []string {
	text := strings.Index(smallTSDL, `event { name = "text"`)
	late := strings.Index(smallTSDL, `event { name = "late"`)
	return []string{smallTSDL[:text], smallTSDL[:late], smallTSDL}
}

// Whatever is appended when, and whoever follows in turn: each file's events come once, in order.
func TestFollowerReturnsTheOfflineEventsOfAnyGrowth(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	files := map[string][]byte{}
	var streams [][]byte
	boundaries := map[string][]int{}
	for i, size := range []int{400, 1024, 4096} {
		data := smallStream(t, m, 60*(i+1), size, i > 0, uint64(i))
		name := fmt.Sprintf("channel0_%d", i)
		files[name], boundaries[name] = data, boundariesOf(t, smallTSDL, data)
		streams = append(streams, data)
	}
	want := offlineLines(t, writeTrace(t, smallTSDL, streams...))
	testseed.Check(t, func(t *rapid.T) {
		parent, err := os.MkdirTemp("", "grow")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(parent)
		g := newGrowth(t, filepath.Join(parent, "trace"), smallVersions(), files)
		got := map[string][]string{}
		var w trace.Warnings
		f := Follow(g.dir, &w)
		defer func() { f.Close() }()
		look := func(n int) {
			if _, err := f.Refresh(); err != nil {
				t.Fatal(err)
			}
			for e := new(trace.Event); n > 0 && f.Next(e) == nil; n-- {
				stream, line := eventLine(e, f)
				got[stream] = append(got[stream], line)
			}
		}
		for steps := rapid.IntRange(0, 80).Draw(t, "steps"); steps > 0 && !g.done(); steps-- {
			name := rapid.SampledFrom(g.names).Draw(t, "file")
			switch rapid.IntRange(0, 10).Draw(t, "what") {
			case 0, 1, 2, 3:
				n := rapid.IntRange(1, 1500).Draw(t, "bytes")
				if b := boundaries[name]; rapid.Bool().Draw(t, "whole") { // up to a packet's end
					i, _ := slices.BinarySearch(b, min(g.written[name]+n, len(files[name])))
					n = b[i] - g.written[name]
				}
				g.append(name, n)
			case 4:
				g.tear(name, boundaries[name], rapid.IntRange(1, 4000).Draw(t, "torn"))
			case 5:
				if g.version < len(g.metadata)-2 {
					g.renew(rapid.Bool().Draw(t, "replace"), rapid.IntRange(0, 60).Draw(t, "cut"))
				}
			case 6:
				f = resume(t, f, g.dir, &w)
			case 7:
				g.rename(name)
			default:
				look(rapid.SampledFrom([]int{0, 1, 7, 1 << 20}).Draw(t, "events"))
			}
		}
		g.finish()
		look(1 << 20)
		events := int64(0)
		for stream := range want {
			events += int64(len(want[stream]))
			if !slices.Equal(got[stream], want[stream]) {
				t.Fatalf("%s: %d events, offline %d; first difference at %d; %v", stream, len(got[stream]), len(want[stream]),
					firstUnequal(got[stream], want[stream]), w.Lines())
			}
		}
		if tally := f.Tally(); tally.Events != events || tally.Lost+tally.Damaged+tally.Broken > 0 {
			t.Fatalf("%+v", tally)
		}
	})
}

func firstUnequal(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// resume is kill -9 of a follower, and another one that goes on from its Position as it was stored.
func resume(t *rapid.T, f *Follower, dir string, w *trace.Warnings) *Follower {
	stored, err := json.Marshal(f.Position())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	var p Position
	if err := json.Unmarshal(stored, &p); err != nil {
		t.Fatal(err)
	}
	return FollowFrom(dir, p, w)
}
