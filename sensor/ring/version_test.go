package ring

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestARingOfTheFirstVersionIsReadAndANewerOneIsRefused reads testdata/version1.ring: shards 1, two sub-buffers of 4096 bytes, a class
// "step" and three events of it with stamps 1 to 3. It is not made again when the format changes.
func TestARingOfTheFirstVersionIsReadAndANewerOneIsRefused(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "version1.ring"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.ring")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var p Packet
	if ok, err := opened(t, path).Next(&p); err != nil || !ok || p.Count != 3 || p.First != 1 || p.Last != 3 {
		t.Errorf("%+v, %t, %v", p, ok, err)
	}
	binary.LittleEndian.PutUint32(b[atVersion:], version+1)
	newer := filepath.Join(t.TempDir(), "b.ring")
	if err := os.WriteFile(newer, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(newer); err == nil || !strings.Contains(err.Error(), "version 2 of the ring; this program reads version 1") {
		t.Error(err)
	}
}
