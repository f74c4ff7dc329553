// Package watch waits until directories grow. In go their paths, out comes a word that something may have changed, so that followers look
// again:
//
//	directory written to --> inotify, kqueue (fsnotify) --.
//	none of these, or a directory that is not there yet --+--> every so often --> Wait returns
//
// A word too many costs one look, so all that happens between two calls of Wait is one word. Where the system gives no
// notice, and for file systems that give none (NFS), Wait returns after its longest pause.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watcher watches directories.
type Watcher struct {
	notify *fsnotify.Watcher // nil where the system has none
	wanted map[string]bool   // directories to watch; true: is watched
	woken  chan struct{}     // holds one word of [Watcher.Wake]
}

// New returns a watcher of no directory. Where the system gives no notice of changes, it is one that only pauses.
func New() *Watcher {
	w := NewPolling()
	if n, err := fsnotify.NewWatcher(); err == nil {
		w.notify = n
	}
	return w
}

// NewPolling returns a watcher of no directory that gets no notice from the system: Wait returns after its longest pause, or by Wake.
func NewPolling() *Watcher {
	return &Watcher{wanted: make(map[string]bool), woken: make(chan struct{}, 1)}
}

// Add watches a directory, and those in it that are called "packets". The directory need not be there yet.
func (w *Watcher) Add(dir string) {
	for _, d := range []string{dir, filepath.Join(dir, "packets")} {
		if _, known := w.wanted[d]; !known {
			w.wanted[d] = false
		}
	}
}

// watchNew watches the directories that have appeared, and reports whether there is one. One that was removed is watched again if it comes back.
func (w *Watcher) watchNew() (any bool) {
	for dir, watched := range w.wanted {
		if watched {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			w.wanted[dir] = w.notify.Add(dir) == nil
			any = any || w.wanted[dir]
		}
	}
	return any
}

// Wake has Wait return as if a directory had grown: the one that goes on, or else the next. Any goroutine may call it.
func (w *Watcher) Wake() {
	select {
	case w.woken <- struct{}{}:
	default: // one is there
	}
}

// Wait returns when a directory may have grown or Wake was called, after at most the longest pause, and not before the shortest has
// passed: the caller's looks are so far apart however fast the directories grow. It returns after the shortest pause where it begins to watch
// a directory: what grew since the caller's last look, and before the watch, gave no word. Its error is that of ctx.
func (w *Watcher) Wait(ctx context.Context, shortest, longest time.Duration) error {
	if err := pause(ctx, shortest); err != nil {
		return err
	}
	var events <-chan fsnotify.Event // nil where the system has no notices: nothing comes of it
	var faults <-chan error
	if w.notify != nil {
		events, faults = w.notify.Events, w.notify.Errors
		fresh := w.watchNew()
		if w.drain() || fresh {
			return ctx.Err()
		}
	}
	timer := time.NewTimer(max(longest-shortest, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.woken:
	case e := <-events:
		w.note(e)
	case err := <-faults: // of a queue that overflowed: something changed
		if err != nil && !errors.Is(err, fsnotify.ErrEventOverflow) && !errors.Is(err, fs.ErrNotExist) {
			return pause(ctx, shortest)
		}
	case <-timer.C:
	}
	return nil
}

// Sleep pauses and watches nothing meanwhile: for directories that are known to grow faster than the caller looks. Each of their words would
// wake the process and tell nothing. The next Wait returns after its shortest pause. Its error is that of ctx.
func (w *Watcher) Sleep(ctx context.Context, d time.Duration) error {
	w.unwatch()
	return pause(ctx, d)
}

// unwatch takes the watches away.
func (w *Watcher) unwatch() {
	for dir, watched := range w.wanted {
		if watched {
			_ = w.notify.Remove(dir) // a directory that was removed has no watch any more
			w.wanted[dir] = false
		}
	}
}

// Grown reports whether there is a word already, and takes it: a directory has grown since the last Wait. It is false where the system gives no notice.
func (w *Watcher) Grown() bool { return w.notify != nil && w.drain() }

// drain takes the words that are there already.
func (w *Watcher) drain() (any bool) {
	for {
		select {
		case e := <-w.notify.Events:
			w.note(e)
			any = true
		case <-w.notify.Errors:
			any = true
		default:
			return any
		}
	}
}

// note forgets the watch of a directory that was removed or renamed.
func (w *Watcher) note(e fsnotify.Event) {
	if _, is := w.wanted[e.Name]; is && e.Has(fsnotify.Remove|fsnotify.Rename) {
		w.wanted[e.Name] = false
	}
}

// Close ends the watching.
func (w *Watcher) Close() error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
