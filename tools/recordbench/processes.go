//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownCPU returns what this process has used of all cores, in seconds.
func ownCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// groupCPU returns what the living processes of a group have used so far, in seconds.
func groupCPU(group int) (seconds float64) {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it is gone
		}
		// pid (comm) state ppid pgrp ...; a name may have brackets and blanks.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || len(fields) < 3 || fields[2] != strconv.Itoa(group) {
			continue
		}
		// A process's clock has nanoseconds, where /proc has hundredths of a second (clock_getcpuclockid).
		const sched = 2
		var t unix.Timespec
		if unix.ClockGettime(int32(^pid)<<3|sched, &t) == nil {
			seconds += float64(t.Nano()) / 1e9
		}
	}
	return seconds
}
