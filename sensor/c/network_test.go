package c_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"meridian/sensor/ring"
)

// TestARingNamesTheNetworkNamespaceOfItsProgram runs a program here and in a namespace of its own.
func TestARingNamesTheNetworkNamespaceOfItsProgram(t *testing.T) {
	t.Parallel()
	path := build(t, "gcc", "-std=c11", "-O2", "-DMERIDIAN_TEST_CLOCK", "testdata/types.c")
	const show = `readlink /proc/self/ns/net; exec "$0" "$@"`
	seen := map[uint64]bool{}
	for _, how := range [][]string{{"sh", "-c", show}, {"unshare", "--net", "sh", "-c", show}} {
		if out, err := exec.Command(how[0], append(how[1:len(how)-1:len(how)-1], "true")...).CombinedOutput(); err != nil {
			if os.Getenv("MERIDIAN_CI") == "1" {
				t.Fatalf("%q: %v: %s", how, err, out)
			}
			t.Skipf("%s cannot run: %v: %s; it needs root (CAP_SYS_ADMIN) and unshare of util-linux", how[0], err, out)
		}
		c := command(t, path, "n=1", "long=0")
		c.Path, c.Args = compiler(t, how[0]), append(how, c.Args...)
		lines := run(t, c)
		var inode uint64
		if _, err := fmt.Sscanf(lines[0], "net:[%d]", &inode); err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		info, err := ring.Look(lines[1])
		if err != nil || info.Network != inode || inode == 0 {
			t.Errorf("%q: the ring names %d, the system %d, %v", how, info.Network, inode, err)
		}
		seen[inode] = true
	}
	if len(seen) != 2 {
		t.Errorf("namespaces %v", seen)
	}
}
