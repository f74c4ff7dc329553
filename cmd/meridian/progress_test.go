package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgressIsDrawnOnATerminalAloneAndAfterASecond(t *testing.T) {
	var out strings.Builder
	for _, test := range []struct {
		name  string
		bar   *progress
		drawn bool
	}{
		{"no terminal", &progress{}, false},
		{"a short run", &progress{to: &out, begun: time.Now().Add(time.Minute)}, false}, // however long this takes,
		{"a long run", &progress{to: &out, begun: time.Now().Add(-2 * time.Second)}, true},
	} {
		out.Reset()
		test.bar.show("reading", 30, 100)
		test.bar.show("merging", 60, 100)
		drawn := out.String()
		if (drawn != "") != test.drawn {
			t.Errorf("%s: %q", test.name, drawn)
		}
		if test.drawn && (!strings.Contains(drawn, "reading") || !strings.Contains(drawn, "merging") || !strings.Contains(drawn, "60%")) {
			t.Errorf("%s: %q", test.name, drawn)
		}
		test.bar.stop()
		before := out.Len()
		test.bar.show("merging", 90, 100)
		if out.Len() != before {
			t.Errorf("%s: drawn after the end: %q", test.name, out.String()[before:])
		}
	}
	var file progress
	file.start(&out)
	if file.to != nil {
		t.Error("a writer that is no terminal is taken for one")
	}
}
