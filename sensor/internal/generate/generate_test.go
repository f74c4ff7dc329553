package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	want, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, text) {
			t.Errorf("%s is not what the generator writes; run go generate ./sensor", name)
		}
	}
	there, err := filepath.Glob(filepath.Join("..", "..", "*_gen.go"))
	if err != nil || len(there) != len(want) {
		t.Errorf("%v are generated files, want %d: %v", there, len(want), err)
	}
}
