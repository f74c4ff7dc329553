package kerneltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// Begin begins a recording with these options, or ends the test where the machine cannot record.
type Begin func(t *testing.T, o kernel.Options) *Recording

// Calls returns the names of the system calls begun by the processes of one name.
func Calls(t testing.TB, events []Event, comm string) []string {
	t.Helper()
	var names []string
	for i := range events {
		e := &events[i]
		if call, ok := strings.CutPrefix(e.Name(), "syscall_entry_"); ok && string(e.Value(t, "procname").Data) == comm {
			names = append(names, call)
		}
	}
	return names
}

// Switches checks that the scheduler's events are those of a process and its children, and no others.
func Switches(t *testing.T, begin Begin) {
	pid, pass := Gate(t, "studied", "/bin/true; (/bin/true; /bin/true); sleep 0.01")
	_, other := Gate(t, "bystander", "/bin/true; /bin/true")
	rec := begin(t, kernel.Options{Groups: kernel.Sched, Pids: []int{pid}})
	other()
	pass()
	family := map[int64]bool{int64(pid): true}
	count := map[string]int{}
	running, waiting := map[int64]bool{}, map[int64]bool{}
	events := rec.Stop()
	woken := rec.Missed() == 0 // else a wake-up may be missing that made other threads' switches of interest
	for _, e := range events {
		count[e.Name()]++
		switch e.Name() {
		case "sched_process_fork":
			if !family[e.Value(t, "parent_pid").Int()] {
				t.Errorf("fork of stranger %d", e.Value(t, "parent_pid").Int())
			}
			family[e.Value(t, "child_pid").Int()] = true
		case "sched_switch":
			from, to := e.Value(t, "prev_tid").Int(), e.Value(t, "next_tid").Int()
			// Who has a processor is of interest where one of the family waits for it.
			if delete(waiting, to); !family[from] && !family[to] && len(waiting) == 0 && woken {
				t.Errorf("switch from %s to %s", e.Value(t, "prev_comm").Data, e.Value(t, "next_comm").Data)
			}
			if e.Value(t, "prev_followed").Bool() != family[from] || e.Value(t, "next_followed").Bool() != family[to] {
				t.Errorf("switch from %d to %d: wrong about which of them is followed", from, to)
			}
			running[from], running[to] = false, family[to]
			if state := e.Value(t, "prev_state").Int(); family[from] && (state == 0 || state == 0x100) {
				waiting[from] = true
			}
		default:
			if !family[e.Value(t, "tid").Int()] {
				t.Errorf("%s of stranger %s", e.Name(), e.Value(t, "comm").Data)
			}
			if strings.HasPrefix(e.Name(), "sched_wakeup") {
				waiting[e.Value(t, "tid").Int()] = true
			}
		}
	}
	for tid, runs := range running {
		if runs {
			t.Errorf("the last switch of %d is missing", tid)
		}
	}
	if n := len(family); n < 5 || count["sched_process_exec"] < 4 || count["sched_process_exit"] < 5 ||
		count["sched_switch"] < 10 || count["sched_waking"] == 0 {
		t.Errorf("%d processes, %v", n, count)
	}
	if n := rec.Overflowed(); n != 0 {
		t.Errorf("%d events lost", n)
	}
}

// SystemCalls checks the system calls of cat. Record runs and records the command "studied-cat FILE", runs "cat FILE", which
// it does not record, and returns the events.
func SystemCalls(t *testing.T, record func(studied, file string) []Event) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	events := record(Program(t, "cat", "studied-cat"), file)
	names := Calls(t, events, "studied-cat")
	for _, want := range []string{"openat", "read", "write", "close", "exit_group"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %q", want, names)
		}
	}
	if n := len(Calls(t, events, "cat")); n != 0 {
		t.Errorf("%d calls of a program that was not asked for", n)
	}
	// What the program wrote came back as its length, of the same thread.
	written := int64(-1)
	for i := range events {
		switch e := &events[i]; e.Name() {
		case "syscall_entry_write":
			if fd, n := e.Value(t, "arg0").Bits, e.Value(t, "arg2").Bits; fd != 1 || n != 9 {
				t.Errorf("write to %d of %d bytes", fd, n)
			}
			written = e.Value(t, "tid").Int()
		case "syscall_exit_write":
			if got := e.Value(t, "ret").Int(); got != 9 || e.Value(t, "tid").Int() != written {
				t.Errorf("write returned %d to %d", got, e.Value(t, "tid").Int())
			}
		}
	}
	if written < 0 {
		t.Error("no write")
	}
}

// Disk checks that what a program writes to a device for blocks is asked of it by a thread, and is done later.
func Disk(t *testing.T, begin Begin) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	major := deviceOf(t, file)
	rec := begin(t, kernel.Options{Groups: kernel.Disk})
	const written = 1 << 20
	Run(t, exec.Command("dd", "if=/dev/zero", "of="+file, "bs=64k", "count=16", "conv=fsync,notrunc"))
	var asked, done uint64
	under := map[[2]uint64]uint64{}
	for _, e := range rec.Stop() {
		at := [2]uint64{e.Value(t, "dev").Uint(), e.Value(t, "sector").Uint()}
		if len(e.Value(t, "name").Data) == 0 {
			t.Errorf("%s of device %d without a name", e.Name(), at[0])
		}
		if at[0]>>20 != major || e.Value(t, "operation").Uint() != 1 {
			continue
		}
		switch bytes := e.Value(t, "bytes").Uint(); e.Name() {
		case "block_rq_issue":
			under[at] = e.Stamp
			asked += bytes
			if e.Value(t, "issuer").Int() <= 0 && bytes == written {
				t.Errorf("no thread asked for %d bytes", bytes)
			}
		case "block_rq_complete":
			if since, known := under[at]; known {
				done += bytes
				if e.Stamp < since || e.Value(t, "error").Int() != 0 {
					t.Errorf("done at %d with error %d, asked at %d", e.Stamp, e.Value(t, "error").Int(), since)
				}
			}
		}
	}
	if lost := rec.Lost(); (asked < written || done < written) && lost == 0 {
		t.Errorf("the device was asked to write %d bytes and wrote %d, not %d, and no event is counted as lost", asked, done, written)
	}
}

// deviceOf returns the major number of the device on which a file is.
func deviceOf(t *testing.T, file string) uint64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		t.Fatal(err)
	}
	if unix.Major(s.Dev) == 0 {
		testneed.Missing(t, "temporary files are on no device for blocks")
	}
	return uint64(unix.Major(s.Dev))
}

// OnlyFollowed checks that a recording without named processes records those that Follow names and their children.
func OnlyFollowed(t *testing.T, begin Begin) {
	rec := begin(t, kernel.Options{Groups: kernel.Syscalls, OnlyFollowed: true})
	stranger := Run(t, exec.Command("true"))
	pid, pass := Gate(t, "named", "/bin/true")
	if err := rec.Recorder.Follow(pid); err != nil {
		t.Fatal(err)
	}
	pass()
	events := rec.Stop()
	if len(Calls(t, events, "named")) == 0 || len(Calls(t, events, "true")) == 0 {
		t.Error("not the process, or not its child")
	}
	for i := range events {
		e := &events[i]
		of, name := e.Value(t, "pid").Int(), "named"
		if strings.HasPrefix(e.Name(), "syscall_entry_") {
			name = string(e.Value(t, "procname").Data)
		}
		if of == int64(stranger) || name != "named" && name != "true" { // what comes later may have a smaller number
			t.Fatalf("%s of process %d, %s", e.Name(), of, name)
		}
	}
}

// Rows records all groups while two hosts talk, and checks that room kernel makes rows of the events.
func Rows(t *testing.T, begin Begin, bufferSize int) *Recording {
	lab := netlab.TwoHosts(t)
	all := kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls
	rec := begin(t, kernel.Options{Groups: all, Pids: []int{os.Getpid()}, BufferSize: bufferSize})
	lab.Run(netlab.Traffic{From: "web", To: "db", Chats: 1, Requests: 200})
	rec.Stop()
	wakers(t, rec)
	var w trace.Warnings
	rows := meaning.Rows(rec.Source(nil), &w)
	found := map[string]int{}
	var e trace.Event
	for rows.Next(&e) == nil {
		row, c := &rows.Streams()[e.Stream], &rows.Classes()[e.Class]
		if e.Phase == trace.Begin || row.Kind == trace.Device {
			found[row.Kind.String()+" "+c.Name]++
		}
	}
	for _, want := range []string{"thread running", "thread read", "thread write", "interrupt softirq NET_RX", "device net_dev_queue"} {
		if found[want] == 0 {
			t.Errorf("no %q in %v", want, found)
		}
	}
	t.Logf("%d events; %q", len(rec.Events), w.Lines())
	return rec
}

// wakers holds what wake-ups say of their wakers against the switches: the waker is the processor's current thread. Requests over
// the network wake threads from threads and from softirqs.
func wakers(t *testing.T, rec *Recording) {
	t.Helper()
	current := map[int]int64{} // by processor, where it is known
	contexts := map[uint64]int{}
	checked, wrong := 0, uint64(0)
	for i := range rec.Events {
		e := &rec.Events[i]
		switch e.Name() {
		case "sched_switch":
			if delete(current, e.CPU); e.Value(t, "next_followed").Bool() {
				current[e.CPU] = e.Value(t, "next_tid").Int()
			}
		case "sched_waking":
			contexts[e.Value(t, "waker_context").Uint()]++
			if tid, known := current[e.CPU]; known {
				if checked++; tid != e.Value(t, "waker_tid").Int() {
					wrong++
					t.Logf("thread %d woke thread %d, and thread %d ran there", e.Value(t, "waker_tid").Int(), e.Value(t, "tid").Int(), tid)
				}
			}
		}
	}
	if contexts[0] > 0 || contexts[1] == 0 || contexts[2] == 0 || checked < 100 {
		t.Errorf("wake-ups by context %v, %d of them by a thread that is known", contexts, checked)
	}
	if lost := rec.Lost(); wrong > lost {
		t.Errorf("%d wake-ups are by other threads than those that ran, %d events are counted as lost", wrong, lost)
	}
}
