//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"

	"meridian/internal/record"
)

// way is one in which a program and its recorder come together.
type way struct {
	name   string
	record func(b *bench, r *running) error
}

var ways = []way{
	{"started by the recorder", (*bench).startedByRecorder},
	{"started while it records", (*bench).startedWhileItRecords},
	{"there before it", (*bench).thereBefore},
}

// result is what came out of a way's runs.
type result struct {
	way         way
	program     program
	busy        int
	runs, whole int
	events      uint64 // recorded
	lost        uint64 // and counted
	uncounted   uint64 // neither
}

// running is one run.
type running struct {
	context.Context
	rings, out string
	program    []string
	said       bytes.Buffer // the recorder's summary
}

// one measures one run and adds it to the result.
func (b *bench) one(r *result) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	dir, err := os.MkdirTemp(b.dir, "run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := &running{Context: ctx, rings: filepath.Join(dir, "rings"), out: filepath.Join(dir, "trace"),
		program: append(slices.Clone(r.program.command), strconv.FormatUint(b.events(), 10))}
	if err := os.Mkdir(run.rings, 0o700); err != nil {
		return err
	}
	if err := r.way.record(b, run); err != nil {
		return err
	}
	var s record.Summary
	if err := json.Unmarshal(run.said.Bytes(), &s); err != nil {
		return fmt.Errorf("summary of meridian record: %w: %q", err, run.said.String())
	}
	i := slices.IndexFunc(s.Streams, func(c record.Counts) bool { return c.PID != 0 })
	if i < 0 {
		return fmt.Errorf("meridian record found no program: %s", run.said.String())
	}
	// The program has some events beside those that it counts: of its clocks.
	got, lost := s.Streams[i].Events, s.Streams[i].Lost
	r.runs++
	if lost == 0 && got >= b.events() {
		r.whole++
	}
	if got+lost < b.events() {
		r.uncounted += b.events() - got - lost
	}
	r.events, r.lost = r.events+got, r.lost+lost
	return nil
}

func (b *bench) recorder(r *running, more ...string) *exec.Cmd {
	c := exec.CommandContext(r, b.meridian, append([]string{"record", "--quiet", "--json", "--rings", r.rings, "-o", r.out}, more...)...)
	c.Stdout, c.Stderr = &r.said, os.Stderr
	return c
}

// kept turns the exit code of a recording that lost events, which the summary counts, into success.
func kept(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		return nil
	}
	return err
}

func (b *bench) startedByRecorder(r *running) error {
	return kept(b.recorder(r, append([]string{"--"}, append(r.program, "0")...)...).Run())
}

func (b *bench) startedWhileItRecords(r *running) error {
	return b.beside(r, func() error { return r.emitter("0").Run() })
}

func (b *bench) thereBefore(r *running) error {
	c := r.emitter("1")
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	for {
		made, err := filepath.Glob(filepath.Join(r.rings, "*.ring"))
		if err != nil || r.Err() != nil {
			return errors.Join(err, r.Err())
		}
		if len(made) > 0 {
			break
		}
	}
	return b.beside(r, func() error {
		in.Close()
		return c.Wait()
	})
}

func (r *running) emitter(wait string) *exec.Cmd {
	c := exec.CommandContext(r, r.program[0], append(r.program[1:], wait)...)
	c.Env = append(os.Environ(), "MERIDIAN="+r.rings)
	c.Stderr = os.Stderr
	return c
}

// beside runs what is recorded when the recorder is ready, and then ends the recorder.
func (b *bench) beside(r *running, recorded func() error) error {
	ready, writes, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	c := b.recorder(r, "--ready-fd", "3")
	c.ExtraFiles = []*os.File{writes}
	err = c.Start()
	writes.Close()
	if err != nil {
		return err
	}
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		return errors.Join(fmt.Errorf("meridian record was never ready: %w", err), c.Wait())
	}
	failed := recorded()
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return errors.Join(failed, kept(c.Wait()))
}

//go:embed c/emit.c
var source []byte

// compiled compiles c/emit.c.
func compiled(dir string) (string, error) {
	headers, err := filepath.Abs("sensor/c")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(headers); err != nil {
		return "", fmt.Errorf("looking for meridian.h: %w; run this in the project's directory", err)
	}
	file, program := filepath.Join(dir, "emit.c"), filepath.Join(dir, "emit")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return "", err
	}
	c := exec.Command("cc", "-std=c11", "-O2", "-I", headers, "-o", program, file, "-lpthread")
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling emit.c: %w\n%s", err, said)
	}
	return program, nil
}

// keepBusy starts programs that take all the time they get.
func keepBusy(n int) (end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var all []*exec.Cmd
	end = func() {
		cancel()
		for _, c := range all {
			_ = c.Wait()
		}
	}
	for range n {
		c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			end()
			return nil, err
		}
		all = append(all, c)
	}
	return end, nil
}

func printResults(w io.Writer, all []*result, markdown bool) {
	format, head := "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", ""
	if markdown {
		format, head = "| %s | %s | %s | %s | %s | %s | %s |\n", "|---|---|--:|--:|--:|--:|--:|\n"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, format, "program", "in", "busy beside", "whole", "events", "lost", "uncounted")
	fmt.Fprint(t, head)
	for _, r := range all {
		n := func(n uint64) string { return strconv.FormatUint(n, 10) }
		fmt.Fprintf(t, format, r.way.name, r.program.name, strconv.Itoa(r.busy), fmt.Sprintf("%d of %d", r.whole, r.runs), n(r.events), n(r.lost), n(r.uncounted))
	}
	_ = t.Flush()
}
