package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
)

// follow records a process and its children from now on, where only some processes are recorded.
func follow(programs *ebpf.Collection, pid int) error {
	if err := proc.CheckPID(pid); err != nil {
		return err
	}
	if err := Followable(); err != nil {
		return err
	}
	if err := programs.Maps["followed"].Put(uint32(pid), uint8(1)); err != nil {
		return fmt.Errorf("kernel events: following process %d: %w", pid, err)
	}
	return nil
}

// following returns the processes that are followed and still run, by ascending number.
func following(programs *ebpf.Collection) ([]int, error) {
	var followed []uint32
	var pid uint32
	var yes uint8
	entries := programs.Maps["followed"].Iterate()
	for entries.Next(&pid, &yes) {
		followed = append(followed, pid)
	}
	if err := entries.Err(); err != nil {
		return nil, fmt.Errorf("kernel events: listing the followed processes: %w", err)
	}
	return Running(func(pid int) bool { return slices.Contains(followed, uint32(pid)) })
}

// Running returns the running processes that followed accepts, and their running descendants, by ascending number.
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

// initialPIDNamespace is the inode of the initial PID namespace, the same on every machine (PROC_PID_INIT_INO).
const initialPIDNamespace = 0xeffffffc

// Followable returns an error in a PID namespace of a container. The kernel's events name processes by their numbers in
// the initial namespace: following the container's numbers would record other processes, or none.
func Followable() error {
	var s unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &s); err != nil || s.Ino == initialPIDNamespace {
		return nil // without /proc it cannot be known, and the initial namespace is the likely one
	}
	return errors.New("kernel events: processes have other numbers in this container's PID namespace; " +
		"run the container in the host's (--pid=host), or record the host without a command")
}

// followRunning follows the running processes that the options name, with their descendants. The programs are attached by
// now: a child that is born meanwhile is either found here or followed by them. The second round finds the children of a
// process that were born after it was found and before it was followed.
func followRunning(programs *ebpf.Collection, o *Options) error {
	if len(o.Pids) == 0 && o.Command == "" || o.Groups&ofProcesses == 0 {
		return nil
	}
	name, err := proc.ParseNamePattern(o.Command)
	if err != nil {
		return err
	}
	for _, pid := range o.Pids {
		if err := follow(programs, pid); err != nil {
			return err
		}
	}
	for range 2 {
		all, err := proc.Processes()
		if err != nil {
			return err
		}
		wanted := func(p *proc.Process) bool { return slices.Contains(o.Pids, p.PID) || name.Matches(p.Comm) }
		for _, pid := range proc.Descendants(all, wanted) {
			if err := follow(programs, pid); err != nil {
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
		return 0, fmt.Errorf("cgroup %s: not a cgroup v2 directory; cgroup v1 is not supported", dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	return st.Ino, nil
}
