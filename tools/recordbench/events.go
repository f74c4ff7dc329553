//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"meridian/internal/record"
)

// emitted is a way to record a program that emits a million events a second, and how it went.
type emitted struct {
	name    string
	args    []string // of the program
	other   int      // programs beside it that take all the time they get
	runs    []emission
	counted []record.Counts
	core    []float64 // percent of a core that the recorder used while the program ran
}

// emitters records a program's events, in each way in turn.
func (b *bench) emitters() error {
	if !b.wanted("events") {
		return nil
	}
	b.events = []*emitted{
		{name: "sleeping between its events"},
		{name: "never sleeping, on both cores", args: []string{"-spin"}},
		{name: "with two other programs that never sleep", other: 2},
	}
	for run := range b.runs {
		for _, e := range b.events {
			progress("events, run %d of %d: %s", run+1, b.runs, e.name)
			if err := b.emitter(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) emitter(e *emitted) error {
	rings, err := os.MkdirTemp("/dev/shm", "recordbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(rings)
	out := filepath.Join(b.dir, "events")
	defer os.RemoveAll(out)
	r := &recorder{name: oursName, summary: true, ready: began,
		command: []string{b.meridian, "record", "--quiet", "--json", "--rings", rings, "--output", "OUT"}}
	run, err := r.start(out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range e.other {
		c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return err
		}
		defer func() { cancel(); _ = c.Wait() }()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cpu := groupCPU(run.Process.Pid)
	c := exec.Command(self, append([]string{"emit"}, e.args...)...)
	c.Env = append(os.Environ(), "MERIDIAN="+rings+"/")
	c.Stderr = os.Stderr
	said, err := c.Output()
	if err != nil {
		return fmt.Errorf("the program that emits: %w", err)
	}
	var emission emission
	if err := json.Unmarshal(bytes.TrimSpace(said), &emission); err != nil {
		return fmt.Errorf("the program that emits: %w: %q", err, said)
	}
	time.Sleep(settleTime)
	cpu = groupCPU(run.Process.Pid) - cpu
	if err := run.stop(); err != nil {
		return err
	}
	var s record.Summary
	if err := json.Unmarshal(run.said.Bytes(), &s); err != nil {
		return fmt.Errorf("summary of meridian record: %w", err)
	}
	i := slices.IndexFunc(s.Streams, func(c record.Counts) bool { return c.PID != 0 })
	if i < 0 {
		return fmt.Errorf("meridian record found no program: %s", run.said.String())
	}
	e.runs, e.counted, e.core = append(e.runs, emission), append(e.counted, s.Streams[i]), append(e.core, 100*cpu/emission.Seconds)
	return nil
}

// whole returns in how many runs all was recorded. The program emits some events of its own accord beside those that it
// counts, each second how its clocks stand.
func (e *emitted) whole() (n int) {
	for i := range e.runs {
		if e.counted[i].Lost == 0 && e.counted[i].Events >= e.runs[i].Events {
			n++
		}
	}
	return n
}

func printEmitted(w io.Writer, all []*emitted, markdown bool) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nevents: 1,000,000 a second of two goroutines for 10 s\n\n")
	format, head := "%-44s %7s %10s %8s %9s %9s %7s\n", ""
	if markdown {
		format, head = "| %s | %s | %s | %s | %s | %s | %s |\n", "|---|--:|--:|--:|--:|--:|--:|\n"
	}
	fmt.Fprintf(w, format, "program", "whole", "events", "lost", "core %", "worst %", "waited")
	fmt.Fprint(w, head)
	for _, e := range all {
		var events, lost uint64
		longest := 0.
		for i := range e.runs {
			events, lost, longest = events+e.counted[i].Events, lost+e.counted[i].Lost, max(longest, e.runs[i].Longest)
		}
		core := slices.Sorted(slices.Values(e.core))
		fmt.Fprintf(w, format, e.name, fmt.Sprintf("%d of %d", e.whole(), len(e.runs)), strconv.FormatUint(events, 10), strconv.FormatUint(lost, 10),
			fmt.Sprintf("%.1f", core[len(core)/2]), fmt.Sprintf("%.1f", core[len(core)-1]), fmt.Sprintf("%.0f ms", longest*1e3))
	}
}
