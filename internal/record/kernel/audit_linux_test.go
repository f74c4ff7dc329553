package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"meridian/clock"
	"meridian/internal/record/internal/tracing"
	"meridian/internal/testneed"
	"meridian/trace"
)

// audited opens a recorder of packets, which perf counts, or ends the test where that is not permitted.
func audited(t *testing.T, w *trace.Warnings) *Recorder {
	t.Helper()
	r := reading(t, Options{Groups: Net, BufferSize: 16 << 20}, w, func(*Event) error { return nil })
	if r.audit == nil {
		testneed.Missing(t, "perf's counters of tracepoints are not permitted: %q", w.Lines())
	}
	return r
}

// reading opens a recorder whose events go to each until the test ends.
func reading(t *testing.T, o Options, w *trace.Warnings, each func(*Event) error) *Recorder {
	t.Helper()
	testneed.Long(t, "records kernel events")
	r, err := Open(o, w)
	var u *Unavailable
	if errors.As(err, &u) {
		testneed.Missing(t, "%v", u)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Read(context.Background(), each) }()
	t.Cleanup(func() {
		if err := errors.Join(r.Stop(), <-ended, r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// unseenFor detaches the recorder's program of received packets while do runs, which the kernel then shows to perf alone. It
// returns how many packets perf counted meanwhile by a counter of the test's own. Attach says whether the program is attached
// again.
func unseenFor(t *testing.T, r *Recorder, attach bool, do func()) (most uint64) {
	t.Helper()
	const name = "netif_receive_skb"
	mount, err := tracing.Find()
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	id, err := mount.TracepointID("net/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var counters []counter
	for _, g := range r.rings {
		fd, err := openCounter(id, g.cpu, "")
		if err == nil {
			err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, counter{fd: fd, cpu: g.cpu})
		defer unix.Close(fd)
	}
	if err := r.links[0].Close(); err != nil { // the first that Open attaches
		t.Fatal(err)
	}
	do()
	if attach {
		if r.links[0], err = link.AttachTracing(link.TracingOptions{Program: r.programs.Programs[name]}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range counters {
		n, _, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		most += n
	}
	return most
}

// datagrams sends some over the loopback interface.
func datagrams(t *testing.T, n int) {
	t.Helper()
	to, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	from, err := net.Dial("udp", to.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	b := make([]byte, 1)
	for range n {
		if _, err := from.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, _, err := to.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
	}
}

func missed(t *testing.T, r *Recorder) uint64 {
	t.Helper()
	n, err := r.Missed()
	if err != nil {
		t.Fatal(err)
	}
	lost, err := r.Lost()
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, x := range lost {
		sum += x
	}
	if sum < n {
		t.Errorf("%d missed events, %d lost", n, sum)
	}
	return n
}

func TestEventsForWhichNoProgramRanAreCountedWhileItRecords(t *testing.T) {
	r := audited(t, new(trace.Warnings))
	datagrams(t, 100)
	before := missed(t, r)
	const hidden = 50
	most := unseenFor(t, r, true, func() { datagrams(t, hidden) })
	for deadline := time.Now().Add(time.Minute); missed(t, r)-before < hidden; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d hidden packets are counted", missed(t, r)-before, hidden)
		}
		datagrams(t, 1) // on the processor that missed them, sooner or later
	}
	// Others may be missed in earnest meanwhile, for which there is no other count; an event that is counted twice would be half of all.
	if n := missed(t, r) - before; n >= most+hidden {
		t.Errorf("%d packets are counted, %d were hidden", n, most)
	}
}

func TestEventsMissedAtTheVeryEndAreCounted(t *testing.T) {
	r := audited(t, new(trace.Warnings))
	datagrams(t, 100)
	before := missed(t, r)
	const hidden = 50
	most := unseenFor(t, r, false, func() {
		datagrams(t, hidden)
		if err := r.audit.finish(); err != nil { // others may send after this
			t.Fatal(err)
		}
	})
	if n := missed(t, r) - before; n < hidden || n >= most+hidden {
		t.Errorf("%d packets are counted, at least %d and at most %d were hidden", n, hidden, most)
	}
}

// TestDifferencesThatPassAreNotCounted holds the readings against a hand-made order of differences: an event that is counted and
// whose program is yet to run, perf's own misses, and true ones.
func TestDifferencesThatPassAreNotCounted(t *testing.T) {
	a, tally := &audit{}, &tally{}
	last := int64(0)
	for i, step := range []struct {
		missed int64
		want   uint64
	}{{0, 0}, {1, 0}, {0, 0}, {2, 0}, {2, 2}, {1, 2}, {1, 2}, {2, 2}, {2, 3}, {-7, 3}, {-7, 3}, {-6, 3}, {-6, 4}} {
		a.take(tally, []int64{min(step.missed, last)})
		if last = step.missed; a.missed[0] != step.want || tally.total != step.want {
			t.Errorf("step %d: %d counted, want %d", i, a.missed[0], step.want)
		}
	}
}

func TestAProcessorWhoseCounterStoodStillIsNamed(t *testing.T) {
	var w trace.Warnings
	r := audited(t, &w)
	for _, c := range r.audit.tallies[0].counters {
		if err := unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil { // as when it goes offline
			t.Fatal(err)
		}
	}
	since, stopped := r.audit.tallies[0].counters[0].since, clock.Monotonic.Now()
	for now := stopped; now-stopped < uint64(150*time.Millisecond)+(now-since)/50; now = clock.Monotonic.Now() {
		datagrams(t, 1)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	r.reportFaults()
	if said := strings.Join(w.Lines(), "\n"); !strings.Contains(said, unaudited) || !strings.Contains(said, "processor 0, which was offline") {
		t.Errorf("%q", said)
	}
}

func TestWithoutPerfTheRecorderSaysWhatItDoesNotCount(t *testing.T) {
	testneed.Long(t, "records kernel events")
	type result struct {
		r   *Recorder
		err error
	}
	var w trace.Warnings
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never let go: the thread ends with its lack of capabilities
		if err := hideTracefs(); err != nil {
			done <- result{nil, err}
			return
		}
		const bpf = 1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		both := [2]unix.CapUserData{1: {Effective: bpf >> 32, Permitted: bpf >> 32}}
		if err := unix.Capset(&header, &both[0]); err != nil {
			done <- result{nil, err}
			return
		}
		r, err := Open(Options{Groups: Net}, &w)
		done <- result{r, err}
	}()
	got := <-done
	if got.err != nil {
		testneed.Missing(t, "%v", got.err)
	}
	if err := got.r.Close(); err != nil {
		t.Error(err)
	}
	if said := strings.Join(w.Lines(), "\n"); !strings.Contains(said, unaudited) || !strings.Contains(said, "counting them needs root") {
		t.Errorf("%q", said)
	}
}

// hideTracefs takes tracefs, which root reads without any capability, out of the calling thread's view.
func hideTracefs() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	for _, dir := range tracing.MountsOf(string(table), "tracefs") {
		err = errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
	}
	return err
}

// asleep waits until a process waits within a system call, and has left its processor.
func asleep(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		if err != nil {
			testneed.Missing(t, "whether a process sleeps cannot be read: %v", err)
		}
		if said := string(text); said[0] >= '0' && said[0] <= '9' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not fall asleep: %s", pid, text)
		}
	}
}

// TestWakeUpsThatNoProgramToldOfAreCounted lets a followed process sleep and run again while the programs of its wake-ups are
// detached. The switches say how often it was woken.
func TestWakeUpsThatNoProgramToldOfAreCounted(t *testing.T) {
	for detached := range 3 {
		c := exec.Command("cat")
		in, err1 := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		if err := errors.Join(err1, err2, c.Start()); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		slept, woken := false, uint64(0)
		var mu sync.Mutex
		var classes []trace.Class
		known := make(chan struct{})
		r := reading(t, Options{Groups: Sched, Pids: []int{c.Process.Pid}}, &w, func(e *Event) error {
			<-known
			if classes[e.Class].Name != "sched_switch" {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			prev, state, next := e.Values[1].Int(), e.Values[3].Int(), e.Values[5].Int()
			switch int64(c.Process.Pid) {
			case prev:
				const sleeps = 3 // TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE
				slept = state&sleeps != 0
			case next:
				if slept {
					woken++
				}
				slept = false
			}
			return nil
		})
		classes = r.Classes()
		close(known)
		before := missed(t, r)
		for i := range detached { // sched_waking, then sched_wakeup
			if err := r.links[len(r.links)-1-i].Close(); err != nil {
				t.Fatal(err)
			}
		}
		line := make([]byte, 2)
		for range 300 {
			asleep(t, c.Process.Pid) // else there would be nobody to wake
			if _, err := in.Write([]byte("x\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, line); err != nil {
				t.Fatal(err)
			}
		}
		in.Close()
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
			mu.Lock()
			n := woken
			mu.Unlock()
			got := missed(t, r) - before
			// Of a few wake-ups the switches show no sleep: the waker came before it.
			if want := n * uint64(detached); n > 100 && got >= want && got <= want+uint64(detached)*(2+n/50) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d programs of wake-ups detached: %d events counted of %d wake-ups", detached, got, n)
			}
		}
	}
}
