// Package daemon makes of a program a daemon of an experiment ('meridian run', a daemon with speaks: true). A daemon waits from its start to
// its end, does phases when it is told to, and keeps its state between them.
//
//	func main() {
//		sum := 0
//		err := daemon.Main(map[string]daemon.Phase{
//			"add": func(ctx context.Context, c *daemon.Call) (any, error) {
//				var with struct{ N int }
//				if err := c.Bind(&with); err != nil {
//					return nil, err
//				}
//				sum += with.N
//				return map[string]int{"sum": sum}, nil
//			},
//		})
//		...
//	}
//
// The host and a daemon say lines of JSON by the standard input and output:
//
//	daemon: {"waiting":["add"],"at":true}                            once: the phases that it has
//	host:   {"start":7,"at_ns":86401234567890,"phase":"add","with":{"n":10}}
//	daemon: {"log":"adds 10"}
//	daemon: {"done":7,"result":{"sum":10}}     or     {"failed":7,"error":"why"}
//
// All that the program prints to its standard output besides must not begin with {. It is a line of the log, as is the standard error.
// With package sensor the events of the program are on the timeline of the experiment, if the host records: nothing is to be set for that.
package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
)

// MaxLine is the greatest length of a line in bytes.
const MaxLine = 1 << 20

// Command is what a host says to a daemon: to start a phase.
type Command struct {
	Start int            `json:"start"`           // number of the call, 1 and up, unique in a run
	AtNs  int64          `json:"at_ns,omitempty"` // when the phase begins, CLOCK_MONOTONIC of the host; 0: at once
	Phase string         `json:"phase"`
	With  map[string]any `json:"with,omitempty"`
}

// Answer is what a daemon says. Exactly one of Waiting, Done, Failed and Log is set.
type Answer struct {
	Waiting []string        `json:"waiting,omitempty"` // the phases it has, at least one
	At      bool            `json:"at,omitempty"`      // with Waiting: it wants commands early and begins at their AtNs
	Done    int             `json:"done,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"` // of Done
	Failed  int             `json:"failed,omitempty"`
	Error   string          `json:"error,omitempty"` // of Failed
	Log     *string         `json:"log,omitempty"`
}

// Phase does a phase of a daemon. The result is stored in the report of the experiment as JSON; nil for none. ctx ends when the
// daemon is to end. Phases of a block run at the same time, each in a goroutine of its own.
type Phase func(ctx context.Context, c *Call) (result any, err error)

// Call is a phase that was started.
type Call struct {
	Phase string
	with  map[string]any
	out   *writer
}

// Bind stores the parameters in the fields of a struct by their JSON names. Unknown parameters are an error.
func (c *Call) Bind(to any) error {
	b, err := json.Marshal(c.with)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// Logf writes a line to the log of the daemon.
func (c *Call) Logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_ = c.out.write(Answer{Log: &text}) // a host that has gone ends the input as well
}

// Main is [Serve] by the standard input and output of this process. It returns when the experiment ends.
func Main(phases map[string]Phase) error {
	return Serve(context.Background(), os.Stdin, os.Stdout, phases)
}

// Serve is a daemon: it says that it waits and does phases until in or ctx ends, then waits for those that run, whose contexts
// end. A phase that fails is told and does not end it. The error says that a line could not be read or written.
func Serve(ctx context.Context, in io.Reader, out io.Writer, phases map[string]Phase) error {
	ctx, cancel := context.WithCancel(ctx)
	w := &writer{w: out}
	if err := w.write(Answer{Waiting: slices.Sorted(maps.Keys(phases)), At: true}); err != nil {
		cancel()
		return err
	}
	commands := make(chan Command)
	ended := make(chan error, 1)
	go func() { ended <- readCommands(ctx, in, commands) }()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil // the reader ends with its input, which the process closes at its exit
		case err := <-ended:
			return err
		case c := <-commands:
			running.Add(1)
			go func() {
				defer running.Done()
				answer(ctx, w, c, phases[c.Phase])
			}()
		}
	}
}

func readCommands(ctx context.Context, in io.Reader, to chan<- Command) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), MaxLine+1)
	for lines.Scan() {
		var c Command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil || c.Start <= 0 {
			return fmt.Errorf("invalid command %.80q: want {\"start\":NUMBER,\"phase\":NAME}", lines.Bytes())
		}
		select {
		case to <- c:
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a command of more than %d bytes", MaxLine)
	}
	return lines.Err()
}

// writer writes lines, each whole, for several goroutines.
type writer struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *writer) write(a Answer) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if len(b) > MaxLine {
		return fmt.Errorf("a line of %d bytes, at most %d", len(b), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.w.Write(append(b, '\n'))
	return err
}

func answer(ctx context.Context, w *writer, c Command, do Phase) {
	fail := func(err error) { _ = w.write(Answer{Failed: c.Start, Error: err.Error()}) }
	if do == nil {
		fail(fmt.Errorf("unknown phase %q", c.Phase))
		return
	}
	SleepUntil(ctx, c.AtNs)
	result, err := do(ctx, &Call{c.Phase, c.With, w})
	if err != nil {
		fail(err)
		return
	}
	a := Answer{Done: c.Start}
	if result != nil {
		if a.Result, err = json.Marshal(result); err != nil {
			fail(fmt.Errorf("result: %w", err))
			return
		}
	}
	if err := w.write(a); err != nil {
		fail(fmt.Errorf("result: %w", err))
	}
}
