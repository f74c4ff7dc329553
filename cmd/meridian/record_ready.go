package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"meridian/internal/record"
)

// readyWord is the line that is written to --ready-fd.
const readyWord = "ready\n"

// readyFD is the value of --ready-fd.
type readyFD struct {
	number int
	given  bool
}

func (r *readyFD) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is not the number of a file descriptor", text)
	}
	*r = readyFD{n, true}
	return nil
}

func (r *readyFD) String() string {
	if !r.given {
		return ""
	}
	return strconv.Itoa(r.number)
}

func (*readyFD) Type() string { return "int" }

// openReady returns the file of --ready-fd, nil without the flag.
func (f *recordFlags) openReady() (*os.File, error) {
	if !f.readyFD.given {
		return nil, nil
	}
	if f.readyFD.number > 2 { // stdout and stderr are for what is printed
		if file := readyFile(f.readyFD.number); file != nil {
			return file, nil
		}
	}
	return nil, wrong("--ready-fd %d: not a file descriptor above 2 that is open for writing; a shell opens one with %[1]d>FILE", f.readyFD.number)
}

// tellContinued says whose trace a recording goes on with.
func (f *recordFlags) tellContinued(stderr io.Writer, r *record.Recorder) {
	if host, ok := r.Continued(); ok && !f.quiet {
		fmt.Fprintf(stderr, "meridian: %s has a trace of host %s: recording continues it\n", f.dir, strings.Map(printable, host))
	}
}

// tellReady says that everything is being recorded from now on: to --ready-fd, and on stderr where the recording goes on until it
// is interrupted. A reader of --ready-fd that has gone misses it.
func (f *recordFlags) tellReady(ready *os.File, stderr io.Writer, command bool) {
	if ready != nil {
		_, _ = ready.WriteString(readyWord)
		_ = ready.Close()
	}
	if !f.quiet && !command {
		fmt.Fprintf(stderr, "meridian: recording into %s until it is interrupted\n", f.dir)
	}
}
