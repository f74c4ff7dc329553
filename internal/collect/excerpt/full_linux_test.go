package excerpt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/filetest"
)

// A span that finds no room is no excerpt: half of one would be read as a host that recorded nothing.
func TestAnExcerptThatFindsNoRoomLeavesNothing(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	m.stream(tickStream, 0, "kernel_3", []int64{10, 20, 30, 40, 50, 60}, 2, 1)
	m.tell()
	m.capture("within.pcapng", 9, clockOffset+20, clockOffset+30)
	filetest.Filling(t, func(dir string) bool {
		out := filepath.Join(dir, "below", "out")
		sum, err := Write(t.Context(), m.dir, out, Span{clockOffset, clockOffset + 100})
		if err != nil {
			if _, left := os.Stat(out); !errors.Is(left, os.ErrNotExist) {
				t.Errorf("%v: something is left", err)
			}
			return false
		}
		if sum.Packets == 0 || sum.Frames != 2 {
			t.Errorf("%+v", sum)
		}
		return true
	})
}

func TestAnExcerptEndsWithItsContextAndIsNeverPutInAPlaceThatIsTaken(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	m.stream(tickStream, 0, "kernel_3", []int64{10, 20, 30, 40}, 2, 0)
	m.capture("within.pcapng", 9, clockOffset+20)
	m.tell()
	span := Span{clockOffset, clockOffset + 100}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Write(ended, m.dir, out, span); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := Write(t.Context(), m.dir, out, span); err != nil {
		t.Fatal(err)
	}
	before := filetest.Names(t, out)
	for name, at := range map[string]string{"what is there": out, "a file's place": filepath.Join(out, "metadata"), "below a file": filepath.Join(out, "metadata", "x")} {
		if _, err := Write(t.Context(), m.dir, at, span); err == nil {
			t.Errorf("%s is overwritten", name)
		}
	}
	if after := filetest.Names(t, out); len(after) != len(before) {
		t.Errorf("%q becomes %q", before, after)
	}
}
