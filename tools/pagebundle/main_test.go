package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const view = "../../internal/show/view"

func TestTheCommittedScriptIsMadeOfTheModules(t *testing.T) {
	want, files, err := bundle(filepath.Join(view, "page"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(view, "page_bundle.js"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("page_bundle.js is out of date: go generate ./internal/show/view")
	}
	modules, err := filepath.Glob(filepath.Join(view, "page", "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range modules {
		if name := filepath.Base(path); name != "eslint.config.js" && !slices.Contains(files, name) {
			t.Errorf("no module of the page imports %s", name)
		}
	}
}

func TestAnImportOfWhatIsNotExportedIsAnError(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.js": `import * as other from "./other.js"; console.log(other.missing)`, "other.js": "export const there = 1;"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if script, _, err := bundle(dir); err == nil {
		t.Errorf("it is joined to %s", script)
	}
}
