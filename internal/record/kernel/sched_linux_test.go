package kernel_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
)

func TestSwitchesAreThoseOfTheProcessAndItsChildren(t *testing.T) { kerneltest.Switches(t, record) }

func TestSystemCallsHaveNamesAndArguments(t *testing.T) {
	kerneltest.SystemCalls(t, func(studied, file string) []kerneltest.Event {
		rec := record(t, kernel.Options{Groups: kernel.Syscalls, Command: "studied-c*"})
		kerneltest.Run(t, exec.Command(studied, file))
		kerneltest.Run(t, exec.Command("cat", file))
		return rec.Stop()
	})
}

func TestOnlyWhomFollowNamesIsFollowed(t *testing.T) { kerneltest.OnlyFollowed(t, record) }

func TestACgroupAndAllBelowItIsRecorded(t *testing.T) {
	root := cgroups(t)
	studied := filepath.Join(root, fmt.Sprintf("meridian-test-%d", os.Getpid()))
	inner := filepath.Join(studied, "inner")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		testneed.Missing(t, "no cgroup can be made: %v", err)
	}
	t.Cleanup(func() { os.Remove(inner); os.Remove(studied) })
	rec := record(t, kernel.Options{Groups: kernel.Syscalls, Cgroup: studied})
	kerneltest.Run(t, exec.Command(kerneltest.Program(t, "sh", "insider"), "-c", "echo $$ >"+inner+"/cgroup.procs; /bin/true"))
	kerneltest.Run(t, exec.Command(kerneltest.Program(t, "true", "outsider")))
	events := rec.Stop()
	if len(kerneltest.Calls(t, events, "insider")) == 0 || len(kerneltest.Calls(t, events, "true")) == 0 || len(kerneltest.Calls(t, events, "outsider")) != 0 {
		t.Errorf("%d, %d and %d calls", len(kerneltest.Calls(t, events, "insider")), len(kerneltest.Calls(t, events, "true")), len(kerneltest.Calls(t, events, "outsider")))
	}
}

// cgroups returns where cgroup v2 is mounted.
func cgroups(t *testing.T) string {
	t.Helper()
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if parts := strings.Fields(s.Text()); len(parts) > 2 && parts[2] == "cgroup2" {
			return parts[1]
		}
	}
	testneed.Missing(t, "cgroup v2 is not mounted (mount -t cgroup2 none /sys/fs/cgroup)")
	return ""
}

func TestRowsUnderstandTheEvents(t *testing.T) {
	if rec := kerneltest.Rows(t, record, 32<<20); len(rec.Events) < 3000 {
		t.Errorf("only %d events", len(rec.Events))
	}
}
