package store_test

import (
	"os"
	"testing"

	"meridian/internal/collect/store"
)

// A server that was started again counts the sessions on its disk when the first new one comes. It panicked where one was removed before.
func TestADirectoryIsLetGoOfBeforeSessionsAreCounted(t *testing.T) {
	dir := t.TempDir()
	open := func() *store.Store {
		s, err := store.New(dir, store.OS{}, store.Limits{Sessions: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if n := fill(t, open(), "night", "web", 1); n != 1 {
		t.Fatalf("%d files are stored", n)
	}
	s := open()
	h, err := s.Host("night", "web", uuid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Dir("night", "web")); err != nil {
		t.Fatal(err)
	}
	if gone, err := s.LetGo(); err != nil || len(gone) != 1 || gone[0] != h {
		t.Fatalf("let go of %v: %v", gone, err)
	}
	if n := fill(t, s, "night", "web", 1); n != 1 {
		t.Errorf("%d files are stored after it", n)
	}
	if _, err := s.Host("day", "web", uuid); err == nil {
		t.Error("a second session is stored, with a limit of one")
	}
}
