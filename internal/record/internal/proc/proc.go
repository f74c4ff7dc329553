// Package proc reads what /proc and /sys say of the processors and processes of this host, for those who record them.
//
//	/sys/devices/system/cpu/online  "0-3,6"                    --> OnlineCPUs
//	/proc/PID/stat                  "PID (COMM) STATE PARENT"  --> Processes --> Descendants
//
// All of it is old when it arrives: processes end and are born meanwhile. A look costs some 10 us a process.
// Source: proc(5).
package proc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// OnlineCPUs lists the processors that are there.
func OnlineCPUs() ([]int, error) {
	const file = "/sys/devices/system/cpu/online"
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("kernel events: %w", err)
	}
	cpus, ok := parseList(string(b))
	if !ok {
		return nil, fmt.Errorf("kernel events: %s: invalid list of processors %q", file, b)
	}
	return cpus, nil
}

func parseList(s string) (cpus []int, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if errors.Join(err1, err2) != nil || from > to || to-from > 1<<16 {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, true
}

// Process is what /proc says of one.
type Process struct {
	PID, Parent int
	Comm        string
	Ended       bool // and only waits for its parent to hear of that
}

// Processes lists those that run. One that ends meanwhile is left out.
func Processes() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("kernel events: which processes run: %w", err)
	}
	var all []Process
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, fmt.Errorf("kernel events: %w", err)
		}
		if p, ok := parseStat(string(b)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat reads a stat, whose COMM may contain anything.
func parseStat(s string) (p Process, ok bool) {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return p, false
	}
	behind := strings.Fields(s[end+1:])
	if len(behind) < 2 {
		return p, false
	}
	pid, err1 := strconv.ParseInt(strings.TrimSpace(s[:open]), 10, 32)
	parent, err2 := strconv.ParseInt(behind[1], 10, 32)
	return Process{int(pid), int(parent), s[open+1 : end], behind[0] == "Z" || behind[0] == "X"}, err1 == nil && err2 == nil
}

// Descendants returns the numbers of those processes that chosen accepts, and of all their children.
func Descendants(all []Process, chosen func(*Process) bool) []int {
	children := make(map[int][]int)
	seen := make(map[int]bool)
	var found []int
	take := func(pid int) {
		if !seen[pid] {
			seen[pid] = true
			found = append(found, pid)
		}
	}
	for i := range all {
		children[all[i].Parent] = append(children[all[i].Parent], all[i].PID)
		if chosen(&all[i]) {
			take(all[i].PID)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, child := range children[found[i]] {
			take(child)
		}
	}
	return found
}

// CheckPID returns an error if no process can have the number.
func CheckPID(pid int) error {
	if pid <= 0 || int64(pid) > math.MaxInt32 {
		return fmt.Errorf("kernel events: invalid process number %d", pid)
	}
	return nil
}
