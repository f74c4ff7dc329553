package sensor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"meridian/sensor/internal/testtrace"
	"meridian/sensor/ring"
)

// smallDisk makes a disk of 256 KiB, as root, who alone may.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skipf("cannot mount a tmpfs of 256 KiB: %v; it needs root (CAP_SYS_ADMIN)", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) })
	return disk
}

func TestAFullDiskLeavesWholePacketsAndTheRing(t *testing.T) {
	event := NewEvent2[int64, string]("full", "event", "i", "text")
	dir := filepath.Join(smallDisk(t), "trace")
	stop, err := Record(dir, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(20_000) {
		event.Emit(i, "some text that fills the disk")
	}
	path := Ring()
	err = stop()
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), path) {
		t.Errorf("stop says %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the ring is gone: %v", err)
	}
	if n := len(testtrace.Read(t, dir)); n < 1000 {
		t.Errorf("%d events are readable", n)
	}
}

func TestADiskTooFullForTheMetadataLeavesWhatWasThere(t *testing.T) {
	dir := filepath.Join(smallDisk(t), "trace")
	var info ring.Info
	info.Clock.Frequency = 1e9
	f, err := newTraceFile(dir, info, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.writeMetadata(nil, ""); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.writeMetadata(nil, strings.Repeat(" ", 300<<10)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the metadata are written: %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil || string(after) != string(before) {
		t.Errorf("%v, %q", err, after)
	}
	// Any other file would be taken for a stream.
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", err, entries)
	}
}
