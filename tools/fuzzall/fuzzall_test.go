package main

import (
	"os"
	"path/filepath"
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

func TestTheNumberOfInputsIsTheFuzzersLastCount(t *testing.T) {
	out := "fuzz: elapsed: 3s, execs: 5 (2/sec), new interesting: 0 (total: 3)\nfuzz: elapsed: 6s, execs: 123456 (0/sec), new interesting: 0 (total: 3)\nPASS\n"
	if n := executions([]byte(out)); n != 123456 {
		t.Error(n)
	}
	if n := executions([]byte("PASS\n")); n != 0 {
		t.Error(n)
	}
}
