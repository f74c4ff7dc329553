//go:build unix

package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/internal/experiment/protocol"
	"meridian/internal/private"
)

// partBytes is how much of a file a line carries.
const partBytes = 256 << 10

// gather brings the trace, the logs and the files that patterns name. It goes on as far as possible.
func (h *host) gather(g *protocol.Gather) *protocol.Missing {
	m := new(protocol.Missing)
	var failed []error
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	root, err := os.OpenRoot(h.dir)
	if err != nil {
		m.Error = err.Error()
		return m
	}
	defer root.Close()
	send := func(path, as string) { note(h.bring(root, path, as, g.To)) }
	for _, dir := range []string{"trace", "log"} {
		for _, path := range within(root, dir) {
			send(path, path)
		}
	}
	for _, daemon := range sortedKeys(g.Patterns) {
		base := "daemons/" + daemon
		files := within(root, base)
		for _, pattern := range g.Patterns[daemon] {
			found := false
			for _, path := range files {
				short := strings.TrimPrefix(path, base+"/")
				if matches(pattern, short) {
					found = true
					send(path, "files/"+daemon+"/"+short)
				}
			}
			if !found {
				m.Patterns = append(m.Patterns, daemon+": "+pattern)
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		m.Error = err.Error()
	}
	return m
}

func sortedKeys(m map[string][]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// matches reports whether a pattern names a file, or a directory that it is in.
func matches(pattern, path string) bool {
	for path != "." {
		if ok, _ := filepath.Match(filepath.Clean(pattern), path); ok {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

// within lists the regular files below a directory. Symbolic links are not followed: gathered files lie within the host's directory.
func within(root *os.Root, dir string) (files []string) {
	_ = fs.WalkDir(root.FS(), dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return nil // what cannot be read is missing
	})
	return files
}

// bring moves a file to a directory of this machine, or sends it.
func (h *host) bring(root *os.Root, path, as, to string) error {
	if to != "" {
		target := filepath.Join(to, filepath.FromSlash(as))
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		if os.Link(filepath.Join(root.Name(), path), target) == nil { // files may fit several patterns, so they are not moved
			return asOurs(target)
		}
	}
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if to != "" {
		return copyTo(f, filepath.Join(to, filepath.FromSlash(as)), info.Mode())
	}
	b := make([]byte, partBytes)
	for {
		n, err := io.ReadFull(f, b)
		last := err != nil
		if last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s: %w", path, err)
		}
		part := protocol.File{Path: as, Mode: uint32(info.Mode().Perm()), Data: b[:n], Last: last}
		if err := h.out.Write(protocol.Report{File: &part}); err != nil || last {
			return err
		}
	}
}

// asOurs takes rights from a file that a daemon made with its own umask.
func asOurs(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || private.Mode(info.Mode()) == info.Mode().Perm() {
		return err
	}
	return os.Chmod(path, private.Mode(info.Mode()))
}

func copyTo(f io.Reader, target string, mode fs.FileMode) error {
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return errors.Join(err, to.Close())
}
