package testseed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzDraws is for the tests below. It fails for an input with a byte that no stored input has.
func FuzzDraws(f *testing.F) {
	f.Add([]byte("abc"), "text", uint16(3), int8(-1), true)
	f.Add([]byte{}, "", uint16(0), int8(0), false)
	n := 0
	Fuzz(f, func(t *testing.T, b []byte, s string, u uint16, i int8, yes bool) {
		n++
		switch os.Getenv("DRAW") {
		case "print":
			fmt.Printf("drew %q %q %d %d %t\n", b, s, u, i, yes)
		case "fail":
			if strings.Contains(string(b), "\xff") {
				t.Error("a byte 0xff")
			}
		case "panic":
			if u > 3 {
				panic("a number above 3")
			}
		}
	})
}

// fuzz runs FuzzDraws in a process of its own.
func fuzz(t *testing.T, what, seed, dir string, args ...string) (string, error) {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, append([]string{"-test.run=^FuzzDraws$"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "DRAW="+what, Variable+"="+seed)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestAnOrdinaryRunDrawsTheSameInputsEachTime(t *testing.T) {
	first, err := fuzz(t, "print", "1", t.TempDir())
	if err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	lines := strings.Split(drawn(first), "\n")
	different := make(map[string]bool)
	for _, line := range lines {
		different[line] = true
	}
	if len(different) < len(lines)*9/10 || len(lines) < 10 {
		t.Errorf("%d inputs, %d of them different", len(lines), len(different))
	}
	second, err := fuzz(t, "print", "1", t.TempDir())
	if err != nil || drawn(second) != drawn(first) {
		t.Errorf("%v: the second run draws others:\n%s\nthe first:\n%s", err, second, first)
	}
	other, err := fuzz(t, "print", "2", t.TempDir())
	if err != nil || drawn(other) == drawn(first) {
		t.Errorf("%v: another seed draws the same", err)
	}
}

func TestAnInputThatFailsIsLoggedAsAFileThatFailsAgain(t *testing.T) {
	for _, what := range []string{"fail", "panic"} {
		out, err := "", error(nil)
		for seed := 1; err == nil && seed < 50; seed++ {
			out, err = fuzz(t, what, fmt.Sprint(seed), t.TempDir())
		}
		_, file, found := strings.Cut(out, "testdata/fuzz/FuzzDraws:\n")
		if err == nil || !found {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
		var lines []string
		for line := range strings.Lines(file) {
			if len(lines) < 6 {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		dir := t.TempDir()
		stored := filepath.Join(dir, "testdata", "fuzz", "FuzzDraws")
		if err := os.MkdirAll(stored, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(stored, "found"), []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := fuzz(t, what, "1", dir, "-test.run=^FuzzDraws$/^found$"); err == nil || strings.Contains(out, "unmarshal") {
			t.Errorf("%s: the stored input does not fail: %s\n%s", what, out, strings.Join(lines, "\n"))
		}
	}
}

func TestTheFuzzerDrawsByItself(t *testing.T) {
	out, err := fuzz(t, "", "1", t.TempDir(), "-test.fuzz=^FuzzDraws$", "-test.fuzztime=100x", "-test.parallel=1", "-test.fuzzcachedir="+t.TempDir())
	// Two of the inputs are the stored ones. If each of the others drew more, the process would still count them as one.
	if err != nil || !strings.Contains(out, "execs: 100 ") {
		t.Errorf("%v: %s", err, out)
	}
}
