package record

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/testneed"
)

func TestARequestWithoutTheRightToWriteSaysWhichRightItNeeds(t *testing.T) {
	testneed.Root(t, "acting as another user")
	parent, err := os.MkdirTemp("", "meridian-request-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "trace")
	_, end := recorded(t, Options{Dir: dir, Rings: []string{t.TempDir()}, Keep: Keep{Time: time.Hour}})
	defer end()
	for mode, want := range map[os.FileMode]string{
		0o755: "snapshot: a request needs the right to write in " + dir + ": ask as the recorder's user or as root",
		0o700: "snapshot: a request needs the right to read and to write in " + dir + ": ask as the recorder's user or as root",
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			runtime.LockOSThread() // which ends with the goroutine: the user of files is the thread's
			if err := unix.Setfsuid(65534); err != nil {
				failed <- err
				return
			}
			_, err := RequestSnapshot(context.Background(), dir)
			failed <- err
		}()
		if err := <-failed; err == nil || err.Error() != want {
			t.Errorf("mode %v: %v, want %s", mode, err, want)
		}
	}
}
