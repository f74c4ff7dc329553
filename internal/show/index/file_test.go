package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// small is a timeline that has something of everything.
func small(events int) *timeline {
	m := clock.Map{Mid: clock.Curve{{X: 0, Y: 50}}, Low: clock.Curve{{X: 0, Y: 20}}, High: clock.Curve{{X: 0, Y: 90}}}
	one := clock.Identity()
	l := &trace.Schema{Title: "<script>alert(1)</script>", Hosts: []string{"a</script>", "b\xff"},
		Streams: []trace.Stream{{Name: "r\x00", Host: "a</script>", Parent: -1}, {Name: "<img onerror=x>", Host: "b\xff", Parent: 0}},
		Classes: []trace.Class{{Name: "<b>", Category: "&amp;", Fields: []trace.Field{{Name: "\"", Type: trace.Type{Kind: trace.Int}}}}, {Name: ""}},
		Maps:    []trace.HostMap{{Host: 0, Map: &m}, {Host: 1, Map: &one}}}
	x := &timeline{schema: l}
	r := random(4)
	for i := range events {
		row := int(r.n(2))
		e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(int64(i)*100 - 50), Stream: row, Class: int(r.n(2)), Phase: trace.Phase(r.n(4)),
			Flow: uint64(i/2) + 1, Role: trace.Role(1 + i%2)}, Host: row, Map: row, Time: clock.TimelineTime(int64(i) * 100)}
		if e.Class == 0 {
			e.Values = []trace.Value{trace.OfInt(r.n(100))}
		}
		x.records = append(x.records, e)
	}
	return x
}

// file builds the index of a timeline and returns the bytes of its file.
func (x *timeline) file(t testing.TB, o Options) []byte {
	o.Path = filepath.Join(t.TempDir(), "x.index")
	n := x.build(t, o)
	n.Close()
	b, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAKeptIndexAnswersAsTheOneThatWasBuilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.index")
	x := small(3000)
	b, err := NewBuilder(x.schema, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Attach("report", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for i := range x.records {
		if err := b.Write(&x.records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is whole")
	}
	if _, err := b.Index(); err == nil {
		t.Error("there is an index before Close")
	}
	if err := errors.Join(b.Attach("plots", bytes.Repeat([]byte("p"), 3<<20)), b.Close()); err != nil {
		t.Fatal(err)
	}
	built, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	defer built.Close()
	if !IsIndex(path) || IsIndex(filepath.Join(t.TempDir(), "nothing")) {
		t.Error("IsIndex")
	}
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if !reflect.DeepEqual(opened.About(), built.About()) || !reflect.DeepEqual(opened.Violations(), built.Violations()) {
		t.Error("the opened index differs")
	}
	for group := range 3 {
		one, err1 := built.Tile(group, built.about.Top, 0)
		two, err2 := opened.Tile(group, opened.about.Top, 0)
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) || len(one) < 3 {
			t.Errorf("group %d: %v %v", group, err1, err2)
		}
	}
	if a, err := opened.Attachment("report"); err != nil || string(a) != "{}" {
		t.Errorf("report %q %v", a, err)
	}
	if a, err := opened.Attachment("plots"); err != nil || len(a) != 3<<20 {
		t.Errorf("plots %d %v", len(a), err)
	}
	if a, err := opened.Attachment("other"); err != nil || a != nil {
		t.Errorf("other %q %v", a, err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left)+len(hidden) != 1 {
		t.Errorf("other files in its directory: %v %v", left, hidden)
	}
}

func TestWhatIsDiscardedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	b, err := NewBuilder(small(0).schema, Options{Path: filepath.Join(dir, "x.index")})
	if err != nil {
		t.Fatal(err)
	}
	b.Discard()
	if err := b.Write(&trace.TimelineEvent{}); err == nil {
		t.Error("it takes records on")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestRecordsThatContradictTheSchemaAreRefused(t *testing.T) {
	for _, r := range []trace.TimelineEvent{
		{Event: trace.Event{Stream: 2}}, {Event: trace.Event{Stream: -1}}, {Event: trace.Event{Class: 2}}, {Host: 2}, {Map: 2}, {Map: -2},
		{Event: trace.Event{Phase: 4}},
	} {
		b, err := NewBuilder(small(0).schema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b.Write(&r) == nil || b.Close() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

func TestAnEmptyTimelineIsAnIndexToo(t *testing.T) {
	n := small(0).build(t, Options{})
	defer n.Close()
	if tile, err := n.Tile(0, 0, 0); err != nil || !bytes.Equal(tile, []byte{1, 0}) {
		t.Errorf("tile %v %v", tile, err)
	}
	if e, err := n.Events(0, 10); err != nil || len(e) != 0 {
		t.Errorf("events %v %v", e, err)
	}
	if f, err := n.Search("x", -1, 10); err != nil || len(f.Found) != 0 || f.Next != -1 {
		t.Errorf("search %v %v", f, err)
	}
	text, err := json.Marshal(n.About())
	if err != nil || bytes.Contains(text, []byte("null")) {
		t.Errorf("%s %v", text, err)
	}
}

func TestAboutHasTheNamesOfTheContract(t *testing.T) {
	n := small(100).build(t, Options{})
	defer n.Close()
	text, err := json.Marshal(n.About())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("<")) || bytes.Contains(text, []byte("null")) {
		t.Errorf("about could end an element, or lacks something: %s", text)
	}
	doc, err := os.ReadFile("../../../docs/viewer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(doc), "`about`:")
	part, _, _ = strings.Cut(part, "A corner of a clock")
	var have map[string]any
	if err := json.Unmarshal(text, &have); err != nil {
		t.Fatal(err)
	}
	var check func(v any)
	check = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, x := range v {
				if !strings.Contains(part, `"`+name+`"`) {
					t.Errorf("docs/viewer.md does not know %q", name)
				}
				check(x)
			}
		case []any:
			for _, x := range v {
				check(x)
			}
		}
	}
	check(have)
	for _, name := range []string{"version", "title", "origin", "span", "top", "live", "hosts", "clocks", "rows", "classes", "links", "events",
		"messages", "verdicts", "delays", "method", "assumption", "summary", "warnings", "pairs", "left"} {
		if _, ok := have[name]; !ok {
			t.Errorf("about lacks %q", name)
		}
	}
}

// exercise asks an index for everything once.
func exercise(x *Index) (err error) {
	a := x.About()
	for group := range len(a.Hosts) + 1 {
		for level := a.Top; level >= max(0, a.Top-3); level-- {
			for i := range min(a.Span>>(level+tileBits)+1, 3) {
				tile, e := x.Tile(group, level, i)
				if e == nil {
					_, e = DecodeTile(tile, level, i)
				}
				err = errors.Join(err, e)
			}
		}
	}
	_, e1 := x.Events(0, 300)
	_, e2 := x.Search(`5 | name:"<b>"`, -1, 100)
	_, e3 := x.Attachment("report")
	return errors.Join(err, e1, e2, e3)
}

func TestAnyByteThatIsWrongIsNoticed(t *testing.T) {
	whole := small(80).file(t, Options{})
	used := make([]bool, len(whole))
	x, err := read(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	if err := exercise(x); err != nil {
		t.Fatal(err)
	}
	// Between pages there are bytes that mean nothing.
	for i := range used {
		used[i] = i < headerSize-4 || int64(i) >= x.pages.size && (i < len(whole)-12 || i >= len(whole)-8)
	}
	for i := range whole {
		if whole[i] == 0 && !used[i] {
			continue
		}
		b := bytes.Clone(whole)
		b[i] ^= 0x41
		x, err := read(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			err = exercise(x)
		}
		if err == nil && used[i] {
			t.Errorf("byte %d of %d is changed without an error", i, len(b))
		}
	}
	for n := range 200 {
		n := len(whole) * n / 200
		if _, err := read(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Errorf("the first %d bytes of %d are taken for an index", n, len(whole))
		}
	}
}

func TestOneIndexAnswersManyAtOnce(t *testing.T) {
	n := small(20_000).build(t, Options{})
	defer n.Close()
	var want [3][]byte
	for g := range want {
		want[g], _ = n.Tile(g, n.about.Top, 0)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for k := range 20 {
				tile, err := n.Tile(k%3, n.about.Top, 0)
				if err != nil || !bytes.Equal(tile, want[k%3]) {
					t.Errorf("tile of group %d: %v", k%3, err)
				}
				if e, err := n.Events(int64(k*900), 100); err != nil || len(e) != 100 {
					t.Errorf("%d events: %v", len(e), err)
				}
			}
		})
	}
	wg.Wait()
}

// reseal gives a directory the checksum that it should have.
func reseal(b []byte, directory, tail int) {
	binary.LittleEndian.PutUint32(b[tail+16:], crc32.Checksum(b[directory:tail], castagnoli))
}
