package main

import (
	"fmt"
	"io"
	"strings"

	"meridian/internal/record"
)

// parsedTriggers reads the values of --trigger.
func (f *recordFlags) parsedTriggers() (all []record.Trigger, err error) {
	switch {
	case len(f.triggers) > 0 && f.keep.Keep == record.Keep{}:
		return nil, wrong("--trigger needs --keep, which says how much is there to save: --keep 10s")
	case f.triggerAfter < 0:
		return nil, wrong("--trigger-after %v: must not be negative", f.triggerAfter)
	case f.triggerAfter > 0 && f.keep.Keep == record.Keep{}:
		return nil, wrong("--trigger-after needs --keep, which says how much is there to save: --keep 10s")
	}
	for _, text := range f.triggers {
		t, err := record.ParseTrigger(text)
		if err != nil {
			return nil, wrong("--trigger: %v", err)
		}
		all = append(all, t)
	}
	return all, nil
}

// snapshotsAtSignals has a recorder with these options make a snapshot at each signal USR1, until the function returned is called,
// and say so on stderr.
func (f *recordFlags) snapshotsAtSignals(o *record.Options, stderr io.Writer) (stop func()) {
	if f.keep.Keep == (record.Keep{}) {
		return func() {}
	}
	o.Snapshot = func(s record.Snapshot) { f.tellSnapshot(stderr, s) }
	o.SnapshotAt, stop = snapshotSignals()
	return stop
}

// tellSnapshot says that a snapshot was made. One that failed is a warning at the end.
func (f *recordFlags) tellSnapshot(stderr io.Writer, s record.Snapshot) {
	if s.Error == "" && !f.quiet {
		fmt.Fprintf(stderr, "meridian: saved what was kept to %s (%s)\n", strings.Map(printable, s.Dir), strings.Map(printable, s.Reason))
	}
}
