package spill

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const supported = true

var pageSize = int64(os.Getpagesize())

// makeRoom makes sure that a part of a file has room on the disk.
func makeRoom(f *os.File, at, length int64) error {
	if made, err := fallocate(f, at, length); made || err != nil {
		return err
	}
	return writeZeros(f, at, length)
}

// allocate makes sure that a part of a file has room on the disk, and is zeros, written in pieces.
func allocate(f *os.File, at, length int64) error {
	if _, err := fallocate(f, at, length); err != nil {
		return err
	}
	return writeZeros(f, at, length)
}

// fallocate makes room for a part of a file; false where the system cannot without writing it.
func fallocate(f *os.File, at, length int64) (made bool, err error) {
	err = unix.Fallocate(int(f.Fd()), 0, at, length)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return err == nil, err
}

func writeZeros(f *os.File, at, length int64) error {
	var zeros [piece]byte
	return writePieces(f, at, length, func(from, to int64) []byte { return zeros[:to-from] })
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
