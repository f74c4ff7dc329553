package golist

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type files struct {
	ImportPath string
	GoFiles    []string
	unlisted   bool
}

func TestPackagesHaveTheFieldsThatAreAskedFor(t *testing.T) {
	got, err := Packages[files]([]string{".", "errors"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1].ImportPath != "errors" || !slices.Equal(got[0].GoFiles, []string{"golist.go"}) || got[0].unlisted {
		t.Errorf("%+v", got)
	}
}

func TestTheErrorSaysWhatGoListSays(t *testing.T) {
	missing := "./" + filepath.Base(t.TempDir())
	if got, err := Packages[files]([]string{missing}); err == nil || !strings.Contains(err.Error(), "directory not found") {
		t.Errorf("%+v, %v", got, err)
	}
}
