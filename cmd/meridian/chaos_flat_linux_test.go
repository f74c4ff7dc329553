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
}

// look reads what processes use.
func (c *chaos) look() (s sample) {
	s = sample{time.Now(), map[string]int64{}, map[string]int64{}, map[string]int64{}}
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
			if second > first+max(first/20, 1) {
				t.Errorf("%s of the %s grow: %d, then %d", what, process, first, second)
			}
		}
	}
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
