//go:build unix

package record

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// TestNextRecorderCutsOffWhatIsTornOfASource leaves the file of a source as a recorder does that dies within a write: at any
// place of the last packet.
func TestNextRecorderCutsOffWhatIsTornOfASource(t *testing.T) {
	dir, rings := filepath.Join(t.TempDir(), "trace"), t.TempDir()
	k := &fakeKernel{cpus: true, from: uint64(clock.Monotonic.Now())}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Options{Dir: dir, Rings: []string{rings}, Sources: []Source{k}, Counts: func(s Summary) {
		if s.Total.Events == kernelEvents && k.lost.Load() > 0 {
			cancel()
		}
	}}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "kernel_*"))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(whole)%page != 0 || len(whole) < 2*page {
		t.Fatalf("a file of %d bytes, whose packets are not pages", len(whole))
	}
	for _, cut := range []int{1, 19, 20, sourceHead - 1, sourceHead, 1000, page - 1} {
		if err := os.WriteFile(paths[0], append(whole[:len(whole):len(whole)], whole[:cut]...), 0o666); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		r, err := New(Options{Dir: dir, Rings: []string{rings}, Warnings: &w})
		if err != nil {
			t.Fatal(err)
		}
		r.t.close()
		if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("with %d bytes of a packet behind them %d bytes of %d are left, %v", cut, len(got), len(whole), err)
		}
		if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], cutShort) {
			t.Errorf("%q", lines)
		}
	}
	// What is nobody's is left alone.
	strange := append(whole[:len(whole):len(whole)], "something else"...)
	if err := os.WriteFile(paths[0], strange, 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err = New(Options{Dir: dir, Rings: []string{rings}}); err != nil {
		t.Fatal(err)
	}
	r.t.close()
	if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, strange) {
		t.Errorf("%d bytes of %d are left, %v", len(got), len(strange), err)
	}
}
