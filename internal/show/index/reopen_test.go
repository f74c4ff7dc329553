package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedSegmentIsDroppedWithThoseBehindIt damages a file in any of several ways: the index goes on behind the one
// before.
func TestDamagedSegmentIsDroppedWithThoseBehindIt(t *testing.T) {
	t.Parallel()
	x := crashTimeline()
	x.records = x.records[:4000]
	const seals, each = 11, 100 // of which the first eight are merged
	whole := t.TempDir()
	schema := *x.schema
	l, err := NewLive(whole, &schema, Options{risky: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range seals * each {
		if err := l.Write(&x.records[i]); err != nil {
			t.Fatal(err)
		}
		if (i+1)%each == 0 {
			if err := l.Seal([]byte(fmt.Sprint((i + 1) / each))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if more, err := l.Compact(); !more || err != nil {
		t.Fatal(more, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"cut short":   func(b []byte) []byte { return b[:len(b)-1] },
		"empty":       func([]byte) []byte { return nil },
		"zeros":       func(b []byte) []byte { return make([]byte, len(b)) },
		"a false bit": func(b []byte) []byte { b[len(b)-trailerSize-20] ^= 1; return b },
	} {
		for file, want := range map[string]int{segmentName(1, 8): 0, segmentName(9, 9): 8, segmentName(10, 10): 9, segmentName(11, 11): 10} {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(dir, file), damage)
			schema := *x.schema
			l, resume, err := OpenLive(dir, &schema, Options{risky: true})
			if err != nil {
				t.Fatalf("%s %s: %v", file, name, err)
			}
			if int(number64(resume)) != want {
				t.Errorf("%s %s: it goes on behind seal %s, want %d", file, name, resume, want)
			}
			compareEvents(t, l, &timeline{x.schema, x.records[:want*each]})
			writeRest(t, l, x, int64(want*each))
			compareEvents(t, l, x)
			if err := l.Seal(nil); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func spoil(t *testing.T, path string, damage func([]byte) []byte) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, damage(b), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNewLiveRefusesADirectoryWithFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLive(dir, crashTimeline().schema, Options{}); err == nil {
		t.Error("it is taken")
	}
}
