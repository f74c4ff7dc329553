package dirlock

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Holder returns the process that has locked a directory, if the kernel tells: /proc/locks, proc_locks(5). Device numbers are not compared, since
// btrfs and overlayfs have others there than stat(2) has; so ask the process whether it is the one that is meant.
func Holder(dir string) (pid int, known bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, false
	}
	return holderIn(locks, stat.Ino)
}

// holderIn looks for a lock by flock(2) on an inode: "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF". Lines of processes that wait have
// "->" behind the number.
func holderIn(locks []byte, inode uint64) (pid int, known bool) {
	suffix := []byte(":" + strconv.FormatUint(inode, 10))
	for line := range bytes.Lines(locks) {
		f := bytes.Fields(line)
		if len(f) < 6 || string(f[1]) != "FLOCK" || !bytes.HasSuffix(f[5], suffix) {
			continue
		}
		if pid, err := strconv.Atoi(string(f[4])); err == nil && pid > 0 {
			return pid, true
		}
	}
	return 0, false
}
