//go:build unix

package input

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"meridian/format"
	"meridian/internal/record"
	"meridian/trace"
)

func TestTagsMeanTheSameEverywhereInTracesOfSensorsAndRecorders(t *testing.T) {
	dir := t.TempDir()
	r, err := record.New(record.Options{Dir: dir, Host: "web", Rings: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "metadata")
	ours, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	field := func(name, value string) []byte { return []byte(name + ` = "` + value + `"`) }
	for _, test := range []struct {
		tracer, domain string
		tagged         bool
	}{
		{"meridian", "ust", true}, {"meridian", "host", true}, {"meridian", "timeline", false}, {"lttng-ust", "ust", false},
	} {
		text := ours
		for _, domain := range []string{"ust", "host"} {
			text = bytes.ReplaceAll(text, field("domain", domain), field("domain", test.domain))
		}
		text = bytes.ReplaceAll(text, field("tracer_name", "meridian"), field("tracer_name", test.tracer))
		if !bytes.Contains(text, field("domain", test.domain)) || !bytes.Contains(text, field("tracer_name", test.tracer)) {
			t.Fatalf("%s", text)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		x, _, err := readRecording(context.Background(), Trace{Host: "web", Path: dir, kind: format.CTF}, nil, new(trace.Warnings))
		if err != nil {
			t.Fatal(err)
		}
		if x.tagged != test.tagged {
			t.Errorf("%s, %s: tagged %t", test.tracer, test.domain, x.tagged)
		}
	}
}
