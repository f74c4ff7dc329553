package ring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// started returns when a process was started, in clock ticks since boot, which tells it from a later one with its number.
// A process that is dead and only waits for its parent is not there any more (fs.ErrNotExist).
func started(pid int) (uint64, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if errors.Is(err, syscall.ESRCH) {
		return 0, fs.ErrNotExist
	}
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold blanks and parentheses of its own.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("%s has %d fields behind the name, and the start time is the 20th", path, len(fields))
	}
	if state := string(fields[0]); state == "Z" || state == "X" {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

// alive says whether the process that wrote a ring still runs. Where there is no /proc, any process of that number will do.
func alive(pid int, start uint64) bool {
	if pid <= 0 {
		return false
	}
	if start == 0 {
		return signalled(pid)
	}
	now, err := started(pid)
	if err == nil {
		return now == start
	}
	// If /proc cannot be read, for want of a file descriptor for example, the program must not be taken for dead: its ring would be
	// removed.
	return !errors.Is(err, fs.ErrNotExist) && signalled(pid)
}

// signalled says whether there is a process of that number.
func signalled(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
