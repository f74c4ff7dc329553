package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// validPath is a module path whose first element is a host name, as the go command wants it for what it downloads.
var validPath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

// skipped are the folders that hold nothing that belongs to the repository's text.
var skipped = map[string]bool{".git": true, "bin": true, "node_modules": true}

// rename gives the modules a new path, in every file that names the old one: module files, imports, go:generate lines,
// command lines in tests and scripts, and documentation.
func (w workspace) rename(to string) error {
	if !validPath.MatchString(to) {
		return fmt.Errorf("invalid module path %q: want HOST/OWNER/NAME, such as example.org/owner/meridian", to)
	}
	from, err := w.root()
	if err != nil {
		return err
	}
	return filepath.WalkDir(w.top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := w.renamed(text, from, to)
		if bytes.Equal(changed, text) {
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			if sorted, err := format.Source(changed); err == nil { // the order of imports may have changed
				changed = sorted
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(path, changed, info.Mode().Perm())
	})
}

// renamed returns a file's text with the new path. The old path may be as common a word as "meridian". It is a module's or
// a package's path only
//
//   - before a slash and a folder of the workspace ("meridian/clock", but not "meridian/ring.h"), or
//   - as a module file or a go command names it: "module meridian", "meridian v0.1.0", "meridian@v0.1.0", "meridian => ./",
//
// and never within a longer path ("./cmd/meridian").
func (w workspace) renamed(text []byte, from, to string) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		return text // no text
	}
	word := `(?:^|[^\w./$@~-])` + regexp.QuoteMeta(from)
	pkg := regexp.MustCompile(`(?m)` + word + `/[\w-]+`)
	mod := regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(from) + `$|` + word + `(?: v\d|@v\d|@latest| => |=[./])`)
	text = pkg.ReplaceAllFunc(text, func(match []byte) []byte {
		folder := string(match[bytes.LastIndexByte(match, '/')+1:])
		if info, err := os.Stat(filepath.Join(w.top, folder)); err != nil || !info.IsDir() {
			return match
		}
		return bytes.Replace(match, []byte(from), []byte(to), 1)
	})
	return mod.ReplaceAllFunc(text, func(match []byte) []byte { return bytes.Replace(match, []byte(from), []byte(to), 1) })
}
