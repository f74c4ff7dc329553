package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

const uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"

// fill adds files to a session of a host until one is refused, and returns how many were added.
func fill(t *testing.T, s *store.Store, session, host string, most int) (n int) {
	t.Helper()
	h, err := s.Host(session, host, uuid)
	if err != nil {
		t.Fatal(err)
	}
	for ; n < most; n++ {
		err := h.Apply(&wire.Chunk{Kind: wire.Data, Session: session, File: fmt.Sprintf("packets/%s%d", session, n), Data: []byte("x")})
		if errors.Is(err, store.ErrLimit) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	h.Stored()
	return n
}

func TestFilesOfAHostAreLimitedOverItsSessionsAndWhatIsRemovedMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 7
		dir := t.TempDir()
		open := func() *store.Store {
			s, err := store.New(dir, store.OS{}, store.Limits{AllFiles: most})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		check := func(what string, got, want int) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %d files are added, not %d", what, got, want)
			}
		}
		check("the first session", fill(t, s, "a", "web", 4), 4)
		check("the second", fill(t, s, "b", "web", most), most-4)
		check("a third", fill(t, s, "c", "web", most), 0)
		check("another host", fill(t, s, "a", "db", most+1), most)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
		check("a server that is started again", fill(t, s, "c", "web", most), 0)
		if err := os.Remove(filepath.Join(dir, "a", "web", "packets", "a0")); err != nil {
			t.Fatal(err)
		}
		check("a file is removed, and nobody has looked yet", fill(t, s, "c", "web", most), 0)
		time.Sleep(10 * time.Second)
		check("a file is removed", fill(t, s, "d", "web", most), 1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
