//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A server stores bytes. Whoever fetches them is told that a packet is damaged, but not that the session goes on.
func TestAFetchedTraceIsChecked(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.Mkdir(filepath.Join(dir, "rings"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("meridian", "record", "-o", good, "--rings", filepath.Join(dir, "rings"), "--", "emit", "1000").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	streams, err := filepath.Glob(filepath.Join(good, "sensor_*"))
	if err != nil || len(streams) == 0 {
		t.Fatalf("%q, %v", streams, err)
	}
	var stream string
	var content []byte
	for _, s := range streams { // the one of the program that emits
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > len(content) {
			stream, content = s, b
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(b []byte) []byte
	}{
		{"whole", "", func(b []byte) []byte { return b }},
		{"a flipped bit", filepath.Base(stream) + ": invalid packet skipped: wrong checksum (at offset 0)", func(b []byte) []byte {
			b[140] ^= 1
			return b
		}},
		{"a session that goes on", "", func(b []byte) []byte { return b[:len(b)-100] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(stream, c.change(append([]byte(nil), content...)), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := gapsOf(context.Background(), good)
			if err != nil || strings.Join(got, "; ") != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
