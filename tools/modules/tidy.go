package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// tidy runs go mod tidy in every module, with the others replaced by their folders meanwhile.
func (w workspace) tidy() error {
	for _, m := range w.modules {
		if err := w.tidyOne(m); err != nil {
			return err
		}
	}
	return nil
}

// tidyOne tidies a copy of a module's go.mod and go.sum and puts them back without the replacements.
func (w workspace) tidyOne(m module) error {
	scratch, err := os.MkdirTemp("", "modules")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	dir := filepath.Join(w.top, m.folder)
	mod, sum := filepath.Join(scratch, "go.mod"), filepath.Join(scratch, "go.sum")
	if err := errors.Join(copyFile(mod, filepath.Join(dir, "go.mod")), copyFile(sum, filepath.Join(dir, "go.sum"))); err != nil {
		return err
	}
	replace, drop := []string{"mod", "edit"}, []string{"mod", "edit"}
	for _, other := range w.modules {
		replace = append(replace, "-replace="+other.path+"="+filepath.Join(w.top, other.folder))
		drop = append(drop, "-dropreplace="+other.path)
	}
	for _, args := range [][]string{append(replace, mod), {"mod", "tidy", "-modfile=" + mod}, append(drop, mod)} {
		if _, err := command(dir, []string{"GOWORK=off"}, "go", args...); err != nil {
			return err
		}
	}
	return errors.Join(copyFile(filepath.Join(dir, "go.mod"), mod), copyFile(filepath.Join(dir, "go.sum"), sum))
}

// copyFile copies a file if it is there and differs from the copy.
func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(to, text, 0o644)
}
