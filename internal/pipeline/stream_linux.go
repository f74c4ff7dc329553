package pipeline

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// streamed writes a file that may be larger than anybody will read at once: beyond the first megabytes its pages leave the
// page cache as soon as they are on the disk (RWF_DONTCACHE, Linux 6.14), so that the output neither pushes out what
// other programs need nor asks the kernel for as much new memory as the file is long. That memory costs more than the
// copying where it must first be got from a hypervisor.
type streamed struct {
	file    *os.File
	written int64
	plain   bool // the kernel or the file system knows no such writes
}

// cached is how much of an output is left in the page cache, bytes: whoever made a small one looks at it next.
const cached = 32 << 20

func newStreamed(f *os.File) io.Writer { return &streamed{file: f} }

func (s *streamed) Write(p []byte) (int, error) {
	done := 0
	for !s.plain && s.written >= cached && done < len(p) {
		n, err := unix.Pwritev2(int(s.file.Fd()), [][]byte{p[done:]}, -1, unix.RWF_DONTCACHE)
		switch {
		case err == unix.EINTR:
		case err != nil || n <= 0:
			// Whatever is wrong, the plain write below knows how to say it.
			s.plain = true
		default:
			done += n
			s.written += int64(n)
		}
	}
	if done == len(p) {
		return done, nil
	}
	n, err := s.file.Write(p[done:])
	s.written += int64(n)
	return done + n, err
}
