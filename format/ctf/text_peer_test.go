package ctf

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"meridian/internal/corpus"
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
		if got[i] != want[i] && !staleText(got[i], want[i]) {
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

// staleText reports whether two lines differ only in that one has an empty text where the other has some: babeltrace2 2.0.4
// prints what a text field held in an earlier event where it is empty now.
func staleText(got, want string) bool {
	parts := strings.Split(got, `= ""`)
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return len(parts) > 1 && regexp.MustCompile("^"+strings.Join(parts, `= "(?:[^"\\]|\\.)*"`)+"$").MatchString(want)
}

// nearlySame compares traces whose clock does not tick in nanoseconds: babeltrace2 converts in floating point, and rounds
// twice, so that its times may be off by a few ns and events of equal times in another order.
func nearlySame(t testing.TB, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, babeltrace2 has %d", len(got), len(want))
	}
	times := func(lines []string) map[string][]time.Time {
		m := map[string][]time.Time{}
		for _, l := range lines {
			stamp, rest, _ := strings.Cut(l, "] (+")
			_, rest, _ = strings.Cut(rest, ") ")
			at, err := time.Parse("[15:04:05.000000000", stamp)
			if err != nil {
				t.Fatal(err)
			}
			m[rest] = append(m[rest], at)
		}
		return m
	}
	g, w := times(got), times(want)
	for text := range w {
		if len(g[text]) != len(w[text]) {
			t.Fatalf("%d times, not %d: %s", len(g[text]), len(w[text]), text)
		}
		for i := range w[text] {
			if d := g[text][i].Sub(w[text][i]); d < -2 || d > 2 {
				t.Fatalf("%v away: %s", d, text)
			}
		}
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
			dir := corpus.Trace(t, test.name)
			var w trace.Warnings
			got := textOf(t, dir, &w)
			for _, l := range w.Lines() {
				t.Log(l)
			}
			if len(got) != test.events {
				t.Errorf("%d events, want %d", len(got), test.events)
			}
			compare := same
			if test.name == "double_counters" {
				compare = nearlySame
			}
			compare(t, got, babeltraceText(t, dir))
		})
	}
}
