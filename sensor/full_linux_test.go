package sensor

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"meridian/format/ctf"
	"meridian/trace"
)

// TestAFullDiskLeavesWholePacketsAndTheRing records into a disk of 256 KiB, as root, which alone may make one.
func TestAFullDiskLeavesWholePacketsAndTheRing(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip("a small disk can be made by root alone: ", err)
	}
	defer syscall.Unmount(disk, 0)
	event := NewEvent2[int64, string]("full", "event", "i", "text")
	dir := filepath.Join(disk, "trace")
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
	var w trace.Warnings
	tr, err := ctf.Open(dir, &w)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	source := tr.Events()
	n := 0
	for e := new(trace.Event); source.Next(e) == nil; n++ {
	}
	if tally := tr.Tally(); n < 1000 || tally.Broken != 0 {
		t.Errorf("%d events are readable, %+v, %q", n, tally, w.Lines())
	}
}
