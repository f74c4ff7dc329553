package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestATargetThatFailsIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds a package for the fuzzer")
	}
	const good = "package p\n\nimport \"testing\"\n\nfunc FuzzGood(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }\n"
	const bad = "package p\n\nimport \"testing\"\n\nfunc FuzzBad(f *testing.F) {\n\tf.Add([]byte(\"x\"))\n\tf.Fuzz(func(t *testing.T, b []byte) {\n\t\tif len(b) > 2 {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n}\n"
	for _, test := range []struct {
		name  string
		files []string
		o     options
		ok    bool
	}{
		{"good", []string{good}, options{runs: 3000}, true},
		{"bad", []string{good, bad}, options{runs: 3000}, false},
		{"none", []string{"package p\n"}, options{runs: 3000}, false},
		{"stopped", []string{good}, options{runs: 1 << 40, exact: true, limit: time.Second / 2}, true},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module p\n\ngo 1.26\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, text := range test.files {
			if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+"_test.go"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("GOWORK", "off")
		t.Chdir(dir)
		ok, err := fuzz(test.o, []string{"."})
		if err != nil || ok != test.ok {
			t.Errorf("%s: %t, %v; want %t", test.name, ok, err, test.ok)
		}
		kept, _ := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", "FuzzBad", "*"))
		if (len(kept) > 0) != (test.name == "bad") {
			t.Errorf("%s: %d inputs are kept", test.name, len(kept))
		}
	}
}

func TestTheInputThatFailedIsPrinted(t *testing.T) {
	p := pkg{Dir: t.TempDir()}
	name := filepath.Join("testdata", "fuzz", "FuzzBad", "0123")
	if err := os.MkdirAll(filepath.Join(p.Dir, filepath.Dir(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	const input = "go test fuzz v1\n[]byte(\"xyz\")\n"
	if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.kept([]byte("    Failing input written to " + filepath.ToSlash(name) + "\n    To re-run:\n")); string(got) != input {
		t.Errorf("%q", got)
	}
	if got := p.kept([]byte("ok\n")); got != nil {
		t.Errorf("%q", got)
	}
}

func TestTheNumberOfInputsIsTheFuzzersLastCount(t *testing.T) {
	out := "fuzz: elapsed: 3s, execs: 5 (2/sec), new interesting: 0 (total: 3)\nfuzz: elapsed: 6s, execs: 123456 (0/sec), new interesting: 0 (total: 3)\nPASS\n"
	if n := executions([]byte(out)); n != 123456 {
		t.Error(n)
	}
	if n := executions([]byte("PASS\n")); n != 0 {
		t.Error(n)
	}
}

func TestTheFuzzerLearnsWhatCodeAnInputReaches(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds a package for the fuzzer")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"p.go":   "package p\n\nfunc f(b []byte) bool {\n\treturn len(b) > 5 && b[0] == 'd' && b[1] == 'e' && b[2] == 'e' && b[3] == 'p' && b[4] == 'l' && b[5] == 'y'\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc FuzzDeep(t *testing.F) {\n\tt.Add([]byte(\"dxxxxx\"))\n" +
			"\tt.Fuzz(func(t *testing.T, b []byte) {\n\t\tif f(b) {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	// It takes some 300,000 inputs. Five bytes drawn blindly are right once in 2^40 inputs.
	if ok, err := fuzz(options{runs: 20_000_000}, []string{"."}); err != nil || ok {
		t.Errorf("%t, %v: the input was not found", ok, err)
	}
}

func TestAPackageThatSaysSoIsInstrumentedWithoutOthersOfOurs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	for comment, want := range map[string]bool{"": true, "//fuzzall:own\n": false, "//fuzzall:cost 7\n": true} {
		for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p_test.go": "package p\n\n" + comment + "func FuzzOne(f *testing.F) {}\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		packages, err := list([]string{"."}, nil)
		if err != nil || len(packages) != 1 {
			t.Fatal(packages, err)
		}
		flags := packages[0].instrument([]string{"ours/..."})
		if got := slices.Contains(flags, "-gcflags=ours/...=-d=libfuzzer"); got != want {
			t.Errorf("%q: %q", comment, flags)
		}
		if !want && !slices.Contains(flags, "-gcflags=p=-d=libfuzzer") {
			t.Errorf("%q: %q", comment, flags)
		}
	}
}
