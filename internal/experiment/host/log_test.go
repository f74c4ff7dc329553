//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALogSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	l, err := newLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l.limit = 100
	for range 10 {
		l.line("out", strings.Repeat("x", 40))
	}
	l.line("run", "call 1 ends")
	if err := l.close(); err == nil || !strings.HasPrefix(err.Error(), "8 lines were dropped") {
		t.Errorf("%v, want 8 lines that were dropped", err)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), "xxx\n") != 2 || !strings.Contains(string(b), "run call 1 ends\n8 lines were dropped") {
		t.Errorf("%v\n%s", err, b)
	}
}

// TestALogOnAFullDiskIsToldAsNotWhole writes to the device that is always full.
func TestALogOnAFullDiskIsToldAsNotWhole(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	l, err := newLog("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	l.line("out", "lost")
	if err := l.close(); err == nil {
		t.Error("a log that could not be written was closed without an error")
	}
}
