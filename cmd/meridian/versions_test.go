package main_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testdata/versions has a trace and an index of version 0.1.0, made by
//
//	meridian record -o trace --rings rings --host web -- emit 3
//	meridian view trace --method none --index timeline.mvx
//
// They are not made again when a format changes: then they are read as before, or the test says with which words they are refused.

// converted is what a command says, and the lines of the CSV that it writes.
func converted(t *testing.T, args ...string) (said string, events int, err error) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "events.csv")
	out, err := exec.Command("meridian", append(append([]string{"convert", "-q", "--method", "none"}, args...), "-o", to)...).CombinedOutput()
	text, _ := os.ReadFile(to)
	return string(out), bytes.Count(text, []byte("test:number")), err
}

func TestATraceOfTheFirstVersionIsRead(t *testing.T) {
	t.Parallel()
	if said, events, err := converted(t, filepath.Join("testdata", "versions", "trace")); err != nil || events != 3 {
		t.Errorf("%d events, %v: %s", events, err, said)
	}
}

func TestATraceOfANewerVersionIsRefusedWithItsVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "trace")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "versions", "trace"))); err != nil {
		t.Fatal(err)
	}
	metadata := filepath.Join(dir, "metadata")
	text, err := os.ReadFile(metadata)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(text), "major = 1;", "major = 3;", 1)
	if newer == string(text) {
		t.Fatal("the metadata has no version")
	}
	if err := os.WriteFile(metadata, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, _, err := converted(t, dir); err == nil || !strings.Contains(said, "unsupported CTF version 3.8") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestAnIndexOfTheFirstVersionIsReadAndANewerOneIsRefused(t *testing.T) {
	t.Parallel()
	old := filepath.Join("testdata", "versions", "timeline.mvx")
	page := filepath.Join(t.TempDir(), "page.html")
	if out, err := exec.Command("meridian", "view", "-q", old, "-o", page).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if b, err := os.ReadFile(page); err != nil || len(b) == 0 {
		t.Errorf("the page has %d bytes, %v", len(b), err)
	}
	b, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	const atVersion = 8
	binary.LittleEndian.PutUint32(b[atVersion:], binary.LittleEndian.Uint32(b[atVersion:])+1)
	newer := filepath.Join(t.TempDir(), "newer.mvx")
	if err := os.WriteFile(newer, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("meridian", "view", "-q", newer, "-o", page).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file version 2, want 1; make the index again from the traces") {
		t.Errorf("%v: %s", err, out)
	}
}
