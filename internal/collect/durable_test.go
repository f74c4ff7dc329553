package collect_test

import (
	"testing"

	"meridian/internal/collect/disktest"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// A server that is killed leaves files and names in the system's memory alone. What the next one says of them must outlive a power cut.
func TestWhatAServerFindsAndTellsIsOnTheDisk(t *testing.T) {
	for seed := range uint64(40) { // names that are not on the disk are there afterwards by chance
		disk := disktest.New(seed)
		open := func() *store.Host {
			t.Helper()
			s, err := store.New("servers", disk, store.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			h, err := s.Host("s", "web", uuid)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		killed := open()
		for _, name := range []string{"kernel_1_0", "packets/web.pcapng"} {
			if err := killed.Apply(&wire.Chunk{Kind: wire.Data, Session: "s", File: name, Data: []byte("0123456789")}); err != nil {
				t.Fatal(err)
			}
		}
		told, _, err := open().States("")
		if err != nil || len(told) != 2 {
			t.Fatalf("%v, %v", told, err)
		}
		disk = disk.Cut()
		for _, s := range told {
			if got := disk.Content("servers/s/web")[s.Name]; int64(len(got)) < s.Have {
				t.Errorf("seed %d: %d bytes of %s are told, and %d are there after a power cut", seed, s.Have, s.Name, len(got))
			}
		}
		if again, _, err := open().States(""); err != nil || len(again) != 2 {
			t.Errorf("seed %d: then the server finds %v: %v", seed, again, err)
		}
	}
}
