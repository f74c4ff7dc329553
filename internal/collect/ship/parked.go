package ship

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"meridian/internal/collect/wire"
)

// A file that servers have and that does not grow is parked: it is closed. A host where programs come and go has many such.
const (
	parkAfter = 5 * time.Second // that it did not grow and was not read
	// sureAfter is how long after its last change a file may be parked: a change within a tick of the system's clock is not seen by the time of change.
	sureAfter = 2 * time.Second
	headBytes = 256 // tell a file from others: a packet's head has its time and its stream
)

// errOther is that the file under a name is not the one that was there.
var errOther = fmt.Errorf("another file was put in its place: %w", fs.ErrNotExist)

// close closes the file, unless it is.
func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// unreadable reports whether nothing can be read of a file any more.
func (f *file) unreadable() bool { return f.gone && f.f == nil }

// park closes files that servers have and that did not grow for long.
func (s *Shipper) park(now time.Time) {
	if !s.plan.opened(s.o.Replicas) {
		return
	}
	for _, f := range s.d.order {
		if f.f == nil || f.gone || f.whole == 0 || f.size != f.whole || now.Sub(f.active) < parkAfter || s.wanted(f) {
			continue
		}
		info, err := f.f.Stat()
		if err != nil || info.Size() != f.size || now.Sub(info.ModTime()) < sureAfter {
			continue
		}
		head, err := headOf(f.f, f.size)
		if err != nil {
			continue
		}
		f.info, f.head = info, head
		_ = f.close() // it was read only
	}
}

// wanted reports whether a server lacks something of a file.
func (s *Shipper) wanted(f *file) bool {
	for _, p := range s.plan.peers {
		if p.state != open {
			continue
		}
		if at := p.of(f.name); at.have < f.whole || at.sent < f.whole || !at.cutting.IsZero() {
			return true
		}
	}
	return false
}

func headOf(r io.ReaderAt, size int64) (uint32, error) {
	b := make([]byte, min(size, headBytes))
	if _, err := r.ReadAt(b, 0); err != nil {
		return 0, err
	}
	return wire.Sum(b), nil
}

// reader returns the file to be read, which is opened if it is parked.
func (f *file) reader() (*os.File, error) {
	if f.f != nil {
		return f.f, nil
	}
	if f.gone {
		return nil, fs.ErrNotExist
	}
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err == nil && !os.SameFile(info, f.info) {
		err = errOther
	}
	if err == nil {
		// The system may give the number of a file that is gone to another.
		head, failed := headOf(opened, min(f.size, info.Size()))
		if failed != nil {
			err = failed
		} else if info.Size() >= min(f.size, headBytes) && head != f.head {
			err = errOther
		}
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	f.f, f.info, f.active = opened, info, time.Now()
	return opened, nil
}

// rejoin opens a parked file again if it has changed. same is false if it is another.
func (f *file) rejoin(now fs.FileInfo) (same bool, err error) {
	if now.Size() == f.size && now.ModTime().Equal(f.info.ModTime()) {
		return true, nil
	}
	switch _, err = f.reader(); {
	case errors.Is(err, errOther):
		return false, nil
	case errors.Is(err, fs.ErrNotExist): // the next scan finds it gone
		return true, nil
	}
	return true, err
}
