// Package tracing finds the tracefs of this machine: the directory by which the kernel describes its tracepoints and records
// them by ftrace. Where none is mounted, it mounts one for this process alone, which no directory shows. Source:
// Documentation/trace/ftrace.rst, fsmount(2).
package tracing

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is a mounted tracefs.
type Mount struct {
	Dir string
	fd  int // of a detached mount of our own, else -1
}

// Find finds a tracefs that is mounted. Without one it mounts one for this process alone (fsmount(2)): that mount is
// attached to no directory, is reached by its descriptor, and is released when the process ends in whatever way.
func Find() (*Mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounted file systems: %w", err)
	}
	for _, dir := range MountsOf(string(table), "tracefs") {
		if _, err := os.Stat(dir + "/instances"); err == nil {
			return &Mount{Dir: dir, fd: -1}, nil
		}
	}
	context, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err == nil {
		defer unix.Close(context)
		err = unix.FsconfigCreate(context)
	}
	fd := -1
	if err == nil {
		fd, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("mounting tracefs: %w", err)
	}
	return &Mount{Dir: fmt.Sprintf("/proc/self/fd/%d", fd), fd: fd}, nil
}

// Own reports whether the mount is this process's alone.
func (m *Mount) Own() bool { return m.fd >= 0 }

// Close releases a mount of our own.
func (m *Mount) Close() error {
	if m.fd < 0 {
		return nil
	}
	return unix.Close(m.fd)
}

// TracepointID returns the number by which perf_event_open(2) knows a tracepoint, of a name such as "net/net_dev_queue".
func (m *Mount) TracepointID(name string) (uint64, error) {
	text, err := os.ReadFile(m.Dir + "/events/" + name + "/id")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// MountsOf returns where file systems of a type are mounted with their root, by mountinfo:
//
//	36 35 0:12 / /sys/kernel/tracing rw,nosuid shared:15 - tracefs tracefs rw
func MountsOf(table, fsType string) []string {
	var dirs []string
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if name, _, _ := strings.Cut(after, " "); ok && name == fsType && len(fields) > 4 && fields[3] == "/" {
			dirs = append(dirs, unescape(fields[4]))
		}
	}
	return dirs
}

// unescape decodes mountinfo's octal escapes.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
