package session_test

import (
	"testing"
	"time"

	"meridian/internal/collect/session"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/filetest"
)

// What a full disk does not take was not said: neither this server nor the next believes it.
func TestASessionThatFindsNoRoomDoesNotBegin(t *testing.T) {
	filetest.Filling(t, func(dir string) bool {
		r, err := session.OpenRegistry(dir, store.OS{})
		if err != nil {
			t.Fatal(err)
		}
		x := wire.Session{Version: wire.Version, Name: "night", Hosts: []string{"web"}, Since: time.Now().UTC()}
		_, changed, err := r.Put(x)
		_, here := r.Get("night")
		again, openErr := session.OpenRegistry(dir, store.OS{})
		if openErr != nil {
			t.Fatal(openErr)
		}
		_, next := again.Get("night")
		if begun := err == nil; changed != begun || here != begun || next != begun {
			t.Errorf("%v: changed %t, known %t, known by the next %t", err, changed, here, next)
		}
		if err != nil {
			return false
		}
		x.Stopped = time.Now().UTC()
		if _, _, err := r.Put(x); err != nil {
			if known, _ := r.Get("night"); !known.Running() {
				t.Errorf("stopped, though %v", err)
			}
			return false
		}
		return true
	})
}
