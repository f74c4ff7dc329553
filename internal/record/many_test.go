//go:build unix

package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestProgramsThatHaveEndedTakeLittleMemory(t *testing.T) {
	ring := t.TempDir()
	r, err := New(Options{Dir: filepath.Join(t.TempDir(), "trace"), Rings: []string{ring}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		over <- err
	}()
	live := func() uint64 {
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) { // until the rings of all programs are removed
			left, err := os.ReadDir(ring)
			if err != nil || time.Now().After(end) {
				t.Fatalf("%d rings are left: %v", len(left), err)
			}
			if len(left) == 0 {
				break
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		for i := range n {
			p := program(t, fmt.Sprint("short-", i), ring, "GOROUTINES=1", "EVENTS=100")
			p.emitted(t)
			p.end(t)
		}
	}
	run(10)
	before := live()
	run(100)
	after := live()
	if each := (int64(after) - int64(before)) / 100; each > 16<<10 {
		t.Errorf("%d bytes of memory are kept for each program that has ended", each)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
