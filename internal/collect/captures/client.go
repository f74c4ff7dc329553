package captures

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/tunnel"
	"meridian/internal/collect/wire"
	"meridian/internal/reduced"
	"meridian/trace"
)

// Host is the agent of a host, as an operator reaches it. Requests are made one after the other, by any goroutine. Close must be called.
type Host struct {
	name   string
	stream *tunnel.Stream

	mu sync.Mutex
	in *bufio.Reader
}

// Open reaches the agent of a host.
func Open(ctx context.Context, c *nats.Conn, host string) (*Host, error) {
	if err := wire.CheckHost(host); err != nil {
		return nil, err
	}
	s, _, err := tunnel.Open(ctx, c, wire.CaptureStreams, host)
	if err != nil {
		return nil, err
	}
	return &Host{name: host, stream: s, in: bufio.NewReaderSize(s, 128<<10)}, nil
}

// Close lets the agent go. What is asked meanwhile fails.
func (h *Host) Close() {
	h.stream.End("")
	h.stream.Close()
}

// List returns the capture at a path of the host, or those in a directory. An agent that does not give them is a [RefusedError].
func (h *Host) List(ctx context.Context, path string) ([]File, error) {
	var files []File
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := h.ask(ctx, request{Op: opList, Path: path}, func(a *answer) error {
		files = a.Files
		if len(files) == 0 {
			return errors.New("an answer without files")
		}
		return nil
	})
	return files, err
}

// Read returns a capture, reduced, and the warnings that its reading gave. name is the file's in these and in the capture, host that of the capture. m keeps the
// packets, unless it is nil.
// An agent that does not give it is a [RefusedError]; another error leaves the agent of no use.
func (h *Host) Read(ctx context.Context, path, name, host string, m trace.Memory) (c *trace.Capture, warnings []trace.Warning, err error) {
	err = h.ask(ctx, request{Op: opRead, Path: path, Name: name}, func(*answer) (err error) {
		c, warnings, err = reduced.Read(ctx, h.in, host, m)
		if err == nil {
			c.File = name
		}
		return err
	})
	return c, warnings, err
}

// ask makes a request and has its answer read.
func (h *Host) ask(ctx context.Context, q request, read func(*answer) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	stop := context.AfterFunc(ctx, h.stream.Close) // reading does not know ctx
	defer stop()
	err := writeLine(h.stream, q)
	var a answer
	if err == nil {
		err = readLine(h.in, &a)
	}
	switch {
	case err == nil && a.Refused != "":
		return &RefusedError{h.name, a.Refused}
	case err == nil:
		err = read(&a)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if why := h.stream.Reason(); why != "" {
		err = errors.New(why)
	} else if broken := h.stream.Err(); broken != nil {
		err = broken
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ended before its answer")
	}
	h.stream.Close() // what is left of the answer is not read
	return fmt.Errorf("the agent of %q: %w", h.name, err)
}
