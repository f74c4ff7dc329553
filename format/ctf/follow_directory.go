package ctf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// directoryState is what was last seen of the directory.
type directoryState struct {
	info    fs.FileInfo // nil if it was not there
	since   time.Time   // when it was first seen like that
	settled bool        // nothing can have changed in it without another time of change
}

// coarsestTime is the longest time in which a directory may change twice without a new time of change: that of file systems which
// store seconds, of which FAT's are of two; and of a tick of the kernel for others.
func coarsestTime(info fs.FileInfo) time.Duration {
	if info.ModTime().Nanosecond() == 0 {
		return 2 * time.Second
	}
	return 100 * time.Millisecond
}

// scan reads the directory if that may have changed, and opens the files that are new.
func (f *Follower) scan() error {
	now := time.Now()
	info, err := os.Stat(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.directory = directoryState{}
		for _, file := range f.named {
			f.remove(file)
		}
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory, which a trace is", f.dir)
	}
	d := &f.directory
	if d.info == nil || !os.SameFile(d.info, info) || !d.info.ModTime().Equal(info.ModTime()) {
		*d = directoryState{info: info, since: now}
	}
	if d.settled {
		return nil
	}
	names, err := streamFiles(f.dir, nil)
	if err != nil {
		return err
	}
	if err := f.compare(names); err != nil {
		return err
	}
	d.settled = now.Sub(d.since) > coarsestTime(info)
	return nil
}

// compare opens the files that are new and notes those that are gone.
func (f *Follower) compare(names []string) error {
	var errs []error
	there := make(map[string]bool, len(names))
	var added []string
	for _, name := range names {
		there[name] = true
		file := f.named[name]
		if file == nil {
			added = append(added, name)
			continue
		}
		info, err := os.Stat(filepath.Join(f.dir, name))
		if err != nil || !os.SameFile(info, file.info) {
			f.remove(file)
			added = append(added, name)
		}
	}
	for name, file := range f.named {
		if !there[name] {
			f.remove(file)
		}
	}
	for _, name := range added {
		if err := f.open(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// remove notes that a file is no longer in the directory. It stays open until it was read to its end.
func (f *Follower) remove(file *followedFile) {
	file.gone = true
	delete(f.named, file.name)
}

// open opens a file that is new in the directory, unless it is one that was renamed.
func (f *Follower) open(name string) error {
	path := filepath.Join(f.dir, name)
	d, err := openDataFile(path)
	if err != nil {
		return err
	}
	info, err := d.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, d.Close())
	}
	if f.Files != nil {
		f.Files.Opened(name)
	}
	// Those that vanished with the directory are still open: it may be one of a file system that was mounted anew.
	same := func(old *followedFile) bool {
		return old.gone && os.SameFile(old.info, info) && (old.parked == nil || old.parked.isIn(d))
	}
	if i := slices.IndexFunc(f.files, same); i >= 0 {
		file := f.files[i]
		file.gone, file.measured, file.name, file.s.Path = false, 0, name, path
		f.named[name] = file
		return d.Close()
	}
	d.size = 0 // what the reader may see
	file := &followedFile{name: name, info: info, s: &Stream{Path: path, trace: f.t, file: d}, cursor: -1, judged: -1}
	f.named[name] = file
	f.files = append(f.files, file)
	return nil
}

// Vanished says that the directory was not there at the last Refresh. What was there is still read to its end.
func (f *Follower) Vanished() bool { return f.directory.info == nil }

// Moved says that the directory has another path now. It is followed there, from where it was read to.
func (f *Follower) Moved(dir string) {
	f.dir, f.t.Dir = dir, dir
	f.directory, f.metadata.settled = directoryState{}, false
	for _, file := range f.files {
		path := filepath.Join(dir, file.name)
		if info, err := os.Stat(path); err == nil && os.SameFile(info, file.info) {
			file.gone, file.measured, file.s.Path = false, 0, path
			f.named[file.name] = file
		}
	}
}
