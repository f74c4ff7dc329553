package tracefs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// follower tells the kernel which processes are recorded: the roots, and all their descendants. Its methods may be called
// from any goroutine.
type follower struct {
	in *instance // whose set_event_pid lists the threads; nil where all processes are recorded

	mu      sync.Mutex
	roots   map[int]bool
	command proc.NamePattern // programs of that name become roots
	pending []pendingTask
	missing uint64 // processes, or threads, that could not be followed
}

// pendingTask is a thread that is followed, which the decoder does not know yet.
type pendingTask struct {
	tid  int32
	task task
}

func newFollower(in *instance) *follower { return &follower{in: in, roots: make(map[int]bool)} }

// follow records a process and its descendants from now on.
func (f *follower) follow(pid int) error {
	if err := proc.CheckPID(pid); err != nil {
		return err
	}
	if f.in == nil {
		return nil
	}
	if err := kernel.Followable(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.roots[pid] = true
	if err := f.update(); err != nil {
		return fmt.Errorf("kernel events: following process %d: %w", pid, err)
	}
	return nil
}

// followNamed follows the processes of the options that run already.
func (f *follower) followNamed(pids []int, command proc.NamePattern) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.command = command
	for _, pid := range pids {
		if err := proc.CheckPID(pid); err != nil {
			return err
		}
		f.roots[pid] = true
	}
	if err := f.update(); err != nil {
		return fmt.Errorf("kernel events: following processes: %w", err)
	}
	return nil
}

// followFound follows a process that the decoder has found.
func (f *follower) followFound(pid int32, w *trace.Warnings) {
	if err := f.follow(int(pid)); err != nil {
		w.Add(subject, unfollowed, err.Error())
		f.mu.Lock()
		f.missing++
		f.mu.Unlock()
	}
}

// failed returns how many processes could not be followed though they should have been.
func (f *follower) failed() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missing
}

// forget makes an ended process a root no longer: its number may be given to another process.
func (f *follower) forget(pid int32) {
	f.mu.Lock()
	delete(f.roots, int(pid))
	f.mu.Unlock()
}

// takePending tells the decoder's tasks about threads that are followed since the last call.
func (f *follower) takePending(t *tasks) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pending {
		t.byTID[p.tid] = p.task
	}
	f.pending = f.pending[:0]
}

// following returns the processes that are followed and still run, by ascending number.
func (f *follower) following() ([]int, error) {
	if f.in == nil {
		return nil, nil
	}
	threads, err := f.in.numbers("set_event_pid")
	if err != nil {
		return nil, fmt.Errorf("kernel events: listing the followed processes: %w", err)
	}
	processes := map[int]bool{}
	for tid := range threads {
		if t, ok := lookUp(tid); ok {
			processes[int(t.process)] = true
		}
	}
	return kernel.Running(func(pid int) bool { return processes[pid] })
}

// maxRounds ends the search for threads of programs that start new ones without end.
const maxRounds = 16

// update makes the kernel follow all threads of the roots and of their descendants. The kernel then follows what these
// start (event-fork). But it replaces its list whenever we add to it, and loses threads that were started in that moment.
// So the search is repeated until it finds nothing new. The caller holds the mutex.
func (f *follower) update() error {
	for round := range maxRounds {
		followed, err := f.in.numbers("set_event_pid")
		if err != nil {
			return err
		}
		all, err := proc.Processes()
		if err != nil {
			return err
		}
		for i := range all {
			if f.command.Matches(all[i].Comm) {
				f.roots[all[i].PID] = true
			}
		}
		missing := f.addMissing(all, followed)
		if len(missing) == 0 {
			return nil
		}
		if round == maxRounds-1 {
			f.missing += uint64(len(missing)) // these are followed now, and what they have started meanwhile may not be
		}
		if err := f.in.append("set_event_pid", strings.Join(missing, " ")); err != nil {
			return err
		}
		if err := f.in.begin(); err != nil { // not before: an empty list selects all threads
			return err
		}
	}
	return nil
}

// addMissing makes the threads that are to be followed and are not yet pending, and returns their numbers.
func (f *follower) addMissing(all []proc.Process, followed map[int32]bool) (missing []string) {
	for _, pid := range proc.Descendants(all, func(p *proc.Process) bool { return f.roots[p.PID] }) {
		for _, tid := range threads(pid) {
			if followed[tid] {
				continue
			}
			if t, ok := lookUp(tid); ok {
				t.followed, t.running = true, true
				f.pending = append(f.pending, pendingTask{tid, t}) // before the kernel can record an event of it
				missing = append(missing, strconv.Itoa(int(tid)))
			}
		}
	}
	return missing
}

// load looks up all threads of this machine.
func (t *tasks) load() {
	for _, pid := range numbered("/proc") {
		for _, tid := range threads(int(pid)) {
			t.get(tid)
		}
	}
	t.guessed = 0 // those that ended meanwhile
}

// threads lists the threads of a process.
func threads(pid int) []int32 { return numbered("/proc/" + strconv.Itoa(pid) + "/task") }

// numbered returns the names in a directory that are numbers, in ascending order.
func numbered(dir string) []int32 {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var all []int32
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 32); err == nil {
			all = append(all, int32(n))
		}
	}
	slices.Sort(all)
	return all
}

// lookUp asks /proc about a thread.
func lookUp(tid int32) (task, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return task{}, false
	}
	return parseStatus(string(b))
}
