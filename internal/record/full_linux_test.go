package record

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/testneed"
)

// smallDisk mounts a file system of so many bytes.
func smallDisk(t *testing.T, bytes string) string {
	t.Helper()
	testneed.Root(t, "mounting a small file system")
	dir := t.TempDir()
	if err := unix.Mount("meridian", dir, "tmpfs", 0, "size="+bytes); err != nil {
		testneed.Missing(t, "a small file system cannot be mounted (run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskEndsTheRecordingAndLosesNothing(t *testing.T) {
	disk, rings := smallDisk(t, "128k"), t.TempDir()
	dir := filepath.Join(disk, "trace")
	p := program(t, "verbose", rings, "GOROUTINES=2", "EVENTS=8000")
	each := p.emitted(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r, err := New(Options{Dir: dir, Rings: []string{rings}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "recording has ended") {
		t.Fatal(err)
	}
	t.Log(err)
	found := map[[2]int]int{}
	numbers(read(t, dir), p.Process.Pid, found)
	babeltrace(t, dir)
	if len(found) == 0 || uint64(len(found)) > s.Total.Events {
		t.Errorf("%d events are read, %d were written", len(found), s.Total.Events)
	}
	p.end(t)

	// With more room the next recorder goes on.
	if err := unix.Mount("meridian", disk, "tmpfs", unix.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	untilEnded(t, Options{Dir: dir, Rings: []string{rings}}, 1)
	clear(found)
	numbers(read(t, dir), p.Process.Pid, found)
	babeltrace(t, dir)
	for g, n := range each {
		for i := range n {
			if found[[2]int{g, i}] != 1 {
				t.Fatalf("event %d of goroutine %d is there %d times", i, g, found[[2]int{g, i}])
			}
		}
	}
}
