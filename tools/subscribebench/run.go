//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settling is how long the program has emitted before it is measured: clocks, discovery and the first files.
const settling = 5 * time.Second

// run records, sends, follows and subscribes.
func (b *bench) run(ctx context.Context) (r *result, err error) {
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "subscribebench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	rings, dir, stored := filepath.Join(scratch, "rings"), filepath.Join(scratch, "trace"), filepath.Join(scratch, "stored")
	if err := os.Mkdir(rings, 0o700); err != nil {
		return nil, err
	}
	server := exec.CommandContext(ctx, b.meridian, "server", "--dir", stored, "--listen", "127.0.0.1:0", "--name", "s", "--timeline", "on", "--latency", b.latency.String(), "-q")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer end(server)
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server has no address in its output: %w", err)
	}
	url = strings.TrimSpace(url)
	r = new(result)
	from, until := time.Now().Add(settling), time.Now().Add(settling+b.length)
	subscribed := make(chan error, 1)
	go func() { subscribed <- r.subscribe(ctx, strings.TrimPrefix(url, "nats://"), from, until) }()

	length := settling + b.length + 3*time.Second
	agent := exec.CommandContext(ctx, b.meridian, "agent", "--server", url, "-o", dir, "--session", "bench", "--host", "web", "-q", "--batch", b.batch.String(), "--",
		"-q", "--rings", rings, "--flush", b.flush.String(), "--", b.self, "emit", "-rate", strconv.Itoa(b.rate), "-length", length.String())
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		return nil, err
	}
	defer end(agent)
	tails := make(chan error, 2)
	waiting := 0
	if b.parts {
		waiting = 2
		go func() { tails <- b.tail(ctx, dir, from, until, &r.recorded) }()
		go func() { tails <- b.tail(ctx, filepath.Join(stored, "bench", "web"), from, until, &r.stored) }()
	}
	if err := sleepUntil(ctx, from); err != nil {
		return nil, err
	}
	recorder, err := child(agent.Process.Pid)
	if err != nil {
		return nil, err
	}
	pids := [3]int{recorder, agent.Process.Pid, server.Process.Pid}
	var before [3]time.Duration
	for i, pid := range pids {
		before[i] = cpu(pid)
	}
	begun := time.Now()
	if err := sleepUntil(ctx, until); err != nil {
		return nil, err
	}
	took := time.Since(begun).Seconds()
	for i, to := range []*float64{&r.recorder, &r.agent, &r.server} {
		*to = (cpu(pids[i]) - before[i]).Seconds() / took
	}
	for range waiting {
		err = errors.Join(err, <-tails)
	}
	return r, errors.Join(err, <-subscribed)
}

func sleepUntil(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(t)):
		return nil
	}
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
	timer := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // what it says of its end is not measured
}

// child returns the process that another one started.
func child(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range all {
		if more, err := os.ReadFile(path); err == nil {
			text = append(append(text, ' '), more...)
		}
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return 0, errors.Join(errors.New("the agent has started no recorder"), err)
	}
	return strconv.Atoi(fields[0])
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

// emitted is the number and the time of day of an event in a line of JSON; false for other events.
func emitted(line []byte) (number, at int64, ok bool) {
	_, rest, found := bytes.Cut(line, []byte(`"fields":{"number":`))
	if !found {
		return 0, 0, false
	}
	n, rest, found := bytes.Cut(rest, []byte(`,"emitted":`))
	t, _, ends := bytes.Cut(rest, []byte("}"))
	number, err := strconv.ParseInt(string(n), 10, 64)
	at, err2 := strconv.ParseInt(string(t), 10, 64)
	return number, at, found && ends && err == nil && err2 == nil
}

// tail reads the events in a directory as 'meridian tail' prints them.
func (b *bench) tail(ctx context.Context, dir string, from, until time.Time, to *latencies) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, b.meridian, "tail", "-q", "--latency", "1ms", "--format", "json", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }() // it is killed
	defer stop()
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		now := time.Now()
		if _, at, ok := emitted(line); ok && at >= from.UnixNano() {
			if at >= until.UnixNano() {
				return nil
			}
			*to = append(*to, time.Duration(now.UnixNano()-at))
		}
	}
}

// subscribe reads the timeline from the broker. The protocol is text: HMSG subject sid [reply] bytes-of-headers bytes.
func (r *result) subscribe(ctx context.Context, address string, from, until time.Time) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.SetReadDeadline(until.Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB meridian.v1.session.bench.events.json 1\r\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(c, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return errors.Join(errNoEvents, err)
		}
		fields := strings.Fields(line)
		if fields[0] == "PING" {
			if _, err := io.WriteString(c, "PONG\r\n"); err != nil {
				return err
			}
		}
		if fields[0] != "HMSG" {
			continue
		}
		head, err := strconv.Atoi(fields[len(fields)-2])
		total, err2 := strconv.Atoi(fields[len(fields)-1])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		message := make([]byte, total+2)
		if _, err := io.ReadFull(in, message); err != nil {
			return err
		}
		now := time.Now()
		for line := range bytes.Lines(message[head:total]) {
			number, at, ok := emitted(line)
			if ok && at >= until.Add(time.Second).UnixNano() { // late ones have come as well
				return nil
			}
			if !ok || at < from.UnixNano() || at >= until.UnixNano() {
				continue
			}
			if len(r.end) == 0 {
				r.first = number
			}
			r.first, r.last = min(r.first, number), max(r.last, number)
			r.end = append(r.end, time.Duration(now.UnixNano()-at))
		}
	}
}
