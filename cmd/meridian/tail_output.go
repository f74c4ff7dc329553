package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// lineOutput writes whole lines into a pipe whose reader may stop reading. An interrupt ends the command though the pipe is full: a
// write to a full pipe cannot be interrupted, so it is not begun. A pipe that is ready for writing takes pipeRoom bytes at once
// (PIPE_BUF, pipe(7)), and one that is empty takes all that it holds.
type lineOutput struct {
	ctx   context.Context // of the command
	to    io.Writer
	ready func(wait time.Duration) (room int, err error) // waits until the pipe takes so many bytes at once; 0: it does not
	now   func() time.Time
	rest  []byte // the begin of a line
}

const (
	pipeRoom = 4096
	// readerPatience is how long a reader may read nothing after an interrupt, while there is more to be written.
	readerPatience = time.Second
	readyInterval  = 100 * time.Millisecond // between looks for an interrupt while the pipe is full
)

// errNotRead ends a command whose output is not read.
var errNotRead = errors.New("interrupted while nobody read the output: not all was printed; what was printed are whole lines")

// newLineOutput returns what a command writes lines to, and how to write what is left of them at the end. What is no pipe is written to
// as it is.
func newLineOutput(ctx context.Context, out io.Writer) (_ io.Writer, flush func() error) {
	f, ok := out.(*os.File)
	if ok {
		info, err := f.Stat()
		ok = err == nil && info.Mode()&os.ModeNamedPipe != 0 && canWaitForRoom
	}
	if !ok {
		return out, func() error { return nil }
	}
	o := &lineOutput{ctx: ctx, to: f, ready: func(wait time.Duration) (int, error) { return roomOf(f, wait) }, now: time.Now}
	return o, o.flush
}

func (o *lineOutput) Write(b []byte) (int, error) {
	size := len(b)
	if len(o.rest) > 0 {
		b = append(o.rest, b...)
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	err := o.write(b[:end])
	o.rest = bytes.Clone(b[end:])
	if err != nil {
		return 0, err
	}
	return size, nil
}

// write writes in parts that the pipe takes at once, each of whole lines unless one line is longer.
func (o *lineOutput) write(b []byte) error {
	for len(b) > 0 {
		room, err := o.wait()
		if err != nil {
			return err
		}
		part := b[:min(len(b), room)]
		if end := bytes.LastIndexByte(part, '\n') + 1; end > 0 {
			part = part[:end]
		}
		n, err := o.to.Write(part)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// wait waits for room in the pipe, and returns how much there is: for ever, or after an interrupt as long as readerPatience.
func (o *lineOutput) wait() (room int, err error) {
	var since time.Time
	for {
		room, err := o.ready(readyInterval)
		if room > 0 || err != nil {
			return room, err
		}
		switch {
		case o.ctx.Err() == nil:
		case since.IsZero():
			since = o.now()
		case o.now().Sub(since) >= readerPatience:
			return 0, errNotRead
		}
	}
}

func (o *lineOutput) flush() error {
	rest := o.rest
	o.rest = nil
	return o.write(rest)
}
