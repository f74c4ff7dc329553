package ctf

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHiddenDirectoriesBelowAreNoTraces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".night") // what is named is looked at
	for _, host := range []string{"web", ".db.partial"} {
		if err := os.MkdirAll(filepath.Join(dir, host), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, host, "metadata"), []byte("/* CTF 1.8 */\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Find(dir)
	if err != nil || len(found) != 1 || found[0] != filepath.Join(dir, "web") {
		t.Errorf("found %q, %v; want web alone", found, err)
	}
}
