package ring

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// TestARingWithoutADirectoryIsWhereReadersLook: neither side names a directory.
func TestARingWithoutADirectoryIsWhereReadersLook(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w, err := Create(Options{Shards: 1, Buffers: 2, BufferSize: minBuffer, Classes: 1, Metadata: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	found, err := Find("")
	if err != nil || !slices.Contains(found, w.Path()) {
		t.Errorf("%s is not among %v, %v", w, found, err)
	}
	if err := w.Remove(); err != nil {
		t.Error(err)
	}
	if err := w.Remove(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	if found, err = Find(""); err != nil || slices.Contains(found, w.Path()) {
		t.Errorf("it is still among %v, %v", found, err)
	}
	if _, err := Find(filepath.Join(os.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that there is not: %v", err)
	}
	if _, err := Create(Options{Dir: filepath.Join(os.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("made in a directory that there is not: %v", err)
	}
}

// Without pages for a declaration there is no class; the next one finds the room again.
func TestAClassWithoutRoomOnTheDiskIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w, open := inMemory(t, Options{Shards: 1, Buffers: 2, BufferSize: minBuffer})
	for refused := range 2 { // the text, then the record
		asked := 0
		w.reserve = func(_, _ uint64) error {
			if asked++; asked > refused {
				return syscall.ENOSPC
			}
			return nil
		}
		if _, err := w.Register(Class{Name: "step"}); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `"step"`) {
			t.Errorf("%d: %v", refused, err)
		}
	}
	w.reserve = func(_, _ uint64) error { return nil }
	if h := registered(t, w, "other"); h.ID != 0 {
		t.Errorf("the next class has id %d", h.ID)
	}
	r := open()
	if all := r.Classes(); len(all) != 1 || all[0].Name != "other" || strings.Contains(r.Metadata(), "step") {
		t.Errorf("%+v\n%s", all, r.Metadata())
	}
	w.Close()
	if _, err := w.Register(Class{Name: "late"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("registered in a closed ring: %v", err)
	}
}

func TestNamesOfProgramsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("ä", maxProgram), "x" + strings.Repeat("ä", maxProgram), strings.Repeat("\U0001f600", maxProgram), "a\x00b", "\xff" + strings.Repeat("a", maxProgram)} {
		got := shorten(name)
		if len(got) > maxProgram || len(got) < min(len(name)-1, maxProgram-3) || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("%.20q becomes %q of %d bytes", name, got, len(got))
		}
	}
}

// A header is written by whoever made the file. What it says is believed where it fits, and else refused by name.
func TestAHeaderThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	w := made(t, Options{Shards: 1, Buffers: 2, Classes: 4, Metadata: 4096})
	good, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	set := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	for want, change := range map[string]func([]byte) []byte{
		"":                        func(b []byte) []byte { return b },
		"not a ring of Meridian":  set(0, 7),
		"header of 7 bytes":       set(atHeaderSize, 7),
		"unknown mode 2":          set(atMode, 2),
		"header: ":                set(atShardCount, 0xffffffff),
		"the file has":            func(b []byte) []byte { return b[:len(b)-1] },
		"the header alone has":    func(b []byte) []byte { return b[:100] },
		ErrUnready.Error():        func([]byte) []byte { return nil },
		"header says 18446744073": func(b []byte) []byte { binary.LittleEndian.PutUint64(b[atSize:], 1<<64-1); return b },
	} {
		path := filepath.Join(t.TempDir(), "a.ring")
		if err := os.WriteFile(path, change(slices.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Look(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
