//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// indented returns the blocks of a document that are indented by four spaces, without the indent.
func indented(text string) (blocks []string) {
	var block strings.Builder
	for line := range strings.Lines(text + "\n") {
		switch code, ok := strings.CutPrefix(line, "    "); {
		case ok:
			block.WriteString(code)
		case strings.TrimSpace(line) == "" && block.Len() > 0:
			block.WriteString("\n")
		case block.Len() > 0:
			blocks = append(blocks, strings.TrimSpace(block.String())+"\n")
			block.Reset()
		}
	}
	return blocks
}

// TestTheTutorialOfExperimentsRuns runs each block of docs/experiments.md: the first experiment and its commands, its daemon in the shell, what is
// done with results. Of the examples, which have tests of their own, it checks the files. A block that it does not know fails it.
func TestTheTutorialOfExperimentsRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	commands, file, daemon, results := "", "", "", ""
	for _, block := range indented(string(text)) {
		switch {
		case strings.HasPrefix(block, "meridian run --new"):
			commands = block
		case strings.HasPrefix(block, "hosts: ["):
			file = block
		case strings.HasPrefix(block, "sum=0"):
			daemon = block
		case strings.HasPrefix(block, "meridian run --repeat-from results/"):
			results = block
		case strings.HasPrefix(block, "daemon: {"): // what is said, not run
		default:
			for line := range strings.Lines(block) {
				words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "taskset -c 0,1 "))
				switch {
				case len(words) == 3 && words[0] == "meridian" && words[1] == "run" && strings.HasPrefix(words[2], "examples/"):
					run("meridian", "run", "--check", filepath.Join(checkout, words[2]))
				case len(words) >= 3 && words[0] == "go" && words[1] == "run":
					if _, err := os.Stat(filepath.Join(checkout, words[2], "main.go")); err != nil {
						t.Error(err)
					}
				case strings.HasPrefix(line, "make "):
					makefile, err := os.ReadFile(filepath.Join(checkout, "Makefile"))
					if err != nil || !strings.Contains(string(makefile), "\n"+words[1]+":") {
						t.Errorf("%s: no such rule: %v", line, err)
					}
				default:
					t.Errorf("nothing runs this line of the tutorial: %s", line)
				}
			}
		}
	}
	if commands == "" || file == "" || daemon == "" || results == "" {
		t.Fatalf("the tutorial has not what it had: %q, %q, %q, %q", commands, file, daemon, results)
	}
	run("sh", "-e", "-c", strings.ReplaceAll(commands, "meridian run start.yaml", "meridian run start.yaml --on processes -o start"))
	write("first.yaml", file)
	if out := run("meridian", "run", "first.yaml", "--on", "processes", "-o", "first"); !strings.Contains(out, "verdict: yes") {
		t.Errorf("%s", out)
	}
	if greeting, err := os.ReadFile(filepath.Join(dir, "first/hosts/b/files/greeting/greeting.txt")); string(greeting) != "hello from b\n" {
		t.Errorf("%q, %v", greeting, err)
	}
	if err := os.Symlink("first", filepath.Join(dir, "results")); err != nil {
		t.Fatal(err)
	}
	if out := run("sh", "-e", "-c", results); !strings.Contains(out, "check check 1") || !strings.Contains(out, "greeting.run on b") {
		t.Errorf("%s", out)
	}
	write("adder.sh", daemon)
	write("adder.yaml", `files: [adder.sh]
hosts: [a]
daemons: {adder: {host: a, run: [sh, adder.sh], speaks: true}}
schedule: [{phase: adder.add, with: {n: 2}}, {phase: adder.add, with: {n: 3}}]
expect: [{result: adder.add.sum, max: 5}]
`)
	if out := run("meridian", "run", "adder.yaml", "--on", "processes", "-o", "adder"); !strings.Contains(out, "sum is 5 on a") {
		t.Errorf("%s", out)
	}
}

func TestADaemonInGo(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "meridian/examples/experiments/adder").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command("meridian", "run", "../../examples/experiments/go.yaml", "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), "sum is 5 on a") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDaemonsInPythonAndTheShell(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "python3")
	c := exec.Command("meridian", "run", "../../examples/experiments/languages.yaml", "--on", "processes", "-o", filepath.Join(t.TempDir(), "out"), "-q")
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), "sum is 5 on a") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
