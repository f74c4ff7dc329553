package ctf

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"meridian/trace"
)

// textOf prints a trace as babeltrace2 would.
func textOf(t testing.TB, dir string, w *trace.Warnings) []string {
	t.Helper()
	tr, err := Open(dir, w)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := tr.Events()
	defer s.Close()
	if err := NewTextWriter(&out, s, time.UTC).All(); err != nil {
		t.Fatal(err)
	}
	return lines(out.String())
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// babeltraceText runs the reference.
func babeltraceText(t testing.TB, dir string) []string {
	t.Helper()
	c := exec.Command(peer(t, "babeltrace2"), dir)
	c.Env = append(os.Environ(), "TZ=UTC")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("babeltrace2: %v: %s", err, errs.Bytes())
	}
	return lines(string(out))
}

// same compares line by line.
func same(t testing.TB, got, want []string) {
	t.Helper()
	wrong := 0
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, got[i], want[i])
			if wrong++; wrong == 5 {
				t.Fatal("and more")
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, babeltrace2 has %d", len(got), len(want))
	}
}

func TestTracesOfOthersPrintAsBabeltracePrintsThem(t *testing.T) {
	for _, test := range []struct {
		name   string
		events int
	}{
		{"bug446190", 31556},
		{"ctf-sequence-empty", 10},
		{"double_counters", 693},
		{"flipping-endianness", 14310},
		{"kernel_vm", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := recorded(t, test.name)
			var w trace.Warnings
			got := textOf(t, dir, &w)
			for _, l := range w.Lines() {
				t.Log(l)
			}
			if len(got) != test.events {
				t.Errorf("%d events, want %d", len(got), test.events)
			}
			same(t, got, babeltraceText(t, dir))
		})
	}
}
