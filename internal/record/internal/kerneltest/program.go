package kerneltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program links to a program under another name, which its processes then have.
func Program(t testing.TB, program, name string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// Gate starts a shell script, under a name of its own, that waits at a gate. Pass lets it go on and waits for its end.
func Gate(t testing.TB, name, script string) (pid int, pass func()) {
	t.Helper()
	c := exec.Command(Program(t, "sh", name), "-c", "read line; "+script)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return c.Process.Pid, func() {
		t.Helper()
		fmt.Fprintln(in)
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// Run runs a program to its end and returns its number.
func Run(t testing.TB, c *exec.Cmd) int {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", c, err, out)
	}
	return c.Process.Pid
}
