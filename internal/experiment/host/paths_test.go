//go:build unix

package host

import (
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/experiment/protocol"
)

// TestFilesOfAnExperimentStayWithinItsDirectory: an operator's controller names them, and an agent is not the operator's.
func TestFilesOfAnExperimentStayWithinItsDirectory(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	h := &host{dir: dir}
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "files", "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../x", "../../x", "/etc/x", "a/../../x", "link/x", outside + "/x", "", "."} {
		if err := h.receive(&protocol.File{Path: path, Mode: 0o755, Data: []byte("x")}); err == nil {
			t.Errorf("%q was stored", path)
		}
	}
	if err := h.receive(&protocol.File{Path: "a/b", Mode: 0o4755, Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "files", "a", "b")); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("a/b: %v, %v", info, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside lie %v, %v", entries, err)
	}
}
