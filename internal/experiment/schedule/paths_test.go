//go:build unix

package schedule

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/experiment/protocol"
)

// TestGatheredFilesStayWithinTheirHostsDirectory: names come from another machine, whose host may be anybody's.
func TestGatheredFilesStayWithinTheirHostsDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(base, "web")
	for _, path := range []string{"../x", "../../x", "../db/log/x", "a/../../x", "/etc/x", outside + "/x", "..", ".", "", "a/\x00"} {
		if err := r.part(&protocol.File{Path: path, Mode: 0o777, Data: []byte("x"), Last: true}); err == nil {
			t.Errorf("%q was stored", path)
		}
		_ = r.close()
	}
	if err := r.part(&protocol.File{Path: "a/b", Mode: 0o4755, Data: []byte("x"), Last: true}); err != nil {
		t.Fatal(err)
	}
	// A link that lies there, of whomever, is not followed out of the directory.
	if err := os.Symlink(outside, filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := r.part(&protocol.File{Path: "link/x", Data: []byte("x"), Last: true}); err == nil {
		t.Error("a file was stored where a link leads")
	}
	var all []string
	for _, dir := range []string{base, outside} {
		if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				all = append(all, path)
				if info, err := e.Info(); err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != 1 || all[0] != filepath.Join(base, "hosts", "web", "a", "b") {
		t.Errorf("stored are %q", all)
	}
}
