package spill

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

var pageSize = int64(os.Getpagesize())

// allocate makes sure that a part of a file has room on the disk, and is zeros.
func allocate(f *os.File, at, length int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, at, length)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	zeros := make([]byte, 1<<20)
	for length > 0 {
		n := min(length, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], at); err != nil {
			return err
		}
		at, length = at+n, length-n
	}
	return nil
}

func mapFile(f *os.File, at, length int64) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), at, int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// unmapPages takes the pages of a mapped part from the process's memory. Their content stays: it is the file's.
func unmapPages(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

func unmap(b []byte) { _ = unix.Munmap(b) }

// discard gives the pages of an array, and their room on the disk, back to the system. Arrays begin at a page and end before one that is
// nobody else's.
func discard(b []byte) {
	if unix.Madvise(b, unix.MADV_REMOVE) != nil {
		unmapPages(b) // a file system without holes
	}
}

// residency tells how much of files is mapped into the process and in memory. See proc_pid_statm(5), field "shared".
type residency struct{ statm *os.File }

func openResidency() (r residency, err error) {
	r.statm, err = os.Open("/proc/self/statm")
	return r, err
}

// bytes returns 0 if the system does not tell.
func (r residency) bytes() int64 {
	var text [128]byte
	n, _ := r.statm.ReadAt(text[:], 0)
	fields := bytes.Fields(text[:n])
	if len(fields) < 3 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return pages * pageSize
}

func (r residency) close() error { return r.statm.Close() }

// ticks is a timer of the system's, which the poller of Go's runtime waits for. Go's own timers belong to one of its processors each, and
// wait while a page fault there waits for the disk: then others map pages that nobody unmaps. See timerfd_create(2).
type ticks struct{ file *os.File }

func newTicks(interval time.Duration) (*ticks, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	every := unix.NsecToTimespec(int64(interval))
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &ticks{os.NewFile(uintptr(fd), "timer")}, nil
}

// wait waits for the next tick; it is false once the ticks are stopped.
func (t *ticks) wait() bool {
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err == nil
}

func (t *ticks) stop() { t.file.Close() }
