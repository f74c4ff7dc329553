package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/sensor/ring"
)

// directories returns where rings are looked for; "" for the directory of package sensor.
func (r *Recorder) directories() []string {
	if len(r.o.Rings) == 0 {
		return []string{""}
	}
	return r.o.Rings
}

// releaseTime is how long a recorder that was killed is expected to hold its rings when it has given back the directory, usually some ms.
const releaseTime = 2 * time.Second

// findAtEnd is Recorder.find for the last pass. Where a trace is continued it waits for rings that another recorder holds: it may be the one before, which the
// system is still ending. Their events would be left, and nothing would say so.
func findAtEnd(r *Recorder) (found, unready bool, err error) {
	r.ending = r.t.continued
	for until := time.Now().Add(releaseTime); ; time.Sleep(r.pauses.least) {
		more, unready, err := r.find()
		found = found || more
		if err != nil || r.held == 0 || time.Now().After(until) {
			return found, unready, err
		}
	}
}

// find opens the new rings of selected programs and says whether there were any. Unready says that one is still being made. An
// error means that the trace cannot be written.
func (r *Recorder) find() (found, unready bool, err error) {
	before := len(r.rings)
	r.held = 0
	for _, dir := range r.directories() {
		paths, err := ring.Find(dir)
		if err != nil {
			r.o.Warnings.Add(dir, "the directory of rings cannot be read", err.Error())
			continue
		}
		for _, path := range paths {
			if r.rings[path] == nil && !r.ignored[path] {
				early, err := r.open(path)
				if err != nil {
					return false, false, err
				}
				unready = unready || early
			}
		}
	}
	if len(r.rings) == before {
		return false, unready, nil
	}
	return true, unready, r.t.writeMetadata()
}

// open opens a ring, if its program is selected and it can be read. Unready says that it is still being made. An error means
// that the trace cannot be written.
func (r *Recorder) open(path string) (unready bool, err error) {
	info, err := ring.Look(path)
	if err == nil && (!selected(r.o.Programs, info) || r.o.Only != nil && !r.o.Only(info)) {
		r.ignored[path] = true
		return false, nil
	}
	if err == nil && info.Elsewhere() {
		r.ignored[path] = true
		r.o.Warnings.Add(path, "the ring is from before this machine was booted, or of another machine, and was not recorded: sensor.Recover makes a trace of it", "")
		return false, nil
	}
	var reader *ring.Reader
	if err == nil {
		reader, err = ring.Open(path)
	}
	switch {
	case errors.Is(err, ring.ErrUnready):
		return true, nil
	case errors.Is(err, os.ErrNotExist): // removed meanwhile
		return false, nil
	case errors.Is(err, ring.ErrBusy):
		if r.ending && !readsItself(path, info.PID) {
			r.held++
		}
		if !r.busy[path] {
			r.busy[path] = true
			r.warnOfReader(path, info)
		}
		return false, nil
	case err != nil: // for example another user's ring
		r.ignored[path] = true
		r.o.Warnings.Add(path, "the ring cannot be read", err.Error())
		return false, nil
	}
	d, err := newDrain(reader, r.t, r.times, &r.o, r.snapshots)
	if err != nil {
		r.ignored[path] = true
		reader.Close()
		return false, r.fail(info.Program, info.PID, err)
	}
	r.rings[path] = d
	return false, nil
}

// warnOfReader warns of a ring that is being read already: by its own program, or by another recorder.
func (r *Recorder) warnOfReader(path string, info ring.Info) {
	if !readsItself(path, info.PID) {
		r.o.Warnings.Add(path, "another recorder reads the ring: its events are recorded there until that ends", "")
		return
	}
	program := fmt.Sprintf("%s (process %d)", info.Program, info.PID)
	r.o.Warnings.Add(program, "records itself (sensor.Record): its events are in the trace that it writes; with sensor.Start they would be here", "")
}

// selected reports whether the patterns select a program. No patterns select all.
func selected(patterns []string, info ring.Info) bool {
	for _, p := range patterns {
		if Selects(p, info.Program, info.PID) {
			return true
		}
	}
	return len(patterns) == 0
}

// Selects reports whether one of Options.Programs selects a program.
func Selects(pattern, program string, pid int) bool {
	ok, _ := filepath.Match(pattern, program)
	return ok || pattern == fmt.Sprint(pid)
}
