package ring

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// watchFiles returns a file from which the names of new files in directories can be read (inotify(7)), nil where there is no
// watch left: a user may have 128 instances.
func watchFiles(dirs []string) *os.File {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	some := false
	for _, d := range dirs {
		_, err := unix.InotifyAddWatch(fd, d, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
		some = some || err == nil
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if !some {
		f.Close()
		return nil
	}
	return f
}

// namesRing says whether messages name a file of a ring, or say that some messages were dropped.
func namesRing(b []byte) bool {
	for len(b) >= unix.SizeofInotifyEvent {
		mask, length := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		if mask&unix.IN_Q_OVERFLOW != 0 {
			return true
		}
		b = b[unix.SizeofInotifyEvent:]
		name, _, _ := bytes.Cut(b[:min(length, len(b))], []byte{0})
		if fileName.Match(name) {
			return true
		}
		b = b[min(length, len(b)):]
	}
	return false
}
