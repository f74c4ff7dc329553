package tracefs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/kernel"
)

// Follow records a process and its children from now on, where only some processes are recorded.
func (r *Recorder) Follow(pid int) error {
	if pid <= 0 || int64(pid) > 1<<31-1 {
		return fmt.Errorf("kernel events: there is no process %d", pid)
	}
	if r.some == nil {
		return nil
	}
	if err := kernel.Followable(); err != nil {
		return err
	}
	r.following.Lock()
	defer r.following.Unlock()
	r.roots[pid] = true
	if err := r.followRoots(); err != nil {
		return fmt.Errorf("kernel events: following process %d: %w", pid, err)
	}
	return nil
}

// Following returns the processes that are followed and still run, in the order of their numbers; also after Stop.
func (r *Recorder) Following() ([]int, error) {
	if r.some == nil {
		return nil, nil
	}
	threads, err := r.some.numbers("set_event_pid")
	if err != nil {
		return nil, fmt.Errorf("kernel events: which processes are followed: %w", err)
	}
	processes := map[int]bool{}
	for tid := range threads {
		if t, ok := lookUp(tid); ok {
			processes[int(t.process)] = true
		}
	}
	return kernel.Running(func(pid int) bool { return processes[pid] })
}

// mostRounds ends the search for threads among programs that start them without end.
const mostRounds = 16

// followRoots has the kernel follow all threads of the roots and of their descendants. The kernel follows what these
// start from then on, but writes its list anew whenever ours is added, and forgets what was started in that moment: so
// the search is repeated until nothing is missing.
func (r *Recorder) followRoots() error {
	for range mostRounds {
		followed, err := r.some.numbers("set_event_pid")
		if err != nil {
			return err
		}
		all, err := proc.Processes()
		if err != nil {
			return err
		}
		r.addNamed(all)
		var missing []string
		for _, pid := range proc.Descendants(all, func(p *proc.Process) bool { return r.roots[p.PID] }) {
			for _, tid := range threads(pid) {
				if followed[tid] {
					continue
				}
				if t, ok := lookUp(tid); ok {
					t.followed, t.running = true, true
					r.pending = append(r.pending, pendingTask{tid, t}) // before an event of it can come
					missing = append(missing, strconv.Itoa(int(tid)))
				}
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if err := r.some.append("set_event_pid", strings.Join(missing, " ")); err != nil {
			return err
		}
		if err := r.some.begin(); err != nil { // an empty list would have been everybody
			return err
		}
	}
	return nil
}

// addNamed makes the processes of the wanted name roots.
func (r *Recorder) addNamed(all []proc.Process) {
	for i := range all {
		if r.decoder.command.matches(all[i].Comm) {
			r.roots[all[i].PID] = true
		}
	}
}

// followNamed follows what the options name and runs already.
func (r *Recorder) followNamed() error {
	r.following.Lock()
	defer r.following.Unlock()
	for _, pid := range r.options.Pids {
		if pid <= 0 || int64(pid) > 1<<31-1 {
			return fmt.Errorf("kernel events: there is no process %d", pid)
		}
		r.roots[pid] = true
	}
	if err := r.followRoots(); err != nil {
		return fmt.Errorf("kernel events: following processes: %w", err)
	}
	return nil
}

// followFound follows a process that the reader has found.
func (r *Recorder) followFound(pid int32) {
	if err := r.Follow(int(pid)); err != nil {
		r.warnings.Add(subject, "processes could not be followed", err.Error())
	}
}

// forget is for a process that has ended: another may get its number.
func (r *Recorder) forget(pid int32) {
	r.following.Lock()
	delete(r.roots, int(pid))
	r.following.Unlock()
}

// pendingTask is a thread that is followed, of which the reader is still to learn.
type pendingTask struct {
	tid  int32
	task task
}

// takePending tells the decoder whom Follow has followed.
func (r *Recorder) takePending() {
	r.following.Lock()
	defer r.following.Unlock()
	for _, p := range r.pending {
		r.decoder.tasks.byTID[p.tid] = p.task
	}
	r.pending = r.pending[:0]
}

// threads lists those of a process.
func threads(pid int) []int32 { return numbered("/proc/" + strconv.Itoa(pid) + "/task") }

// numbered returns the names in a directory that are numbers, in order.
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

// lookUp asks /proc of a thread.
func lookUp(tid int32) (task, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return task{}, false
	}
	return parseStatus(string(b))
}
