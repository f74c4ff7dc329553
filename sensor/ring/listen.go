package ring

import (
	"errors"
	"os"
	"time"
)

// A fast program fills its shards before a reader that looks for rings now and then has found it. A reader that runs already
// therefore says so in advance, and is told of new rings:
//
//	reader: Listen: shared lock on the directory ------------------- Created: Open the new ring -->
//	writer:                 Create: is the directory locked? the ring expects a reader: spare shards are used from the first event on
//
// The lock is that of flock(2), which the kernel ends with the reader at the latest: no file is left behind. Any number of
// readers may hold it. A writer asks once, while it makes its ring, and never again.

// Listener is a reader of rings that programs will make.
type Listener struct {
	dirs    []*os.File // locked
	watch   *os.File   // of the directories; nil where the system has no such
	created chan struct{}
}

// lockTries is how often Listen asks for a directory's lock, a millisecond apart. A writer that asks whether it is taken has
// it for some microseconds.
const lockTries = 20

// Listen announces a reader in directories, or without any in those where Create makes rings. Programs that make a ring there
// until Close go on in spare shards as if they were being read, so the caller is to read them soon. A directory that cannot be
// locked is left out: its programs use spare shards when they are read.
func Listen(where ...string) *Listener {
	if len(where) == 0 {
		where = dirs()
	}
	l := &Listener{created: make(chan struct{}, 1)}
	for _, d := range where {
		f, err := os.Open(d)
		if err != nil {
			continue
		}
		l.dirs = append(l.dirs, f)
		for range lockTries {
			if !errors.Is(shareFile(f), ErrBusy) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	l.watch = watchFiles(where)
	if l.watch != nil {
		go l.wait(l.watch)
	}
	return l
}

// wait ends when the watch is closed.
func (l *Listener) wait(watch *os.File) {
	for b := make([]byte, 1<<14); ; {
		n, err := watch.Read(b)
		if err != nil {
			return
		}
		if !namesRing(b[:n]) {
			continue
		}
		select {
		case l.created <- struct{}{}:
		default: // it is known already
		}
	}
}

// Created returns a channel with a value when rings have been made. Open may say for some milliseconds that they are being made
// ([ErrUnready]). A system without such messages (inotify) sends none, and one may be missed where the system has no memory: look
// for rings from time to time as well (Find).
func (l *Listener) Created() <-chan struct{} { return l.created }

// Close ends the announcement.
func (l *Listener) Close() error {
	var errs []error
	for _, f := range l.dirs {
		unlockFile(f)
		errs = append(errs, f.Close())
	}
	l.dirs = nil
	if l.watch != nil {
		errs = append(errs, l.watch.Close())
		l.watch = nil
	}
	return errors.Join(errs...)
}

// expected says whether a reader listens in a directory. Another writer that asks just then is taken for one, which costs
// memory at most.
func expected(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	err = lockFile(f)
	unlockFile(f)
	return errors.Is(err, ErrBusy)
}
