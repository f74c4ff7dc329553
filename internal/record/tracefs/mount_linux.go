package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"meridian/internal/record/kernel"
)

// mount is a mounted tracefs.
type mount struct {
	dir string
	fd  int // of a detached mount of our own, else -1
}

// findMount finds a tracefs that is mounted. Without one it mounts one for this process alone (fsmount(2)): that mount is
// attached to no directory, is reached by its descriptor, and is released when the process ends in whatever way.
func findMount() (*mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("kernel events: reading the mounted file systems: %w", err)
	}
	for _, dir := range mountsOf(string(table), "tracefs") {
		if _, err := os.Stat(dir + "/instances"); err == nil {
			return &mount{dir: dir, fd: -1}, nil
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
		return nil, unavailable("mounting tracefs", err)
	}
	return &mount{dir: fmt.Sprintf("/proc/self/fd/%d", fd), fd: fd}, nil
}

func (m *mount) close() error {
	if m.fd < 0 {
		return nil
	}
	return unix.Close(m.fd)
}

// mountsOf returns where file systems of a type are mounted with their root, by mountinfo:
//
//	36 35 0:12 / /sys/kernel/tracing rw,nosuid shared:15 - tracefs tracefs rw
func mountsOf(table, fsType string) []string {
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

// unavailable explains why this machine's tracefs cannot be used.
func unavailable(doing string, err error) error {
	u := &Unavailable{Reason: kernel.NotSupported, Err: fmt.Errorf("%s: %w", doing, err)}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		u.Reason = kernel.NotPermitted
		u.Missing = "not permitted: run as root; containers and kernel lockdown may forbid it even then"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		u.Missing = "this kernel has no tracefs: Linux 5.2 with CONFIG_FTRACE and CONFIG_EVENT_TRACING is needed"
	default:
		u.Missing = "this kernel's tracefs has an unknown layout"
	}
	return u
}
