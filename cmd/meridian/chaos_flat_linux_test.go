package main_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is what the processes of a lab use at an instant.
type sample struct {
	at                        time.Time
	memory, files, goroutines map[string]int64 // by process; goroutines of the server alone
	stored                    int64            // streams that the server has: programs that ended, one after the other
}

// look reads what processes use.
func (c *chaos) look() (s sample) {
	s = sample{at: time.Now(), memory: map[string]int64{}, files: map[string]int64{}, goroutines: map[string]int64{}}
	if all, err := os.ReadDir(c.stored); err == nil {
		s.stored = int64(len(all))
	}
	pids := map[string]int{"agent": c.agent.Process.Pid, "server": c.server.Process.Pid, "broker": c.broker.Process.Pid}
	for _, p := range c.recorders() {
		pids["recorder"] = p.Pid
	}
	for name, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		open, more := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil || more != nil {
			continue // it has ended
		}
		for _, line := range strings.Split(string(status), "\n") {
			var kilobytes int64
			if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kilobytes); n == 1 {
				s.memory[name] = kilobytes
			}
		}
		s.files[name] = int64(len(open))
	}
	out, err := c.lab.Command("db", "chaos-get", "http://"+chaosMetrics+"/metrics").Output()
	if err != nil {
		return s
	}
	for _, line := range strings.Split(string(out), "\n") {
		var n int64
		if k, _ := fmt.Sscanf(line, "go_goroutines %d", &n); k == 1 {
			s.goroutines["server"] = n
		}
	}
	return s
}

// flat compares the medians of both halves of the last half of a run.
func flat(t *testing.T, samples []sample) {
	samples = samples[len(samples)/2:]
	of := map[string]func(sample) map[string]int64{
		"memory, KiB": func(s sample) map[string]int64 { return s.memory }, "open files": func(s sample) map[string]int64 { return s.files },
		"goroutines": func(s sample) map[string]int64 { return s.goroutines },
	}
	for what, values := range of {
		for _, process := range []string{"agent", "server", "broker", "recorder"} {
			first, second := median(samples[:len(samples)/2], values, process), median(samples[len(samples)/2:], values, process)
			if first == 0 || second == 0 {
				continue // goroutines are told by the server alone
			}
			t.Logf("%s of the %s: %d, then %d", what, process, first, second)
			if more := stored(samples[len(samples)/2:]) - stored(samples[:len(samples)/2]); more > 0 && what == "memory, KiB" {
				t.Logf("that is %.1f KiB for each of %d streams more", float64(second-first)/float64(more), more)
			}
			if second > first+max(first/20, 1) {
				t.Errorf("%s of the %s grow: %d, then %d", what, process, first, second)
			}
		}
	}
}

// stored returns the median of how many streams were stored.
func stored(samples []sample) int64 {
	return median(samples, func(s sample) map[string]int64 { return map[string]int64{"": s.stored} }, "")
}

func median(samples []sample, values func(sample) map[string]int64, process string) int64 {
	var all []int64
	for _, s := range samples {
		if v, is := values(s)[process]; is {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
