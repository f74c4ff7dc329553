package store_test

import (
	"bytes"
	"errors"
	"testing"

	"meridian/internal/collect/disktest"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

// FuzzReplay gives a store chunks of two files as somebody might who recorded them on the wire: in any order, any number of times, between
// syncs, cuts and restarts. A file is a beginning of what the host has, always: nothing is there twice, nothing is missing within.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{0, 0, 9, 0, 9, 5, 0, 0, 9, 0, 9, 5})              // the same chunks twice
	f.Add([]byte{0, 0, 9, 0, 50, 5, 1, 0, 30, 3, 0, 0, 1, 10, 9})  // a gap, another file, a sync, what overlaps
	f.Add([]byte{0, 0, 200, 2, 9, 0, 0, 0, 20, 4, 0, 0, 0, 3, 30}) // cut, chunks of before the cut, a restart
	truth := make([]byte, 600)
	for i := range truth {
		truth[i] = byte(i*7 + i/256)
	}
	names := []string{"packets_0", "packets/a_1"}
	testseed.Fuzz(f, func(t *testing.T, steps []byte) {
		steps = steps[:min(len(steps), 300)]
		disk := disktest.New(1)
		begin := func() (*store.Store, *store.Host) {
			s, err := store.New("srv", disk, store.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			h, err := s.Host("night", "web", uuid)
			if err != nil {
				t.Fatal(err)
			}
			return s, h
		}
		s, h := begin()
		have := make([]int64, len(names))
		for ; len(steps) >= 3; steps = steps[3:] {
			n, at, size := int(steps[0]&1), int64(steps[1]), int(steps[2])
			c := wire.Chunk{Kind: wire.Data, Session: "night", File: names[n], Offset: at, Data: truth[at : at+int64(size)]}
			switch steps[0] >> 1 & 3 {
			case 1: // the host has no more than that
				c = wire.Chunk{Kind: wire.Cut, Session: "night", File: names[n], Offset: at}
			case 2:
				if _, err := s.Sync(); err != nil {
					t.Fatal(err)
				}
			case 3:
				if _, err := s.Sync(); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s, h = begin()
			}
			c, _, err := wire.Parse(c.Append(nil, nil), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			end := at + int64(len(c.Data))
			switch err := h.Apply(&c); {
			case errors.Is(err, store.ErrGap):
				if c.Kind != wire.Data || at <= have[n] {
					t.Fatalf("a gap at %d of %d", at, have[n])
				}
			case err != nil:
				t.Fatal(err)
			case c.Kind == wire.Cut:
				have[n] = min(have[n], at)
			default:
				if at > have[n] {
					t.Fatalf("bytes at %d behind an end at %d", at, have[n])
				}
				have[n] = max(have[n], end)
			}
		}
		if _, err := s.Sync(); err != nil {
			t.Fatal(err)
		}
		states, _, err := h.States("")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range states {
			n := 0
			if x.Name == names[1] {
				n = 1
			}
			got := make([]byte, x.Have)
			if err := s.ReadFile("night", "web", x.Name, got, 0); err != nil {
				t.Fatal(err)
			}
			if x.Have != have[n] || !bytes.Equal(got, truth[:have[n]]) {
				t.Errorf("%s has %d bytes, want %d of the host's", x.Name, x.Have, have[n])
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
