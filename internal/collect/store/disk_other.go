//go:build !linux

package store

import "errors"

// Boot is not known.
func (OS) Boot() string { return "" }

// Sync returns when the bytes of the files are on the disk, and the entries of the directories.
func (OS) Sync(files []File, dirs []string) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.(osFile).File.Sync())
	}
	for _, dir := range dirs {
		err = errors.Join(err, syncDir(dir))
	}
	return err
}
