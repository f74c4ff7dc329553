package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// quickStarts are the sections of docs/quickstart.md.
var quickStarts = []string{"Captures", "LTTng", "My Go program", "My C program", "OpenTelemetry spans", "ML ranks", "A cluster"}

// isolate runs a script, $1, with a network, processes and shared memory of its own. All that it started ends with it.
const isolate = `exec unshare --net --mount --pid --ipc --fork --kill-child sh -e -c '
	mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && ip link set lo up
	exec sh -e "$0"' "$1"`

// TestQuickStartsEndAsWritten runs each section of docs/quickstart.md to the letter, in an empty directory and with the command on PATH. Every block
// prints the lines that the page shows, in their order; "..." stands for anything.
func TestQuickStartsEndAsWritten(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "a network of its own for each quick start")
	testneed.Program(t, "unshare")
	testneed.Program(t, "ip")
	testneed.Program(t, "curl")
	testneed.Program(t, "gcc")
	testneed.Program(t, "lttng-gen-tp") // of the package with LTTng's headers
	testneed.Program(t, "lttng-sessiond")
	page, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		titles = append(titles, title)
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			followPage(t, text, checkout)
		})
	}
	if !slices.Equal(titles, quickStarts) {
		t.Errorf("the page has %q, not %q", titles, quickStarts)
	}
}

// fenced is a block of a page with its language.
var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// followPage runs the shell's blocks of a section as one script, and compares what each prints.
func followPage(t *testing.T, text, checkout string) {
	const mark = "@@ end of block"
	var script strings.Builder
	var wanted [][]string // lines, by block of the shell
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		switch block[1] {
		case "sh":
			fmt.Fprintf(&script, "%s\necho '%s'\n", block[2], mark)
			wanted = append(wanted, nil)
		case "text":
			if len(wanted) == 0 {
				t.Fatalf("output before any command: %s", block[2])
			}
			wanted[len(wanted)-1] = append(wanted[len(wanted)-1], strings.Split(strings.TrimSpace(block[2]), "\n")...)
		case "console": // for other machines
		default:
			t.Errorf("nothing follows a block of %q", block[1])
		}
	}
	if len(wanted) == 0 {
		t.Fatal("no commands")
	}
	dir, outside := t.TempDir(), t.TempDir()
	path := filepath.Join(outside, "script")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", isolate, "sh", path)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+outside, "MERIDIAN_SOURCE="+checkout, "LC_ALL=C.UTF-8", "GOFLAGS=-mod=mod", "GOWORK=off", "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(string(out), mark+"\n")
	for i, lines := range wanted {
		rest := strings.Split(printed[i], "\n")
		for _, want := range lines {
			at := lineLike(rest, want)
			if at < 0 {
				t.Errorf("block %d does not print %q (any more), but\n%s", i+1, want, printed[i])
				break
			}
			rest = rest[at+1:]
		}
	}
}

// lineLike returns the first line that reads like the wanted one, -1 if none does.
func lineLike(lines []string, want string) int {
	like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*") + `\s*$`)
	for i, line := range lines {
		if like.MatchString(line) {
			return i
		}
	}
	return -1
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
