package store_test

import (
	"errors"
	"strings"
	"testing"

	"meridian/internal/collect/disktest"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

func TestWhatWasWrittenBeforeAPowerCutIsInDoubtAndStaysSo(t *testing.T) {
	disk := disktest.New(1)
	start := func() *store.Host {
		t.Helper()
		s, err := store.New("servers", disk, store.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Host("night", "web", uuid)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	inDoubt := func(h *store.Host) map[string]bool {
		t.Helper()
		states, _, err := h.States("")
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]bool)
		for _, x := range states {
			found[x.Name] = x.Doubt
		}
		return found
	}
	s, err := store.New("servers", disk, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Host("night", "web", uuid)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Apply(&wire.Chunk{Kind: wire.Data, File: "kernel_0", Data: []byte("abc")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := inDoubt(start()); got["kernel_0"] {
		t.Error("a process was killed, and what the system had is in doubt")
	}
	disk = disk.Cut()
	for _, what := range []string{"", " and the process was killed"} {
		if got := inDoubt(start()); !got["kernel_0"] {
			t.Errorf("the power was cut%s, and nothing is in doubt", what)
		}
	}
	h = start()
	for _, c := range []wire.Chunk{{Kind: wire.Data, File: "kernel_1", Data: []byte("abc")}, {Kind: wire.Cut, File: "kernel_0"}, {Kind: wire.Data, File: "kernel_0", Data: []byte("abc")}} {
		if err := h.Apply(&c); err != nil {
			t.Fatal(err)
		}
	}
	if got := inDoubt(h); got["kernel_0"] || got["kernel_1"] {
		t.Errorf("what was written since is in doubt: %v", got)
	}
}

// The size of a file may come to the disk before its bytes. Such a server refused its host for ever.
func TestADirectoryThatAPowerCutLeftWithoutItsTraceIsBegunAgain(t *testing.T) {
	for _, left := range []string{"", strings.Repeat("\x00", 37), uuid[:9], uuid + "\n"} {
		disk := disktest.New(1)
		f, err := disk.Open("servers/night/web/.trace")
		if err == nil {
			_, err = f.WriteAt([]byte(left), 0)
		}
		if err := errors.Join(err, disk.MkdirAll("servers/night/web")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := store.New("servers", disk, store.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Host("night", "web", uuid); err != nil {
				t.Errorf("%q: %v", left, err)
			}
		}
	}
}
