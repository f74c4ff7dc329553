package store

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// maxApart is how many files and directories are synced one by one. The journal of a file system takes a commit for each of them, and one
// for all by syncfs, which writes what others have left in the same file system as well.
const maxApart = 8

// Sync returns when the bytes of the files are on the disk, and the entries of the directories.
func (OS) Sync(files []File, dirs []string) error {
	if len(files)+len(dirs) > maxApart && len(files) > 0 {
		return retry(func() error { return unix.Syncfs(int(files[0].(osFile).Fd())) })
	}
	var all errgroup.Group
	for _, f := range files {
		all.Go(func() error { return retry(func() error { return unix.Fdatasync(int(f.(osFile).Fd())) }) })
	}
	err := all.Wait()
	for _, dir := range dirs {
		err = errors.Join(err, syncDir(dir))
	}
	return err
}

// Boot names the time since the machine was started.
func (OS) Boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
