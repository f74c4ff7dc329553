//go:build unix

package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"meridian/internal/filetest"
	"meridian/internal/pipeline/usage"
	"meridian/internal/scratch"
)

// pipeIn makes a named pipe with a writer, so that it opens at once.
func pipeIn(t *testing.T) (path string, writer *os.File) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "p.pcap")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	return path, writer
}

func TestASpoolThatIsInterruptedEndsAndLeavesNothing(t *testing.T) {
	path, writer := pipeIn(t)
	if _, err := writer.WriteString("some bytes, and no end"); err != nil {
		t.Fatal(err)
	}
	under := t.TempDir()
	dir := scratch.New(under)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Spool(ctx, []string{"a=" + path}, dir)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
	if left := filetest.Names(t, under); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnlyPipesAreSpooled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a=b.pcap")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	under := t.TempDir()
	dir := scratch.New(under)
	defer dir.Close()
	args := []string{file, "x=" + file, "nothing.pcap", "y=nothing.pcap", t.TempDir()}
	got, err := Spool(t.Context(), args, dir)
	if err != nil || !slices.Equal(got, args) {
		t.Errorf("%q (%v), want %q", got, err, args)
	}
	if made := filetest.Names(t, under); len(made) > 0 {
		t.Errorf("made %v for files", made)
	}
}

func TestAPipeGivenTwiceIsRefused(t *testing.T) {
	path, _ := pipeIn(t)
	dir := scratch.New(t.TempDir())
	defer dir.Close()
	var mistake *usage.Error
	if _, err := Spool(t.Context(), []string{"a=" + path, "b=" + path}, dir); !errors.As(err, &mistake) {
		t.Errorf("one pipe as two traces: %v", err)
	}
}

func TestAPipeThatNobodyOpensIsGivenUpAtAnInterrupt(t *testing.T) {
	path, writer := pipeIn(t)
	writer.Close()
	dir := scratch.New(t.TempDir())
	defer dir.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Spool(ctx, []string{path}, dir)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
