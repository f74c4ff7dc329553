package timeline

import (
	"bufio"
	"fmt"
	"io"

	"meridian/trace"
)

// Lines is the output of a writer that writes a line for each event: buffered, and with one error for all calls after the first.
type Lines struct {
	Progress
	buffer *bufio.Writer
}

// NewLines returns the output of a writer that has written nothing.
func NewLines(format string, out io.Writer, s *trace.Schema) (Lines, error) {
	progress, err := NewProgress(format, out, s)
	return Lines{progress, bufio.NewWriterSize(out, 64<<10)}, err
}

// WriteLine writes a line. The output gets whole lines, as long as they are shorter than the buffer.
func (l *Lines) WriteLine(line []byte) error {
	if len(line) > l.buffer.Available() {
		if err := l.Flush(); err != nil {
			return err
		}
	}
	if l.Err == nil {
		_, err := l.buffer.Write(line)
		l.fail(err)
	}
	return l.Err
}

// Flush writes what is buffered.
func (l *Lines) Flush() error {
	if l.Err == nil {
		l.fail(l.buffer.Flush())
	}
	return l.Err
}

// Close writes what is buffered. It does not close what is below.
func (l *Lines) Close() error {
	_ = l.Flush() // Close of Progress returns it
	return l.Progress.Close()
}

func (l *Lines) fail(err error) {
	if err != nil {
		l.Err = fmt.Errorf("%s: %w", l.Format, err)
	}
}

// Notes is what is said of the event that is written next, by how a live timeline was ordered.
type Notes struct{ late, moved int64 }

// Annotate says of the event that is written next how far it is behind one that was written before it, and by how much it was moved to
// follow its cause, both in ns; 0 for not at all.
func (n *Notes) Annotate(late, moved int64) { *n = Notes{late, moved} }

// Take returns the notes and forgets them.
func (n *Notes) Take() (late, moved int64) {
	late, moved = n.late, n.moved
	*n = Notes{}
	return late, moved
}
