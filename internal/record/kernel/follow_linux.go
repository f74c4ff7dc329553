package kernel

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
)

// Follow records a process and its children from now on, where only some processes are recorded.
func (r *Recorder) Follow(pid int) error {
	if pid <= 0 || int64(pid) > 1<<31 {
		return fmt.Errorf("kernel events: there is no process %d", pid)
	}
	if err := Followable(); err != nil {
		return err
	}
	if err := r.programs.Maps["followed"].Put(uint32(pid), uint8(1)); err != nil {
		return fmt.Errorf("kernel events: following process %d: %w", pid, err)
	}
	return nil
}

// Following returns the processes that are followed and still run, in the order of their numbers; also after Stop.
func (r *Recorder) Following() ([]int, error) {
	var followed []uint32
	var pid uint32
	var yes uint8
	entries := r.programs.Maps["followed"].Iterate()
	for entries.Next(&pid, &yes) {
		followed = append(followed, pid)
	}
	if err := entries.Err(); err != nil {
		return nil, fmt.Errorf("kernel events: which processes are followed: %w", err)
	}
	return Running(func(pid int) bool { return slices.Contains(followed, uint32(pid)) })
}

// Running returns those processes that followed accepts, and their descendants, which still run, in the order of their numbers.
func Running(followed func(pid int) bool) ([]int, error) {
	all, err := proc.Processes()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p proc.Process) bool { return p.Ended })
	pids := proc.Descendants(all, func(p *proc.Process) bool { return followed(p.PID) })
	slices.Sort(pids)
	return pids, nil
}

// firstNamespace is the inode of the first PID namespace, the same on every machine (PROC_PID_INIT_INO).
const firstNamespace = 0xeffffffc

// Followable returns an error where processes cannot be followed by their numbers, since
// the kernel knows them by others: others would be recorded, or none.
func Followable() error {
	var s unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &s); err != nil || s.Ino == firstNamespace {
		return nil // without /proc nobody knows, and mostly all is well
	}
	return errors.New("kernel events: processes have numbers of their own in this container, and cannot be found by those in the kernel; " +
		"run it with those of the host (--pid=host), or record the host without a command")
}

// followPresent follows the processes that the options name and that run already, with their children. Children are
// followed by the kernel before this begins, so that one which is born meanwhile is either seen here or followed there;
// the second look finds those born of a process between it was seen and was followed.
func (r *Recorder) followPresent() error {
	o := &r.options
	if len(o.Pids) == 0 && o.Command == "" || r.options.Groups&(Sched|Syscalls) == 0 {
		return nil
	}
	for _, pid := range o.Pids {
		if err := r.Follow(pid); err != nil {
			return err
		}
	}
	for range 2 {
		all, err := proc.Processes()
		if err != nil {
			return err
		}
		for _, pid := range proc.Descendants(all, func(p *proc.Process) bool { return slices.Contains(o.Pids, p.PID) || r.name.matches(p.Comm) }) {
			if err := r.Follow(pid); err != nil {
				return err
			}
		}
	}
	return nil
}

// cgroupID returns the kernel's number of a cgroup, which is the inode of its directory.
func cgroupID(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	if s.Type != unix.CGROUP2_SUPER_MAGIC {
		return 0, fmt.Errorf("cgroup %s: not a directory of cgroup v2, which alone is supported", dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	return st.Ino, nil
}
