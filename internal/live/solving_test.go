package live

import (
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/live/watch"
	"meridian/trace"
)

func TestEndOfARoundWakesTheSession(t *testing.T) {
	dir := t.TempDir()
	var o Options
	for _, host := range []string{"a", "b"} {
		o.Inputs = append(o.Inputs, Input{Host: host, Dir: filepath.Join(dir, host)})
	}
	var w trace.Warnings
	s, err := New(o, &w)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	s.watcher = watch.New()
	defer func() { _ = s.watcher.Close() }()
	s.beside = true
	if err := s.round(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if s.solving == nil {
		t.Fatal("no round was begun")
	}
	const long = time.Minute
	begin := time.Now()
	if err := s.watcher.Wait(t.Context(), 0, long); err != nil || time.Since(begin) >= long {
		t.Fatalf("error %v; only the longest pause ended the wait", err)
	}
	select {
	case <-s.solving.done:
	default:
		t.Error("the session was woken before its round was solved")
	}
}
