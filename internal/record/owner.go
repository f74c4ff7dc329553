package record

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// readsItself reports whether a process holds the reader's lock of its own ring, as sensor.Record does. It reads
// /proc/locks (proc_locks(5)) and is false on systems without it, and once the lock was given back.
func readsItself(path string, pid int) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	inode, ok := inodeOf(info)
	if !ok {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	return err == nil && holdsLock(locks, pid, inode)
}

// holdsLock looks for a lock by flock(2) in the text of /proc/locks: "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF". Lines
// of processes that wait have "->" behind the number.
func holdsLock(locks []byte, pid int, inode uint64) bool {
	of, file := strconv.Itoa(pid), fmt.Sprintf(":%d", inode)
	for line := range bytes.Lines(locks) {
		fields := bytes.Fields(line)
		if len(fields) >= 6 && string(fields[1]) == "FLOCK" && string(fields[4]) == of && bytes.HasSuffix(fields[5], []byte(file)) {
			return true
		}
	}
	return false
}
