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
)

// A page is followed to the letter: its blocks are run as one script, and what each prints is compared with the page.
//
//	```sh           run, in the order of the page
//	```text         the block of the shell above prints these lines, in this order, others between them; "..." stands for anything
//	```c shop.c     written to the file shop.c, for the blocks below
//	```console      for another machine: not run
//
// Any other language is a fault, and so is code without a fence, which nobody would run.

// fenced is a block of a page with its language and what follows it on the line.
var fenced = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

var unfenced = regexp.MustCompile(`(?m)^    \S.*\n`)

// endOfBlock is printed behind each block.
const endOfBlock = "@@ end of block"

// section is a part of a page whose blocks run in one shell.
type section struct {
	title  string
	script strings.Builder
	wanted [][]string // lines, by block of the shell
	faults []string   // of the page itself
}

// newSection reads the blocks of a text. before runs first, and its output is compared with nothing.
func newSection(title, text, before string) *section {
	s := &section{title: title}
	fmt.Fprintf(&s.script, "%s\necho '%s'\n", before, endOfBlock)
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		switch language, file, body := block[1], block[2], block[3]; {
		case language == "sh":
			fmt.Fprintf(&s.script, "%s\necho '%s'\n", body, endOfBlock)
			s.wanted = append(s.wanted, nil)
		case language == "text" && len(s.wanted) == 0:
			s.faults = append(s.faults, "output before any command: "+body)
		case language == "text":
			last := &s.wanted[len(s.wanted)-1]
			*last = append(*last, strings.Split(strings.TrimSpace(body), "\n")...)
		case file != "":
			fmt.Fprintf(&s.script, "cat >%s <<'END OF FILE'\n%sEND OF FILE\n", file, body)
		case language != "console":
			s.faults = append(s.faults, fmt.Sprintf("nothing follows a block of %q", language))
		}
	}
	for _, line := range unfenced.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
		s.faults = append(s.faults, "code without a fence, which is never run: "+strings.TrimSpace(line))
	}
	return s
}

// isolate runs a script, $1, with a network, processes and shared memory of its own. All that it started ends with it.
const isolate = `exec unshare --net --mount --pid --ipc --fork --kill-child sh -e -c '
	mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && ip link set lo up
	exec sh -e "$0"' "$1"`

// samePIDs does so with the machine's processes, which a recorder of kernel events needs. The script ends what it starts.
const samePIDs = `exec unshare --net --mount --ipc sh -e -c '
	mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && ip link set lo up
	exec sh -e "$0"' "$1"`

// follow runs the blocks in a directory, and returns what is not as written, and all that was printed. with is what runs the script; outside is a directory for it.
func (s *section) follow(with, dir, outside string, env []string) (faults []string, printed string) {
	path := filepath.Join(outside, "script")
	if err := os.WriteFile(path, []byte(s.script.String()), 0o600); err != nil {
		return []string{err.Error()}, ""
	}
	c := exec.Command("sh", "-c", with, "sh", path)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	if err != nil {
		return append(s.faults, fmt.Sprintf("%v\n%s", err, out)), string(out)
	}
	return append(s.faults, s.compare(strings.Split(string(out), endOfBlock+"\n")[1:])...), string(out)
}

// compare returns the lines that are wanted and that no block has printed.
func (s *section) compare(printed []string) (faults []string) {
	for i, lines := range s.wanted {
		rest := strings.Split(printed[i], "\n")
		for _, want := range lines {
			at := lineLike(rest, want)
			if at < 0 {
				faults = append(faults, fmt.Sprintf("block %d does not print %q (any more), but\n%s", i+1, want, printed[i]))
				break
			}
			rest = rest[at+1:]
		}
	}
	return faults
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

// homeOf is the environment of somebody new on a machine: a home of their own, and what the go command has downloaded and built before.
// It has no spare capacity, so that tests beside each other may append to it.
func homeOf(t *testing.T, home string, more ...string) []string {
	return slices.Clip(append(append(os.Environ(), "HOME="+home, "LC_ALL=C.UTF-8", "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE")), more...))
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
