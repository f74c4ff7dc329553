//go:build linux || darwin || freebsd || netbsd || openbsd

package ring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyTheUsersOwnFilesOfMode0600AreBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stat := func() os.FileInfo {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	me := int(stat().Sys().(*syscall.Stat_t).Uid)
	other := me + 1
	if me != 0 {
		if err := madeBy(me, stat()); err != nil {
			t.Error(err)
		}
	}
	if err := madeBy(other, stat()); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o660, 0o644, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := madeBy(max(me, 1), stat()); err == nil {
			t.Errorf("mode %v is believed", mode)
		}
		if err := madeBy(0, stat()); err != nil {
			t.Error("root:", err)
		}
	}
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := madeBy(0, stat()); err == nil {
		t.Error("a pipe is believed")
	}
	if _, err := Open(path); err == nil {
		t.Error("a pipe was opened") // and did not wait for its other end
	}
}

func TestRingThatIsBeingMadeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "half.ring")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, 1 << 16} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrUnready) {
			t.Errorf("%d bytes of zeros: %v", size, err)
		}
	}
	if err := os.WriteFile(path, []byte("no ring"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || errors.Is(err, ErrUnready) {
		t.Errorf("seven bytes: %v", err)
	}
}

func TestWriterIsAliveAsLongAsItsProcess(t *testing.T) {
	start, err := started(os.Getpid())
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("cannot read when this process started: it needs Linux with /proc mounted; without it a process is known by its number alone")
	}
	if err != nil || start == 0 {
		t.Fatal(start, err)
	}
	if !alive(os.Getpid(), start) || !alive(os.Getpid(), 0) {
		t.Error("this process is dead")
	}
	if alive(os.Getpid(), start+1) {
		t.Error("a later process with this number is taken for the writer")
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if alive(pid, start) || alive(pid, 0) {
			t.Errorf("process %d is alive", pid)
		}
	}
}

// TestFullFileSystemCostsEventsAndNotTheProgram: the pages of a sub-buffer are asked for before it is entered.
func TestFullFileSystemCostsEventsAndNotTheProgram(t *testing.T) {
	w, open := inMemory(t, Options{Shards: 1, Buffers: 4, BufferSize: minBuffer})
	registered(t, w, "step")
	full, asked := true, 0
	w.reserve = func(at, size uint64) error {
		asked++
		if at != w.data(0) || size != minBuffer {
			t.Errorf("asked for %d bytes at %d", size, at)
		}
		if full {
			return syscall.ENOSPC
		}
		return nil
	}
	s := w.Shard(0)
	for range 3000 {
		if emit(s, 0, 40, 1) {
			t.Fatal("an event was written where there are no pages")
		}
	}
	if asked != 3 { // an event that is dropped is no reason for a system call each time
		t.Errorf("asked %d times", asked)
	}
	full = false
	dropped := uint64(3000)
	for !emit(s, 0, 40, 2) {
		dropped++
	}
	r := open()
	if got := drained(t, r); len(got[0]) != 1 || got[0][0] != 2 || r.Discarded(0) != dropped {
		t.Errorf("read %v, %d of %d drops counted", got, r.Discarded(0), dropped)
	}
}

// TestWriterIsNotDeadBecauseNobodyCanLook: its ring would be taken and removed.
func TestWriterIsNotDeadBecauseNobodyCanLook(t *testing.T) {
	start, err := started(os.Getpid())
	if err != nil {
		t.Skipf("cannot read when this process started: %v; it needs Linux with /proc mounted", err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, blind := started(os.Getpid())
	lives := alive(os.Getpid(), start)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if blind == nil || !lives {
		t.Errorf("alive: %t, where its start cannot be read: %v", lives, blind)
	}
}
