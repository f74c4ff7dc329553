package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgramsOfOtherNamespacesAreOtherHosts records two namespaces at the same time on one machine: in each runs a program that waits
// until both recorders have seen both rings.
func TestProgramsOfOtherNamespacesAreOtherHosts(t *testing.T) {
	asRoot(t)
	unshare := needed(t, "unshare")
	dir := everybodys(t)
	meridian, waiter := installed(t, dir, "meridian"), installed(t, dir, "waiter")
	rings := filepath.Join(dir, "rings")
	if err := os.Mkdir(rings, 0o777); err != nil {
		t.Fatal(err)
	}
	type host struct {
		*exec.Cmd
		in   *os.File
		out  <-chan string
		said bytes.Buffer
	}
	hosts := map[string]*host{}
	for _, name := range []string{"web", "db"} {
		c := exec.Command(unshare, "--net", meridian, "record", "-o", name, "--rings", rings, "--netns", "/proc/self/ns/net", "--packets", "--", waiter, name)
		h := &host{Cmd: c}
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
	// A program that ends before a recorder has looked for it (every 50 ms) belongs to nobody's namespace that could be told.
	for name := range hosts {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if found, _ := filepath.Glob(filepath.Join(dir, name, "sensor_*")); len(found) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s records no program: %s", name, hosts[name].said.String())
			}
		}
	}
	// A recorder looks for rings at least once more before it ends, while the other's program is still there.
	for _, name := range []string{"web", "db"} {
		h := hosts[name]
		h.in.Close()
		var summary []string
		for line := range h.out {
			summary = append(summary, line)
		}
		err := h.Wait()
		all := strings.Join(summary, "\n")
		if n := strings.Count(all, " waiter"); err != nil || n != 1 || h.said.Len() > 0 {
			t.Errorf("%s has %d programs, %v\n%s%s", name, n, err, all, h.said.String())
		}
	}
}
