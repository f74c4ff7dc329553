package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// namespaced is a recorder of a network namespace of its own, in which it has started a program that waits.
type namespaced struct {
	*exec.Cmd
	in   *os.File
	out  <-chan string
	said bytes.Buffer
}

// twoNamespaces starts two recorders on one machine, web and db, which look for rings in one directory, and waits until the programs
// of both are there.
func twoNamespaces(t *testing.T, dir, rings string) map[string]*namespaced {
	t.Helper()
	testneed.Root(t, "recording kernel events and packets")
	unshare := testneed.Program(t, "unshare")
	meridian, waiter := installed(t, dir, "meridian"), installed(t, dir, "waiter")
	if err := os.Mkdir(rings, 0o777); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]*namespaced{}
	for _, name := range []string{"web", "db"} {
		c := exec.Command(unshare, "--net", meridian, "record", "-o", name, "--rings", rings, "--netns", "/proc/self/ns/net", "--packets", "--", waiter, name)
		h := &namespaced{Cmd: c}
		c.Dir, c.Stderr = dir, &h.said
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdin, h.in = read, write
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		h.out = lines(out)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		read.Close()
		hosts[name] = h
	}
	for name, h := range hosts { // both rings are there
		if line := <-h.out; line != "ready" {
			t.Fatalf("%s says %q: %s", name, line, h.said.String())
		}
	}
	return hosts
}

// end lets the command of a recorder end and returns the summary.
func (h *namespaced) end(t *testing.T) string {
	t.Helper()
	h.in.Close()
	var summary []string
	for line := range h.out {
		summary = append(summary, line)
	}
	all := strings.Join(summary, "\n")
	if err := h.Wait(); err != nil || h.said.Len() > 0 {
		t.Errorf("%v\n%s%s", err, all, h.said.String())
	}
	return all
}

// TestProgramsOfOtherNamespacesAreOtherHosts records two namespaces at the same time on one machine: in each runs a program that waits
// until it is told to end.
func TestProgramsOfOtherNamespacesAreOtherHosts(t *testing.T) {
	dir := everybodys(t)
	hosts := twoNamespaces(t, dir, filepath.Join(dir, "rings"))
	for _, name := range []string{"web", "db"} {
		if all := hosts[name].end(t); strings.Count(all, " waiter") != 1 {
			t.Errorf("%s has other programs than its own\n%s", name, all)
		}
	}
}

// TestProgramsThatEndAtOnceAreOfTheirOwnNamespace: when a recorder looks, they are gone, and their rings alone know whose they were.
func TestProgramsThatEndAtOnceAreOfTheirOwnNamespace(t *testing.T) {
	dir := everybodys(t)
	rings := filepath.Join(dir, "rings")
	hosts := twoNamespaces(t, dir, rings)
	nsenter, emit := testneed.Program(t, "nsenter"), installed(t, dir, "emit")
	const each = 8
	for range each {
		for _, name := range []string{"web", "db"} {
			c := exec.Command(nsenter, fmt.Sprintf("--net=/proc/%d/ns/net", hosts[name].Process.Pid), emit, "3")
			c.Env = append(os.Environ(), "MERIDIAN="+rings)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	for _, name := range []string{"web", "db"} {
		if all := hosts[name].end(t); strings.Count(all, " emit\n") != each || strings.Count(all, " waiter\n") != 1 {
			t.Errorf("%s does not have %d programs and a waiting one, all its own\n%s", name, each, all)
		}
	}
}
