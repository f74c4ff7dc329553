//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// readyFile returns the file of a descriptor that whoever started this process left open for it, nil if there is none that can be
// written. Descriptors of the Go runtime's own, for example of epoll, are no files, pipes, sockets or devices.
func readyFile(fd int) *os.File {
	var stat unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY || unix.Fstat(fd, &stat) != nil {
		return nil
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFREG, unix.S_IFCHR:
	default:
		return nil
	}
	unix.CloseOnExec(fd) // a command that is recorded does not get it
	return os.NewFile(uintptr(fd), "--ready-fd")
}
