//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"meridian/tools/ends"
)

// ways are those that are measured, in the order of the table.
var ways = []string{"tcp", "meridian", "two", "jetstream"}

// run measures all ways in turns.
func (b *bench) run(ctx context.Context, dir string) (r *results, err error) {
	scratch, err := os.MkdirTemp(dir, "collectbench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	trace := filepath.Join(scratch, "trace")
	if err := writeTrace(trace, b.size); err != nil {
		return nil, err
	}
	r = &results{of: make(map[method][]taken)}
	for round := range b.rounds {
		for _, chunk := range b.chunks {
			for i := range b.ways {
				way := b.ways[(i+round)%len(b.ways)]
				stored := filepath.Join(scratch, "stored")
				if err := os.Mkdir(stored, 0o777); err != nil {
					return nil, err
				}
				syscall.Sync() // what ways before have not synced is not written during this one
				t, err := b.round(ctx, way, chunk, trace, stored)
				if err != nil {
					return nil, fmt.Errorf("%s of %d bytes: %w", way, chunk, err)
				}
				fmt.Fprintf(os.Stderr, "round %d: %-10s %8s %6.0f MB/s, %.2f s of processors\n", round+1, way, kib(chunk), t.rate(b.size), t.cpu.Seconds())
				r.of[method{way, chunk}] = append(r.of[method{way, chunk}], t)
				if err := os.RemoveAll(stored); err != nil {
					return nil, err
				}
			}
		}
	}
	return r, nil
}

// round starts the receiving end, and measures the sending one until it ends.
func (b *bench) round(ctx context.Context, way string, chunk int64, trace, stored string) (t taken, err error) {
	var servers []*exec.Cmd
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, ends.End(s))
		}
	}()
	start := func(name string, args ...string) (address string, err error) {
		if b.sync > 0 && way != "tcp" {
			name, args = b.delayed(name, args)
		}
		s, address, err := ends.Start(ctx, name, args...)
		if err == nil {
			servers = append(servers, s)
		}
		return address, err
	}
	meridian := func(name string, more ...string) (string, error) {
		return start(b.meridian, append([]string{"server", "-q", "--name", name, "--dir", filepath.Join(stored, name)}, more...)...)
	}
	var address, sender string
	replicas := 1
	switch way {
	case "tcp":
		sender = "push"
		address, err = start(b.self, "sink", "-dir", stored, "-chunk", strconv.FormatInt(chunk, 10))
	case "meridian":
		sender = "ship"
		address, err = meridian("one", "--listen", "127.0.0.1:0")
	case "two":
		sender, replicas = "ship", 2
		if address, err = meridian("one", "--listen", "127.0.0.1:0"); err == nil {
			_, err = meridian("two", "--nats", address)
		}
	case "jetstream":
		sender = "publish"
		address, err = start(b.self, "jetstream", "-dir", stored)
	}
	if err != nil {
		return t, err
	}
	if sender == "ship" { // until servers have said that they are there
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	if err := warm(warmTimes * b.size); err != nil {
		return t, err
	}
	before := time.Duration(0)
	for _, s := range servers {
		before += cpu(s.Process.Pid)
	}
	send := exec.CommandContext(ctx, b.self, sender, "-dir", trace, "-to", address, "-chunk", strconv.FormatInt(chunk, 10), "-replicas", strconv.Itoa(replicas))
	send.Stderr = os.Stderr
	begun := time.Now()
	if err := send.Run(); err != nil {
		return t, err
	}
	t.wall = time.Since(begun)
	t.cpu = send.ProcessState.UserTime() + send.ProcessState.SystemTime() - before
	for _, s := range servers {
		t.cpu += cpu(s.Process.Pid)
	}
	return t, nil
}

// delayed returns the command line of a program whose syncs take longer. It is the process that is started: strace runs beside it, and no other call stops it.
func (b *bench) delayed(name string, args []string) (string, []string) {
	const syncs = "fsync,fdatasync,syncfs"
	return "strace", append([]string{"-D", "-f", "--seccomp-bpf", "-qq", "-o", os.DevNull, "-e", "trace=" + syncs,
		"-e", fmt.Sprintf("inject=%s:delay_exit=%d", syncs, b.sync.Microseconds()), name}, args...)
}

// cpu is the time of processors that a process has taken, in ns by the scheduler.
func cpu(pid int) (sum time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, path := range threads {
		if text, err := os.ReadFile(path); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64) // a number, by the kernel
			sum += time.Duration(ns)
		}
	}
	return sum
}
