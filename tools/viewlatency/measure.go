package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/show/index"
)

// figures are those of one run.
type figures struct {
	took, worked time.Duration
	peak, own    int64 // bytes: VmHWM, and RssAnon at most
}

// compare runs each binary in turn, again and again, and prints the medians.
func compare(ctx context.Context, binaries, traces []string, scratch string, runs int) error {
	all := make([][]figures, len(binaries))
	path := filepath.Join(scratch, "index.mvx")
	var a *index.About
	for range runs {
		for i, binary := range binaries {
			f, err := view(ctx, binary, traces, path)
			if err != nil {
				return fmt.Errorf("%s: %w", binary, err)
			}
			all[i] = append(all[i], f)
			if a, err = aboutOf(path); err != nil {
				return err
			}
			fmt.Printf("%s: %.2f s, %.2f s of processors, peak %d MiB, own %d MiB; %d events, %d messages, %d rows\n", filepath.Base(binary),
				f.took.Seconds(), f.worked.Seconds(), f.peak>>20, f.own>>20, a.Events, a.Messages, len(a.Rows))
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	first := median(all[0])
	for i, binary := range binaries {
		m := median(all[i])
		fmt.Printf("median of %d, %s: %.2f s (%.2f M events/s), %.2f s of processors (%.2f M events/s), peak %d MiB, own %d MiB",
			runs, filepath.Base(binary), m.took.Seconds(), float64(a.Events)/1e6/m.took.Seconds(),
			m.worked.Seconds(), float64(a.Events)/1e6/m.worked.Seconds(), m.peak>>20, m.own>>20)
		if i > 0 {
			fmt.Printf("; of the first: %.2f of the time, %.2f of the processors, %.2f of its own memory",
				m.took.Seconds()/first.took.Seconds(), m.worked.Seconds()/first.worked.Seconds(), float64(m.own)/float64(first.own))
		}
		fmt.Println()
	}
	return nil
}

func median(all []figures) figures {
	return figures{
		took:   middle(all, func(f figures) time.Duration { return f.took }),
		worked: middle(all, func(f figures) time.Duration { return f.worked }),
		peak:   middle(all, func(f figures) int64 { return f.peak }),
		own:    middle(all, func(f figures) int64 { return f.own }),
	}
}

func middle[T ~int64](all []figures, of func(figures) T) T {
	var list []T
	for _, f := range all {
		list = append(list, of(f))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// view runs the command until it tells the address of the page, and ends it.
func view(ctx context.Context, binary string, traces []string, path string) (f figures, err error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"view", "--no-browser", "-q", "--index", path}, traces...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return f, err
	}
	told := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		told <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case err = <-told:
			waiting = false
		case <-tick.C:
		}
		if at, read := memory(cmd.Process.Pid); read == nil {
			f.peak, f.own = max(f.peak, at.peak), max(f.own, at.own)
		}
	}
	f.took = time.Since(begin)
	if err != nil {
		_ = cmd.Wait()
		return f, fmt.Errorf("no address in its output: %s", strings.TrimSpace(said.String()))
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return f, err
	}
	if err := cmd.Wait(); err != nil {
		return f, err
	}
	f.worked = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return f, nil
}

// memory returns what a process held at most, and what it holds of its own now.
func memory(pid int) (f figures, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return f, err
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			f.peak = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kb); n == 1 {
			f.own = kb << 10
		}
	}
	return f, nil
}

// profiled makes the index in this process, as the command does.
func profiled(ctx context.Context, traces []string, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	inputs, err := input.Parse(traces)
	if err != nil {
		return err
	}
	debug.SetGCPercent(25)
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	begin, stage := time.Now(), ""
	t, outcome, err := pipeline.View(ctx, inputs, pipeline.Options{Progress: func(s string, _, _ int64) {
		if said := s; said != stage {
			stage = said
			fmt.Printf("%.2f s: %s\n", time.Since(begin).Seconds(), stage)
		}
	}}, "")
	if err != nil {
		return err
	}
	for _, line := range append(outcome.Warnings, outcome.Broken...) {
		fmt.Println(line)
	}
	fmt.Printf("%.2f s: done\n", time.Since(begin).Seconds())
	return t.Close()
}

func aboutOf(path string) (*index.About, error) {
	x, err := index.Open(path)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.About(), nil
}
