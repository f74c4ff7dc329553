//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Bars of tail, in ms and of a core.
const (
	maxTailP99   = 40
	maxTailShare = 0.15
)

// tailed is what was read from the output of tail while it was measured.
type tailed struct {
	measuring    chan bool // true while it is
	lines, bytes int64
	late         int64
	latencies    []float64 // ms, of marks
}

// tail records as run does, and reads every line that meridian tail prints.
func (b *bench) tail(ctx context.Context, format string) (t *tailed, err error) {
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "livebench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	dir := filepath.Join(scratch, "trace")
	cmd := exec.CommandContext(ctx, b.meridian, "tail", "-q", "--latency", b.latency.String(), "--format", format, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t = &tailed{measuring: make(chan bool, 2)}
	read := make(chan error, 1)
	go func() { read <- t.read(out) }()
	defer func() { err = errors.Join(err, cmd.Process.Signal(os.Interrupt), <-read, ended(cmd)) }()
	recorder, err := b.record(ctx, scratch, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = recorder.Process.Kill(); _ = recorder.Wait() }()
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}
	t.measuring <- true
	if err := b.measure(ctx, recorder, cmd); err != nil {
		return nil, err
	}
	t.measuring <- false
	return t, nil
}

// read takes the latency of marks from their field, which JSON and text have beside its name.
func (t *tailed) read(out io.Reader) error {
	buffer, rest, on := make([]byte, 1<<20), []byte(nil), false
	for {
		n, err := out.Read(buffer)
		now := time.Now().UnixNano()
		select {
		case on = <-t.measuring:
		default:
		}
		if all := append(rest, buffer[:n]...); on {
			end := bytes.LastIndexByte(all, '\n') + 1
			t.take(all[:end], now)
			rest = bytes.Clone(all[end:])
		} else {
			rest = bytes.Clone(all[bytes.LastIndexByte(all, '\n')+1:])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tailed) take(lines []byte, now int64) {
	t.bytes += int64(len(lines))
	t.lines += int64(bytes.Count(lines, []byte{'\n'}))
	t.late += int64(bytes.Count(lines, []byte(`"late_ns":`)) + bytes.Count(lines, []byte(" late=")))
	for {
		_, after, found := bytes.Cut(lines, []byte("emitted"))
		if !found {
			return
		}
		digits := bytes.TrimLeft(after[:min(len(after), 40)], "\":= ")
		end := bytes.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
		if at, err := strconv.ParseInt(string(digits[:max(end, 0)]), 10, 64); err == nil {
			t.latencies = append(t.latencies, float64(now-at)/1e6)
		}
		lines = after
	}
}

// printTail writes the figures and returns those that have bars.
func (b *bench) printTail(t *tailed, format string) (p99, share float64) {
	if len(t.latencies) == 0 {
		exit(errors.New("no mark was read: -tail takes json or text"))
	}
	slices.Sort(t.latencies)
	seconds := b.length.Seconds()
	perLine := 1e9 * b.viewer.share * seconds / float64(max(t.lines, 1))
	p99 = part(t.latencies, 0.99)
	fmt.Printf("%d events/s, kernel events %q, tail --latency %v --format %s, flush %v, %v\n", b.rate, b.kernel, b.latency, format, b.flush, b.length)
	fmt.Printf("from emission until read, ms: median %.1f, p90 %.1f, p99 %.1f, most %.1f; %d marks; %d lines late\n",
		part(t.latencies, 0.5), part(t.latencies, 0.9), p99, t.latencies[len(t.latencies)-1], len(t.latencies), t.late)
	fmt.Printf("of a core: recorder %.1f%%, tail %.1f%%; %.0f lines/s, %.1f MB/s, %.0f ns of a core for a line\n",
		100*b.recorder.share, 100*b.viewer.share, float64(t.lines)/seconds, float64(t.bytes)/seconds/1e6, perLine)
	return p99, b.viewer.share
}
