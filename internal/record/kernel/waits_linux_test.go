package kernel_test

import (
	"fmt"
	"os/exec"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
)

func TestRequestsToDisksAreRecorded(t *testing.T) { kerneltest.Disk(t, record) }

// While a followed thread waits for a processor, each switch there goes on from where the last one went, whosoever they are.
func TestWhoHasTheProcessorThatAFollowedThreadWaitsForIsKnown(t *testing.T) {
	testneed.Program(t, "taskset")
	const spin = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
	pid, pass := kerneltest.Gate(t, "studied", "taskset -p -c 0 $$ >/dev/null; "+spin)
	rec := record(t, kernel.Options{Groups: kernel.Sched, Pids: []int{pid}, BufferSize: 32 << 20})
	done := make(chan error, 1)
	busy := exec.Command("taskset", "-c", "0", "sh", "-c", fmt.Sprintf("(%s) & (%s) & wait", spin, spin))
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- busy.Wait() }()
	pass()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	waits, others, broken := 0, 0, uint64(0)
	waiting, last := false, int64(-1)
	events := rec.Stop()
	leaves := map[int64]bool{} // a kernel may hide a process from tracers, and so each switch that its threads make
	for _, e := range events {
		if e.Name() == "sched_switch" {
			leaves[e.Value(t, "prev_tid").Int()] = true
		}
	}
	for _, e := range events {
		if e.Name() != "sched_switch" || e.CPU != 0 {
			continue
		}
		from, to, state := e.Value(t, "prev_tid").Int(), e.Value(t, "next_tid").Int(), e.Value(t, "prev_state").Int()
		if waiting && from != last && leaves[last] {
			broken++
			t.Logf("thread %d had the processor, and thread %d left it", last, from)
		}
		if waiting && to != int64(pid) {
			others++
		}
		switch last = to; {
		case from == int64(pid) && (state == 0 || state == 0x100):
			waiting = true
			waits++
		case to == int64(pid):
			waiting = false
		}
	}
	if waits == 0 || others == 0 {
		t.Errorf("the thread waited %d times for its processor, which had %d others meanwhile", waits, others)
	}
	if lost := rec.Lost(); broken > lost {
		t.Errorf("%d switches do not go on from where the last one went, %d events are counted as lost", broken, lost)
	}
}

// Threads of the kernel that wait for work are idle (TASK_IDLE is 0x402), which others must not take for a wait for a disk.
func TestIdleThreadsOfTheKernelAreNotUninterruptible(t *testing.T) {
	rec := record(t, kernel.Options{Groups: kernel.Sched, BufferSize: 32 << 20})
	kerneltest.Run(t, exec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done"))
	idle := 0
	for _, e := range rec.Stop() {
		if e.Name() == "sched_switch" && e.Value(t, "prev_state").Int() == 0x402 {
			idle++
		}
	}
	if idle == 0 {
		t.Error("no thread was left in TASK_IDLE")
	}
}
