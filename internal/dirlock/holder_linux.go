package dirlock

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Holders returns the processes of which one has locked a directory, if the kernel tells: /proc/locks, proc_locks(5). Device numbers are not
// compared, since btrfs and overlayfs have others there than stat(2) has. So other processes may be among them, which have locked a file of the same
// inode number on another file system: ask each whether it is the one that is meant. The kernel gives the file in pages, so while other locks come
// and go, one may be left out: ask again.
func Holders(dir string) (pids []int) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	return holdersIn(locks, stat.Ino)
}

// holdersIn looks for locks by flock(2) on inodes of a number: "1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE 0 EOF". Lines of processes that wait have
// "->" behind the number.
func holdersIn(locks []byte, inode uint64) (pids []int) {
	suffix := []byte(":" + strconv.FormatUint(inode, 10))
	for line := range bytes.Lines(locks) {
		f := bytes.Fields(line)
		if len(f) < 6 || string(f[1]) != "FLOCK" || !bytes.HasSuffix(f[5], suffix) {
			continue
		}
		if pid, err := strconv.Atoi(string(f[4])); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
