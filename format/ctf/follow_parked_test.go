package ctf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/trace"
)

// age has files last changed long ago.
func age(t *testing.T, paths ...string) {
	t.Helper()
	long := time.Now().Add(-time.Hour)
	for _, path := range paths {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
}

// park has a Follower look at files that do not grow until it has closed them.
func park(t *testing.T, f *Follower, paths ...string) {
	t.Helper()
	age(t, paths...)
	for range maxIdle {
		drain(t, f)
	}
	for _, file := range f.files {
		if file.parked == nil {
			t.Fatalf("%s is not parked", file.name)
		}
	}
}

// openIn returns how many files below a directory this process has open.
func openIn(t *testing.T, dir string) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if path, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(path, dir+"/") {
			n++
		}
	}
	return n
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFilesThatDoNotGrowCostNoDescriptorAndSomeHundredBytes(t *testing.T) {
	const n = 200
	dir, _, paths := grownTrace(t, n, 500)
	before := heap()
	f, _ := follow(t, dir)
	drain(t, f)
	reading := heap() - before
	park(t, f, paths...)
	each := (heap() - before) / n
	t.Logf("%d bytes a file while it is read, %d afterwards", reading/n, each)
	if each > 1500 {
		t.Errorf("%d bytes a file, which ended long ago", each)
	}
	if now := openIn(t, dir); now > 0 {
		t.Errorf("%d files are open", now)
	}
	runtime.KeepAlive(f)
}

func TestAFileThatGrowsAfterLongRestIsReadOn(t *testing.T) {
	dir, rest, paths := grownTrace(t, 2, 500)
	f, _ := follow(t, dir)
	other, _ := follow(t, dir)
	got := drain(t, f)
	drain(t, other)
	park(t, f, paths...)
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range [][]byte{rest[0][:4096], rest[0][4096:]} { // parked in the midst of a stream, and at its end
		whole = append(whole, part...)
		put(t, dir, filepath.Base(paths[0]), whole)
		more := drain(t, f)
		if same := drain(t, other); len(more) == 0 || !slices.Equal(more, same) {
			t.Fatalf("part %d: %d events, and %d where it was not parked", i, len(more), len(same))
		}
		got = append(got, more...)
		a, b := f.Position(), other.Position()
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) || f.Tally() != other.Tally() {
			t.Errorf("part %d: it is at\n%s, and where it was not parked at\n%s", i, x, y)
		}
		park(t, f, paths...)
		if f.Tally() != other.Tally() {
			t.Errorf("part %d: parked it counts %+v, and did %+v", i, f.Tally(), other.Tally())
		}
	}
	if f.Position().Files[0].Name != filepath.Base(paths[0]) {
		t.Errorf("%+v", f.Position())
	}
}

// The name of a file that was removed is another's, and so may be the number that the system gave it.
func TestAFileInThePlaceOfAParkedOneIsReadFromItsBeginning(t *testing.T) {
	for _, name := range []string{"another", "a copy"} {
		dir, _, paths := grownTrace(t, 1, 500)
		m := metadataOf(t, smallTSDL)
		data := smallStream(t, m, 60, 4096, true, 9000)
		f, w := follow(t, dir)
		first := drain(t, f)
		park(t, f, paths...)
		if name == "a copy" { // in place, so that its number is the same
			put(t, dir, filepath.Base(paths[0]), data)
		} else if err := os.Remove(paths[0]); err != nil {
			t.Fatal(err)
		} else {
			put(t, dir, filepath.Base(paths[0]), data)
		}
		got := drain(t, f)
		if len(first) == 0 || len(got) != 60 || slices.Equal(first, got) {
			t.Errorf("%s: %d events, then %d: %v", name, len(first), len(got), w.Lines())
		}
		if n := f.Tally().Events; n != int64(len(first)+60) && name == "another" {
			t.Errorf("%s: %d events are counted", name, n)
		}
	}
}

func TestAParkedFileThatIsRenamedOrRemovedIsKnown(t *testing.T) {
	dir, rest, paths := grownTrace(t, 2, 500)
	f, w := follow(t, dir)
	var closed closedFiles
	f.Files = &closed
	first := drain(t, f)
	park(t, f, paths...)
	if err := os.Rename(paths[0], paths[0]+"_renamed"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[1]); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := drain(t, f); len(got) > 0 {
			t.Fatalf("%d events are read again", len(got))
		}
	}
	if want := []string{filepath.Base(paths[1])}; !slices.Equal(closed.names, want) {
		t.Errorf("%v are closed, not %v", closed.names, want)
	}
	whole, err := os.ReadFile(paths[0] + "_renamed")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, filepath.Base(paths[0])+"_renamed", append(whole, rest[0]...))
	got := drain(t, f)
	if total := int64(len(first) + len(got)); len(got) == 0 || f.Tally().Events != total {
		t.Errorf("%d events were returned, and %d are counted", total, f.Tally().Events)
	}
	if err := f.Close(); err != nil || len(w.Lines()) > 0 {
		t.Error(err, w.Lines())
	}
}

type closedFiles struct{ names []string }

func (c *closedFiles) Opened(string)               {}
func (c *closedFiles) Closed(name string, t Tally) { c.names = append(c.names, name) }

// What a parked file counted is told at the end.
func TestWhatAParkedFileLostIsReported(t *testing.T) {
	dir, rest, paths := grownTrace(t, 1, 2000)
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, filepath.Base(paths[0]), append(whole, rest[0][4096:]...)) // a packet is missing
	var plain trace.Warnings
	other := Follow(dir, &plain)
	drain(t, other)
	if err := other.Close(); err != nil || len(plain.Lines()) == 0 {
		t.Fatalf("nothing is lost: %v %v", err, plain.Lines())
	}
	f, w := follow(t, dir)
	drain(t, f)
	park(t, f, paths...)
	if err := f.Close(); err != nil || !slices.Equal(w.Lines(), plain.Lines()) {
		t.Errorf("%v: %v, and it was %v", err, w.Lines(), plain.Lines())
	}
}
