package trust

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"meridian/internal/testneed"
)

func TestAFileThatRootReplacesStaysItsOwners(t *testing.T) {
	testneed.Root(t, "files of another user")
	path := filepath.Join(t.TempDir(), usersFile)
	const user = 54321
	if err := writeNew(path, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, user, user); err != nil {
		t.Fatal(err)
	}
	if err := replace(path, []byte("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if is := info.Sys().(*syscall.Stat_t); is.Uid != user || is.Gid != user || info.Mode() != 0o600 {
		t.Errorf("it is of %d:%d, %v", is.Uid, is.Gid, info.Mode())
	}
}
