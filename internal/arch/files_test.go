package arch

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const maxFile = 500 // lines; a longer file holds two subjects

// unfinished matches the words of unfinished work. They are put together here so that this file does not match.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "X" + "XX", "st" + "ub", "unimple" + "mented", "not imple" + "mented"}, "|") + `)\b`)

// skipped are the folders that hold nothing that people write.
var skipped = map[string]bool{"testdata": true, "bin": true, ".git": true, "node_modules": true}

// generated is the first line of a file that a program writes.
var generated = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.\n`)

// sources calls check with every file that people write, by its path from the top of the repository.
func sources(t *testing.T, check func(path string, text []byte)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if skipped[name] {
				return fs.SkipDir
			}
			return nil
		}
		if name == ".git" { // a file in a linked work tree
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".js", ".mjs", ".css", ".html", ".c", ".h", ".sh", ".md", ".yaml", ".yml", "":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil // a program that somebody built here
		}
		short, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if generated.Match(text) {
			return nil
		}
		n++
		check(short, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Fatalf("only %d files found", n)
	}
}

func TestFilesStayShort(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".md") {
			return
		}
		if n := bytes.Count(text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines, at most %d", path, n, maxFile)
		}
	})
}

func TestGoFilesAreFormatted(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		want, err := format.Source(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !bytes.Equal(text, want) {
			t.Errorf("%s is not as gofmt writes it", path)
		}
	})
}

func TestNothingIsLeftUnfinished(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasSuffix(path, ".md") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := unfinished.FindString(line); word != "" {
				t.Errorf("%s:%d: %s", path, i+1, word)
			}
		}
	})
}

// TestNoFileNamesThisCheckout finds paths that exist on one machine only.
func TestNoFileNamesThisCheckout(t *testing.T) {
	here, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(here, string(filepath.Separator)) < 2 {
		t.Logf("%s is too short to look for", here)
		return
	}
	sources(t, func(path string, text []byte) {
		if bytes.Contains(text, []byte(here)) {
			t.Errorf("%s names %s", path, here)
		}
	})
}
