package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"meridian/clock"
)

// What goes wrong is the affair of what it happened to, so that a recording of hours is not lost by one of its parts:
//
//	a source, a ring  --> is recorded no further. Failure: told at once, in the summary, in the trace's environment (incomplete_N)
//	the trace's files --> outputError: ends the recording
//
// What was taken of a part before it failed is written, and what it lost is counted.

// Failure is what ended the recording of a source or a ring before that of all else.
type Failure struct {
	Name   string    `json:"name"` // of the source, of the program
	PID    int       `json:"pid,omitempty"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // on the trace's clock
}

func (f Failure) String() string {
	what := f.Name
	if f.PID != 0 {
		what = fmt.Sprintf("%s (process %d)", f.Name, f.PID)
	}
	return fmt.Sprintf("%s: %s; not recorded since %s", what, f.Reason, f.At.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// mostFailures is how many are kept: programs that are up to no good may start others without end.
const mostFailures = 100

// outputError says that the trace cannot be written.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

func ofOutput(err error) bool {
	var output *outputError
	return errors.As(err, &output)
}

// errEnded is the error of a source that ended without being stopped.
var errEnded = errors.New("ended by itself")

// ended is a source whose writer has ended, and its error, if it was not stopped.
type ended struct {
	writer
	err error
}

// sourceOver takes note of a source that has ended. An error is the trace's.
func (r *Recorder) sourceOver(e ended) error {
	if e.err == nil || ofOutput(e.err) {
		return e.err
	}
	return r.fail(e.name(), 0, e.err)
}

// fail tells of what is recorded no further. An error is the trace's.
func (r *Recorder) fail(name string, pid int, err error) error {
	if len(r.failures) == mostFailures {
		r.unlisted++
		return nil
	}
	reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "record: "), name+": ")
	reason = strings.ReplaceAll(reason, "\n", "; ")
	f := Failure{Name: name, PID: pid, Reason: reason, At: time.Unix(0, int64(clock.Monotonic.Now())+r.Origin())}
	r.failures = append(r.failures, f)
	if r.o.Failed != nil {
		r.o.Failed(f)
	} else {
		r.o.Warnings.Add("", f.String(), "")
	}
	r.t.note("incomplete", f.String())
	return r.t.writeMetadata()
}

// joined joins errors of one output, which is told once to be full.
func joined(all ...error) error {
	var errs []error
	told := false
	for _, err := range all {
		if noRoom(err) {
			if told {
				continue
			}
			told = true
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
