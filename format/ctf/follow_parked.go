package ctf

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"meridian/format/internal/files"
)

// maxIdle is how many looks may find nothing before a file is parked: a trace of many programs, or one whose files are rotated, has many that
// will never grow again. They would cost a descriptor, buffers and a generation of the metadata each.
const maxIdle = 100

// parked is what is left of the reader of a file that does not grow: some hundred bytes. The file is closed.
type parked struct {
	at        FilePosition
	modTime   time.Time // of the file
	firstStep int64
	cut       int64
	noTimes   bool
}

// parkIdle parks a file that does not grow.
func (f *Follower) parkIdle(file *followedFile, extended bool) {
	r := file.r
	if r == nil || extended || file.queued || r.pos < r.end || r.end < r.readable {
		file.idle = 0
		return
	}
	if file.idle++; file.idle%maxIdle == 0 && !file.gone && file.size == file.whole && r.next == file.whole {
		f.park(file)
	}
}

// park closes a file of which all is read. It stays open if it may have changed without a new time of change.
func (f *Follower) park(file *followedFile) {
	info, err := file.s.file.file.Stat()
	if err != nil || info.Size() != file.size || time.Since(info.ModTime()) < coarsestTime(info) {
		return
	}
	r := file.r
	p := &parked{at: f.positionOf(file), modTime: info.ModTime(), firstStep: r.firstStep, cut: r.cut, noTimes: r.noTimes}
	if file.s.file.Close() != nil {
		return // it is used on as far as it can be
	}
	f.freeCursor(file)
	file.parked, file.r, file.flaws = p, nil, nil
}

// look opens a file that was parked if it has changed.
func (f *Follower) look(file *followedFile) error {
	if file.gone {
		return nil // its name may be another's
	}
	info, err := files.Stat(file.s.Path)
	if err != nil || !os.SameFile(info, file.info) {
		return nil // which the directory tells
	}
	if info.Size() == file.size && info.ModTime().Equal(file.parked.modTime) {
		return nil
	}
	d, err := openDataFile(file.s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if info, err = d.file.Stat(); err != nil || !os.SameFile(info, file.info) {
		return errors.Join(err, d.Close())
	}
	if !file.parked.isIn(d) { // the system gave the number of a file that is gone to another
		name := file.name
		f.remove(file)
		return errors.Join(d.Close(), f.open(name))
	}
	f.unpark(file, d)
	return nil
}

// isIn reports whether a file begins like the one that is parked: their numbers are the same.
func (p *parked) isIn(d *dataFile) bool {
	var head headerCheck
	return p.at.Packet < 0 || head.of(d, 0, p.at.Next) == p.at.Head
}

// unpark reads a file on.
func (f *Follower) unpark(file *followedFile, d *dataFile) {
	p := file.parked
	file.s.file, file.parked = d, nil
	file.size, file.judged, file.searched, file.idle = d.size, -1, 0, 0
	f.resume(file, &p.at)
	r := file.r
	r.firstStep, r.cut, r.noTimes = p.firstStep, p.cut, r.noTimes || p.noTimes
}

// reporter returns a reader that can finish, and no more.
func (p *parked) reporter(file *followedFile) *Reader {
	r := &Reader{s: file.s, w: file.s.trace.w, live: file, Tally: p.at.Tally}
	r.window.size = file.s.file.size
	r.firstStep, r.noTimes, r.cut = p.firstStep, p.noTimes, p.cut
	return r
}
