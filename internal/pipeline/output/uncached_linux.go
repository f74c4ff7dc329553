package output

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// uncachedWriter writes a file that may be larger than the page cache should hold: behind the first cachedBytes its
// pages leave the cache as soon as they are on the disk (RWF_DONTCACHE, Linux 6.14, include/uapi/linux/fs.h). The output
// then displaces nothing that other programs need, and the kernel allocates no memory of the file's length, which costs
// more than the copying where a hypervisor has to provide it first.
type uncachedWriter struct {
	file    *os.File
	written int64
	plain   bool // the kernel or the file system does not support RWF_DONTCACHE
}

// cachedBytes of an output stay in the page cache: a small file is likely to be read next.
const cachedBytes = 32 << 20

func newUncachedWriter(f *os.File) io.Writer { return &uncachedWriter{file: f} }

func (w *uncachedWriter) Write(p []byte) (int, error) {
	done := 0
	for !w.plain && w.written >= cachedBytes && done < len(p) {
		n, err := unix.Pwritev2(int(w.file.Fd()), [][]byte{p[done:]}, -1, unix.RWF_DONTCACHE)
		switch {
		case err == unix.EINTR:
		case err != nil || n <= 0:
			// Whatever the cause, the plain write below reports it with the file's name.
			w.plain = true
		default:
			done += n
			w.written += int64(n)
		}
	}
	if done == len(p) {
		return done, nil
	}
	n, err := w.file.Write(p[done:])
	w.written += int64(n)
	return done + n, err
}
