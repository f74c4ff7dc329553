package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Phase does a phase of a daemon. The result is stored in the report of the experiment as JSON; nil for none. ctx ends when the
// daemon is to end.
type Phase func(ctx context.Context, c *Call) (result any, err error)

// Call is a phase that was started.
type Call struct {
	Phase string
	with  map[string]any
	out   *Writer
}

// Bind stores the parameters in the fields of a struct by their JSON names. Unknown parameters are an error.
func (c *Call) Bind(to any) error {
	b, err := json.Marshal(c.with)
	if err != nil {
		return err
	}
	return strictly(b, to)
}

// Logf writes a line to the log of the daemon.
func (c *Call) Logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_ = c.out.Write(Answer{Log: &text}) // a host that has gone ends the input as well
}

// Serve is a daemon: it says that it waits and does phases until in or ctx ends, then waits for those that run, whose contexts
// end. A phase that fails is told and does not end it. The error says that a line could not be read or written.
func Serve(ctx context.Context, in io.Reader, out io.Writer, phases map[string]Phase) error {
	ctx, cancel := context.WithCancel(ctx)
	w := NewWriter(out)
	if err := w.Write(Answer{Waiting: slices.Sorted(maps.Keys(phases)), At: true}); err != nil {
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
			running.Go(func() { answer(ctx, w, c, phases[c.Phase]) })
		}
	}
}

func readCommands(ctx context.Context, in io.Reader, to chan<- Command) error {
	lines := NewLines(in)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var c Command
		if err := json.Unmarshal(line, &c); err != nil || c.Start <= 0 {
			return fmt.Errorf("invalid command %.80q: want {\"start\":NUMBER,\"phase\":NAME}", line)
		}
		select {
		case to <- c:
		case <-ctx.Done():
			return nil
		}
	}
}

func answer(ctx context.Context, w *Writer, c Command, do Phase) {
	fail := func(err error) { _ = w.Write(Answer{Failed: c.Start, Error: err.Error()}) }
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
	if err := w.Write(a); err != nil {
		fail(fmt.Errorf("result: %w", err))
	}
}
