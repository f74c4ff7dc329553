package kernel_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"meridian/clock"
	meaning "meridian/internal/kernel"
	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// busy is a script of more work than there are processors, of processes that give way to each other.
const busy = `for job in 1 2 3 4; do
	( for i in 1 2 3 4 5 6 7 8 9 10; do j=0; while [ $j -lt 2000 ]; do j=$((j+1)); done; /bin/true; done ) &
done; wait`

func init() {
	if os.Getenv("MERIDIAN_KERNEL_TEST") == "threads" {
		beManyThreads()
	}
}

// beManyThreads works on threads that come and go, and at last becomes another program from a thread that is not the first.
func beManyThreads() {
	runtime.LockOSThread() // to the first thread, where the others are not
	var all sync.WaitGroup
	for range 40 {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread() // and so the thread ends with the goroutine
			for i := range 20 {
				for x := 0; x < 20_000; x++ {
					runtime.KeepAlive(x)
				}
				if i%5 == 0 {
					syscall.Nanosleep(&syscall.Timespec{Nsec: int64(10 * time.Microsecond)}, nil)
				}
			}
		}()
	}
	all.Wait()
	failed := make(chan error)
	go func() {
		failed <- syscall.Exec("/bin/true", []string{"true"}, nil)
	}()
	fmt.Fprintln(os.Stderr, <-failed)
	os.Exit(1)
}

// slice is a time in which a thread ran.
type slice struct{ begin, end clock.HostTime }

// runs returns when each thread ran, by its number.
func runs(rec *kerneltest.Recording) (of map[int64][]slice, warnings []string) {
	var w trace.Warnings
	rows := meaning.Rows(rec.Source(nil), &w)
	of = map[int64][]slice{}
	began := map[uint64]clock.HostTime{}
	var e trace.Event
	for rows.Next(&e) == nil {
		row := &rows.Streams()[e.Stream]
		if row.Kind != trace.Thread || rows.Classes()[e.Class].Name != "running" {
			continue
		}
		if e.Phase == trace.Begin {
			began[e.Slice] = e.Time
		} else {
			of[row.ID] = append(of[row.ID], slice{began[e.Slice], e.Time})
		}
	}
	return of, w.Lines()
}

// TestFollowedThreadsRunWhenTheyRunAmongAll records the same twice: the processes under study, and everything.
func TestFollowedThreadsRunWhenTheyRunAmongAll(t *testing.T) {
	t.Run("processes", func(t *testing.T) { amongAll(t, busy, false) })
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("threads", func(t *testing.T) { amongAll(t, "MERIDIAN_KERNEL_TEST=threads exec "+binary, true) })
}

// amongAll studies what a script does, and whether a thread of it becomes the first one of its process. On a busy machine a recorder may
// lack events, which are counted: a switch is of two threads, whose runs then differ.
func amongAll(t *testing.T, script string, becomes bool) {
	faults, lost := studied(t, script, becomes)
	if len(faults) == 0 {
		return
	}
	if t.Logf("%d events lost: %s", lost, strings.Join(faults, "; ")); uint64(len(faults)) > 2*lost {
		t.Error("the threads do not run as they run among all")
	}
}

// studied returns what does not fit, at most one fault of each thread, and how many events the recorders lack.
func studied(t *testing.T, script string, becomes bool) (faults []string, lost uint64) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	pid, pass := kerneltest.Gate(t, "studied", script)
	_, other := kerneltest.Gate(t, "bystander", busy)
	all := record(t, kernel.Options{Groups: kernel.Sched, BufferSize: 16 << 20})
	some := record(t, kernel.Options{Groups: kernel.Sched, Pids: []int{pid}, BufferSize: 16 << 20})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		other()
	}()
	pass()
	<-ended
	few, many := some.Stop(), all.Stop()
	lost = some.Lost() + all.Lost()
	got, warnings := runs(some)
	want, others := runs(all)
	if len(warnings) > 0 {
		fault("%q, among all %q", warnings, others)
	}
	lost += uint64(len(others)) // switches that no recorder was shown, and no counter of the kernel's has
	family, became := map[int64]bool{int64(pid): true}, false
	for i := range few {
		switch e := &few[i]; e.Name() {
		case "sched_process_fork":
			family[e.Value(t, "child_tid").Int()] = true
		case "sched_process_exec":
			became = became || e.Value(t, "old_tid").Int() != e.Value(t, "tid").Int()
		}
	}
	if became != becomes {
		fault("a thread became the first one: %t", became)
	}
	total, slices := int64(0), 0
	for tid, mine := range got {
		if !family[tid] {
			fault("thread %d, which is not followed, runs %d times", tid, len(mine))
			continue
		}
		theirs := want[tid]
		if len(theirs) != len(mine) {
			fault("thread %d runs %d times, among all %d times", tid, len(mine), len(theirs))
			continue
		}
		for i := range mine {
			// At a switch the program of the recorder that was opened first takes its stamp first.
			if mine[i].begin < theirs[i].begin || mine[i].begin > theirs[i].end || mine[i].end < theirs[i].end || i > 0 && mine[i-1].end > theirs[i].begin {
				fault("thread %d runs from %d to %d, among all from %d to %d", tid, mine[i].begin, mine[i].end, theirs[i].begin, theirs[i].end)
				break
			}
			total += int64(mine[i].end - mine[i].begin)
		}
		slices += len(mine)
	}
	if slices < 100 || len(got) < 40 {
		fault("%d threads run %d times", len(got), slices)
	}
	t.Logf("%d threads run %d times, %d ms in all; %d events among %d", len(got), slices, total/1e6, len(few), len(many))
	return faults, lost
}
