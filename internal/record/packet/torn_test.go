package packet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

// someFile writes a file and returns what is in it, and where its blocks end.
func someFile(t interface {
	Fatal(...any)
	Helper()
}, path, comment string, frames int) (whole []byte, ends []int) {
	t.Helper()
	x, err := Create(path, comment)
	if err != nil {
		t.Fatal(err)
	}
	ifaces := []Interface{{trace.Interface{Name: "eth0", LinkType: linkEthernet}, 1}}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(x.Describe(ifaces))
	for i := range frames {
		f := trace.Frame{Number: i, Time: clock.HostTime(i), Data: bytes.Repeat([]byte{byte(i)}, i%50), Wire: 1500, Options: []byte{2, 0, 4, 0, 1, 0, 0, 0}}
		check(x.Write(&f))
	}
	check(x.WriteStatistics(Stats{Dropped: 3}, 77, true))
	check(x.Close())
	whole, err = os.ReadFile(path)
	check(err)
	for at := 0; at < len(whole); ends = append(ends, at) {
		at += int(le.Uint32(whole[at+4:]))
	}
	return whole, ends
}

func TestOfATornFileTheWholeBlocksAreLeft(t *testing.T) {
	dir, n := t.TempDir(), 0
	ours := func(comment string) bool { return comment == "ours" }
	testseed.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n, ".pcapng"))
		whole, ends := someFile(t, path, "ours", rapid.IntRange(0, 40).Draw(t, "frames"))
		defer os.Remove(path)
		torn := whole[:rapid.IntRange(ends[0], len(whole)).Draw(t, "torn")] // the section is within a page, which is written whole
		want := 0
		for _, end := range ends {
			if end <= len(torn) {
				want = end
			}
		}
		if err := os.WriteFile(path, torn, 0o666); err != nil {
			t.Fatal(err)
		}
		if cut, err := CutTorn(path, func(string) bool { return false }); err != nil || cut != 0 {
			t.Fatalf("of somebody else's file %d bytes are cut, %v", cut, err)
		}
		for _, wantCut := range []int{len(torn) - want, 0} {
			cut, err := CutTorn(path, ours)
			left, failed := os.ReadFile(path)
			if err != nil || failed != nil || int(cut) != wantCut || !bytes.Equal(left, whole[:want]) {
				t.Fatalf("%d bytes are cut and %d left of %d, of which %d are whole; %v %v", cut, len(left), len(torn), want, err, failed)
			}
		}
	})
}

func TestWhatIsDamagedOtherwiseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for what, change := range map[string]func(whole []byte, ends []int) []byte{
		"something behind it":      func(b []byte, _ []int) []byte { return append(b, "something else"...) },
		"zeros behind it":          func(b []byte, _ []int) []byte { return append(b, make([]byte, 100)...) },
		"a length in the middle":   func(b []byte, ends []int) []byte { b[ends[3]+4]++; return b[:len(b)-5] },
		"a length at the end":      func(b []byte, ends []int) []byte { b[ends[3]-4]++; return b[:len(b)-5] },
		"a block of another kind":  func(b []byte, ends []int) []byte { b[ends[3]] = 77; return b[:len(b)-5] },
		"another byte order":       func(b []byte, _ []int) []byte { b[8] ^= 1; return b[:len(b)-5] },
		"no capture":               func([]byte, []int) []byte { return []byte("x") },
		"a section without an end": func(b []byte, _ []int) []byte { return b[:30] },
	} {
		path := filepath.Join(dir, what)
		b := change(someFile(t, path, "ours", 20))
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		cut, err := CutTorn(path, func(string) bool { return true })
		if left, _ := os.ReadFile(path); err != nil || cut != 0 || !bytes.Equal(left, b) {
			t.Errorf("%s: %d bytes are cut, %d of %d left, %v", what, cut, len(left), len(b), err)
		}
	}
	empty := filepath.Join(dir, "empty.pcapng")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if cut, err := CutTorn(empty, func(string) bool { return false }); err != nil || cut != 0 {
		t.Error(cut, err)
	}
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("a file without a byte is left: %v", err)
	}
}

func TestOtherProgramsReadAFileThatWasTorn(t *testing.T) {
	capinfos := testneed.Program(t, "capinfos")
	path := filepath.Join(t.TempDir(), "x.pcapng")
	whole, ends := someFile(t, path, "ours", 20)
	if err := os.WriteFile(path, whole[:ends[12]+9], 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(capinfos, path).CombinedOutput(); err == nil {
		t.Errorf("it bears a torn file, and nobody need cut it: %s", out)
	}
	if _, err := CutTorn(path, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(capinfos, path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func FuzzTorn(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x.pcapng")
	whole, ends := someFile(f, path, "ours", 5)
	f.Add(whole)
	f.Add(whole[:ends[3]+5])
	f.Add(append(bytes.Clone(whole), 6, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0))
	testseed.Fuzz(f, func(t *testing.T, data []byte) { // one at a time in a process, all into the same file
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		cut, err := CutTorn(path, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadFile(path)
		if len(data) > 0 && (err != nil || !bytes.Equal(left, data[:int64(len(data))-cut])) {
			t.Fatalf("%d bytes of %d are left, %d are said to be cut; %v", len(left), len(data), cut, err)
		}
		if again, err := CutTorn(path, func(string) bool { return true }); len(data) > 0 && (err != nil || again != 0) {
			t.Fatalf("%d more bytes are cut of what was left, %v", again, err)
		}
	})
}
