// Package protocol has the lines that the parts of an experiment say to each other. Each line is one JSON object in UTF-8 of at
// most [MaxLine] bytes.
//
//	controller  <-- Order, Report -->  host  <-- Command, Answer -->  daemon
//	meridian run                       one process a host             a process each, by its standard input and output
//
// # Daemons
//
// A daemon waits from its start to its end, does phases when it is told to, and keeps its state between them:
//
//	daemon: {"waiting":["setup","send"]}                             once, when it can begin; the phases that it has
//	host:   {"start":7,"phase":"send","with":{"count":10}}           begin a phase; 7 is the number of this call
//	daemon: {"log":"half of it is sent"}                             a line for its log, at any time
//	daemon: {"done":7,"result":{"messages":10}}                      it ended well; the result is any JSON
//	daemon: {"failed":7,"error":"connection refused"}                it did not, and why
//
// A daemon that says {"waiting":[...],"at":true} is told a phase some milliseconds before its instant, which the line then has:
//
//	host:   {"start":7,"at_ns":86401234567890,"phase":"send"}        begin at this instant of CLOCK_MONOTONIC, or now if it has passed
//
// Its phases begin nearer to those of others than by the line alone: a process that sleeps to an instant needs no other to wake it.
//
// Phases of a daemon can run side by side; answers come in any order. When its standard input ends, a daemon releases what it
// holds and exits; one that does not is killed. A line of its output that does not begin with { is a line of its log, as is all
// that it writes to its standard error. A line that begins with { and is none of the above is a failure of the daemon.
//
// Package sensor/daemon is this protocol for daemons in Go. Modules for Python and the shell are in examples/experiments.
package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"meridian/sensor/daemon"
)

// What daemons and hosts say, and daemons in Go: programs of users import that package.
type (
	Command = daemon.Command
	Answer  = daemon.Answer
	Phase   = daemon.Phase
	Call    = daemon.Call
)

// Limits of lines and of instants, see [daemon.SleepUntil].
const (
	MaxLine     = daemon.MaxLine // bytes
	LongestLead = daemon.LongestLead
)

// Serve is a daemon, see [daemon.Serve].
func Serve(ctx context.Context, in io.Reader, out io.Writer, phases map[string]Phase) error {
	return daemon.Serve(ctx, in, out, phases)
}

// Monotonic is [daemon.Monotonic].
func Monotonic() int64 { return daemon.Monotonic() }

// SleepUntil is [daemon.SleepUntil].
func SleepUntil(ctx context.Context, atNs int64) { daemon.SleepUntil(ctx, atNs) }

// ParseAnswer reads a line of a daemon.
func ParseAnswer(line []byte) (*Answer, error) {
	a := new(Answer)
	if err := json.Unmarshal(line, a); err != nil {
		return nil, fmt.Errorf("invalid line %.80q: %w", line, err)
	}
	n := 0
	for _, is := range []bool{a.Waiting != nil, a.Done != 0, a.Failed != 0, a.Log != nil} {
		if is {
			n++
		}
	}
	if n != 1 {
		return nil, fmt.Errorf("invalid line %.80q: want one of waiting, done, failed and log", line)
	}
	if a.Waiting != nil && len(a.Waiting) == 0 {
		return nil, fmt.Errorf("invalid line %.80q: a daemon has one phase or more", line)
	}
	return a, nil
}

// Lines reads lines of at most MaxLine bytes.
type Lines struct{ s *bufio.Scanner }

// NewLines returns a reader of lines.
func NewLines(r io.Reader) *Lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), MaxLine+1)
	return &Lines{s}
}

// Next returns the next line without its end; it is valid until the next call. The error is io.EOF at the end of the input.
func (l *Lines) Next() ([]byte, error) {
	if l.s.Scan() {
		return l.s.Bytes(), nil
	}
	switch err := l.s.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line of more than %d bytes", MaxLine)
	default:
		return nil, err
	}
}

// Writer writes lines, each whole, for several goroutines.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a writer of lines.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes a value as one line.
func (w *Writer) Write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > MaxLine {
		return fmt.Errorf("line of %d bytes, at most %d", len(b), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.w.Write(append(b, '\n'))
	return err
}
