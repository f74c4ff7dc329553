package tracefs

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
)

func TestSwitchesAreThoseOfTheProcessAndItsChildren(t *testing.T) { kerneltest.Switches(t, begin) }

func TestSystemCallsHaveNamesAndArguments(t *testing.T) {
	kerneltest.SystemCalls(t, func(studied, file string) []kerneltest.Event {
		pid, pass := kerneltest.Gate(t, "studied", studied+" "+file)
		rec := begin(t, Options{Groups: kernel.Syscalls, Pids: []int{pid}})
		kerneltest.Run(t, exec.Command("cat", file))
		pass()
		return rec.Stop()
	})
}

func TestOnlyWhomFollowNamesIsFollowed(t *testing.T) { kerneltest.OnlyFollowed(t, begin) }

func TestWhatHappenedBeforeTheContextEndsIsGiven(t *testing.T) {
	rec, _ := open(t, Options{Groups: kernel.Sched})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rec.Read(ctx) // from the start: on a busy machine the events of some seconds fill a ring that nobody reads
	var pids []int
	for range 10 {
		c := exec.Command("true")
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, c.Process.Pid)
	}
	cancel()
	if err := rec.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := rec.Overflowed(); n != 0 { // a machine whose processors are all taken: which events is the kernel's choice
		t.Logf("%d events found no room", n)
		return
	}
	for _, pid := range pids {
		if !slices.ContainsFunc(rec.Events, func(e kerneltest.Event) bool {
			return e.Name() == "sched_process_exit" && e.Value(t, "tid").Int() == int64(pid)
		}) {
			t.Errorf("the end of %d is missing", pid)
		}
	}
}

func TestRequestsToDisksAreRecorded(t *testing.T) { kerneltest.Disk(t, begin) }
