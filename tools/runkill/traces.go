package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// traces are what an experiment may leave behind beside processes. Others use the machine at the same time: only what processes of
// the experiment had counts, and what lies in its own directory.
type traces struct {
	temp       string          // directory for temporary files of the experiment alone
	rings      map[string]bool // directories of rings that were there before
	namespaces map[string]bool // such as net:[4026532008]
	groups     map[string]bool // directories of control groups
}

// ringDirs are the directories of rings of experiments.
const ringDirs = "/dev/shm/meridian-run-*"

func newTraces(temp string) *traces {
	t := &traces{temp: temp, rings: make(map[string]bool), namespaces: make(map[string]bool), groups: make(map[string]bool)}
	dirs, _ := filepath.Glob(ringDirs) // the pattern is right
	for _, dir := range dirs {
		t.rings[dir] = true
	}
	return t
}

// namespaceKinds are the namespaces that an experiment may make.
var namespaceKinds = []string{"net", "uts", "mnt", "pid", "user", "ipc"}

// note remembers what processes of the experiment have and this process has not.
func (t *traces) note(processes []process) {
	for _, p := range processes {
		for _, kind := range namespaceKinds {
			if name, own := namespaceOf(strconv.Itoa(p.pid), kind), namespaceOf("self", kind); name != own && name != "" {
				t.namespaces[name] = true
			}
		}
		if dir, own := groupOf(strconv.Itoa(p.pid)), groupOf("self"); dir != own && dir != "" {
			t.groups[dir] = true
		}
	}
}

func namespaceOf(pid, kind string) string {
	name, err := os.Readlink(filepath.Join("/proc", pid, "ns", kind))
	if err != nil {
		return "" // it has ended
	}
	return name
}

// groupOf returns the directory of the control group of a process, version 2.
func groupOf(pid string) string {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join("/sys/fs/cgroup", path)
		}
	}
	return ""
}

// left tells what is still there.
func (t *traces) left() error {
	names, err := os.ReadDir(t.temp)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%s is left", names[0].Name())
	}
	for dir := range t.groups {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("control group %s is left", dir)
		}
	}
	return errors.Join(t.ringsLeft(), t.mountsLeft(), t.namespacesLeft())
}

// ringsLeft finds new directories of rings that no process of another experiment has.
func (t *traces) ringsLeft() error {
	dirs, err := filepath.Glob(ringDirs)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if !t.rings[dir] && !used(dir) {
			return fmt.Errorf("rings are left: %s", dir)
		}
	}
	return nil
}

// used reports whether a process has a directory for its rings.
func used(dir string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	return slices.ContainsFunc(all, func(path string) bool {
		environment, err := os.ReadFile(path)
		return err == nil && variable(environment, "MERIDIAN_RUN_RINGS") == dir
	})
}

// mountsLeft finds mounts of the experiment's namespaces, and within its directory.
func (t *traces) mountsLeft() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // proc_pid_mountinfo(5): the fourth is the root, the fifth the mount point
		if len(fields) > 4 && (t.namespaces[fields[3]] || strings.HasPrefix(fields[4], filepath.Dir(t.temp)+"/")) {
			return fmt.Errorf("a mount is left: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// namespacesLeft finds processes in namespaces of the experiment.
func (t *traces) namespacesLeft() error {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		for _, kind := range namespaceKinds {
			if name := namespaceOf(p.Name(), kind); t.namespaces[name] {
				return fmt.Errorf("process %s is left in namespace %s", p.Name(), name)
			}
		}
	}
	return nil
}
