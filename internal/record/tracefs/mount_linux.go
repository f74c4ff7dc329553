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

// mount is where tracefs is.
type mount struct {
	dir string
	fd  int // of a mount of our own, in no directory; -1 for one that is there
}

// findMount finds a tracefs that is mounted, or mounts one for this process alone: it hangs in no directory, is reached by
// its descriptor, and goes with the process however that ends.
func findMount() (*mount, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("kernel events: which file systems are mounted: %w", err)
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

// mountsOf returns where file systems of a type are mounted whole, from mountinfo:
//
//	36 35 0:12 / /sys/kernel/tracing rw,nosuid shared:15 - tracefs tracefs rw
func mountsOf(table, kind string) []string {
	var dirs []string
	for line := range strings.Lines(table) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if name, _, _ := strings.Cut(after, " "); ok && name == kind && len(fields) > 4 && fields[3] == "/" {
			dirs = append(dirs, unescape(fields[4]))
		}
	}
	return dirs
}

// unescape undoes \040 for a blank, and so on.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// unavailable says what about this machine keeps tracefs from being used.
func unavailable(doing string, err error) error {
	u := &Unavailable{Reason: kernel.NotSupported, Err: fmt.Errorf("%s: %w", doing, err)}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		u.Reason = kernel.NotPermitted
		u.Missing = "not permitted: run as root, outside of containers that forbid it and of kernels locked down"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		u.Missing = "this kernel has no tracefs: Linux 5.2 with CONFIG_FTRACE and CONFIG_EVENT_TRACING is needed"
	default:
		u.Missing = "this kernel's tracefs is not one that this program knows"
	}
	return u
}
