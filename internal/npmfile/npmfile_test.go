package npmfile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnotherFileThanThePinnedOneIsRefused(t *testing.T) {
	dir := t.TempDir()
	pinned := File{Name: "package/a/b.wasm", Sum: strings.Repeat("0", 64), Limit: 100}
	for _, name := range []string{pinned.Name, "package/other"} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		w := tar.NewWriter(z)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: 4}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("evil")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		from, to := filepath.Join(dir, "p.tgz"), filepath.Join(dir, "wasm")
		if err := os.WriteFile(from, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := pinned.unpack(from, to); (err == nil) != (name == pinned.Name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := pinned.verify(to); err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
