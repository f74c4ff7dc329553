package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// quickStarts are the sections of docs/quickstart.md.
var quickStarts = []string{"Captures", "LTTng", "My Go program", "My C program", "OpenTelemetry spans", "ML ranks", "A cluster"}

// TestQuickStartsEndAsWritten runs each section of docs/quickstart.md to the letter, in an empty directory and with the command on PATH.
func TestQuickStartsEndAsWritten(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "a network of its own for each quick start")
	testneed.Program(t, "unshare")
	testneed.Program(t, "ip")
	testneed.Program(t, "curl")
	testneed.Program(t, "gcc")
	testneed.Program(t, "lttng-gen-tp") // of the package with LTTng's headers
	testneed.Program(t, "lttng-sessiond")
	page, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, part := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		titles = append(titles, title)
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, home := newSection(title, text, ""), t.TempDir()
			if len(s.wanted) == 0 {
				t.Fatal("no commands")
			}
			faults, _ := s.follow(isolate, t.TempDir(), home, homeOf(t, home, "SRC="+checkout, "GOFLAGS=-mod=mod -trimpath", "GOWORK=off"))
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
	if !slices.Equal(titles, quickStarts) {
		t.Errorf("the page has %q, not %q", titles, quickStarts)
	}
}
