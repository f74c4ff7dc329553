package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheProgramsOfTheDocumentationRun compiles the C of README.md and docs/sensors.md as they say, and with the other compilers, and reads
// what the programs leave.
func TestTheProgramsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for _, doc := range []struct {
		path, command string
		want          []string
	}{
		{"README.md", "cc shop.c -o shop -pthread && meridian record", []string{"shop:sold"}},
		{"docs/sensors.md", "gcc -O2 -pthread -I sensor/c shop.c -o shop\n", []string{"shop:handle:begin", "shop:request_done", "shop:handle:end"}},
	} {
		t.Run(doc.path, func(t *testing.T) {
			t.Parallel()
			documented(t, doc.path, doc.command, doc.want)
		})
	}
}

// documented checks the first program in C of a document, which must have the command that compiles it.
func documented(t *testing.T, path, command string, want []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```c(?: \\S+)?\n(.*?)```").FindSubmatch(text) // with the name of its file, or without
	if block == nil || !strings.Contains(string(text), command) {
		t.Fatalf("%s has no program in C, or no command for it", path)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.c"), block[1], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, with := range []string{"gcc", "clang", "g++ -x c++ -std=c++17", "clang++ -x c++ -std=c++17"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			cc, to := strings.Fields(with), t.TempDir()
			program := filepath.Join(to, "shop")
			args := append(cc[1:], "-O2", "-pthread", "-Wall", "-Wextra", "-Werror", "-I", ".", filepath.Join(dir, "shop.c"), "-o", program)
			if out, err := exec.Command(compiler(t, cc[0]), args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			c := exec.Command(program)
			c.Env = append(os.Environ(), "MERIDIAN_EVENTS=", "MERIDIAN="+to+"/")
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			left := rings(t, to)
			if len(left) != 1 {
				t.Fatal(names(left))
			}
			r, got := takeAll(t, left[0])
			var said []string
			for _, e := range got.events {
				said = append(said, e.class)
			}
			if !slices.Equal(said, want) || r.Info().Program != "shop" {
				t.Errorf("%s emitted %q, not %q", r.Info().Program, said, want)
			}
		})
	}
}
