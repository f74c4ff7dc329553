package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// long is longer than any test waits.
const long = time.Minute

// wait waits for a word, and fails if only the longest pause ended it.
func wait(t *testing.T, w *Watcher) {
	t.Helper()
	begin := time.Now()
	if err := w.Wait(t.Context(), 0, long); err != nil {
		t.Fatal(err)
	}
	if time.Since(begin) >= long {
		t.Error("nothing was noticed")
	}
}

func newWatcher(t *testing.T) *Watcher {
	w := New()
	if w.notify == nil {
		t.Skip("this system gives no notice of changes")
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestGrowthOfAFileIsNoticed(t *testing.T) {
	dir := t.TempDir()
	w := newWatcher(t)
	w.Add(dir)
	w.watchNew()
	f, err := os.Create(filepath.Join(dir, "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3 {
		if _, err := f.WriteString("more"); err != nil {
			t.Fatal(err)
		}
		wait(t, w)
	}
}

func TestGrowthBeforeTheFirstWaitIsSeenByIt(t *testing.T) {
	dir := t.TempDir()
	w := newWatcher(t)
	w.Add(dir)
	if err := os.WriteFile(filepath.Join(dir, "stream"), []byte("more"), 0o600); err != nil {
		t.Fatal(err)
	}
	wait(t, w)
}

func TestDirectoryThatComesLaterOrAgainIsWatched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	w := newWatcher(t)
	w.Add(dir)
	for range 2 {
		for _, d := range []string{dir, filepath.Join(dir, "packets")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := w.Wait(t.Context(), 0, time.Millisecond); err != nil { // sees it
				t.Fatal(err)
			}
			w.drain()
			if err := os.WriteFile(filepath.Join(d, "f"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wait(t, w)
			w.drain()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for w.wanted[dir] { // until the word of the removal has come
			if err := w.Wait(t.Context(), 0, long); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWaitEndsAfterTheLongestPauseWithTheContextAndNotBeforeTheShortest(t *testing.T) {
	dir := t.TempDir()
	for name, w := range map[string]*Watcher{"with notice": New(), "without": {wanted: map[string]bool{}}} {
		w.Add(dir)
		begin := time.Now()
		if err := w.Wait(t.Context(), 2*time.Millisecond, 5*time.Millisecond); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(begin); d < 2*time.Millisecond {
			t.Errorf("%s: ended after %v", name, d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Wait(ctx, time.Hour, 2*time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWakeEndsTheWaitThatGoesOnOrTheNextOne(t *testing.T) {
	for name, w := range map[string]*Watcher{"notices": newWatcher(t), "no notices": {wanted: map[string]bool{}, woken: make(chan struct{}, 1)}} {
		t.Run(name, func(t *testing.T) {
			w.Wake()
			w.Wake()
			wait(t, w)
			begin := time.Now()
			if err := w.Wait(t.Context(), 0, time.Millisecond); err != nil || time.Since(begin) < time.Millisecond {
				t.Errorf("two words before a wait end two: error %v", err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				wait(t, w)
			}()
			w.Wake()
			<-ended
		})
	}
}

func TestGrowthDuringASleepIsSeenByTheNextWait(t *testing.T) {
	dir := t.TempDir()
	w := newWatcher(t)
	w.Add(dir)
	w.watchNew()
	f, err := os.Create(filepath.Join(dir, "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	wait(t, w) // for the file
	if err := w.Sleep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for w.drain() { // what came before the watches were gone
	}
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	if list := w.notify.WatchList(); len(list) > 0 {
		t.Errorf("%v is watched during a sleep", list)
	}
	wait(t, w)
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	wait(t, w)
}

func TestGrownTakesTheWordsThatAreThere(t *testing.T) {
	dir := t.TempDir()
	w := newWatcher(t)
	w.Add(dir)
	wait(t, w) // begins to watch
	if w.Grown() {
		t.Error("a directory has grown to which nothing was written")
	}
	if err := os.WriteFile(filepath.Join(dir, "stream"), []byte("more"), 0o600); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); !w.Grown(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > long {
			t.Fatal("growth is not noticed")
		}
	}
}
