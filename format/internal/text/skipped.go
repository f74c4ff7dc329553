package text

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"meridian/trace"
)

// Why a line cannot be taken, whatever the format.
var (
	ErrName    = errors.New("a host name with control characters or invalid UTF-8")
	ErrTooLong = errors.New("a line longer than 1 MiB")
)

// Cases counts what happened and remembers the first line of it.
type Cases struct {
	Count int64
	First int
}

// Add counts one more, on the given line.
func (c *Cases) Add(line int) {
	if c.Count == 0 {
		c.First = line
	}
	c.Count++
}

// Skipped counts the lines that were left out, by reason. They become warnings at the end: ten million bad lines must not
// format ten million texts. The zero value is ready.
type Skipped struct {
	reasons map[error]*Cases
}

// Add counts one more line that was left out. The reason is one of a few errors that live as long as the program.
func (s *Skipped) Add(line int, reason error) {
	c := s.reasons[reason]
	if c == nil {
		if s.reasons == nil {
			s.reasons = make(map[error]*Cases)
		}
		c = new(Cases)
		s.reasons[reason] = c
	}
	c.Add(line)
}

// First returns the first line that was left out and why; the reason is nil if there is none.
func (s *Skipped) First() (line int, reason error) {
	if list := s.sorted(); len(list) > 0 {
		return s.reasons[list[0]].First, list[0]
	}
	return 0, nil
}

// Warn tells of each reason once, in the order in which they first happened.
func (s *Skipped) Warn(file string, w *trace.Warnings) {
	for _, reason := range s.sorted() {
		c := s.reasons[reason]
		w.Gap(file, "line skipped: "+reason.Error(), Place(file, c.First), c.Count)
	}
}

func (s *Skipped) sorted() []error {
	var list []error
	for reason := range s.reasons {
		list = append(list, reason)
	}
	slices.SortFunc(list, func(a, b error) int { return cmp.Compare(s.reasons[a].First, s.reasons[b].First) })
	return list
}

// Place names a line as compilers do.
func Place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }
