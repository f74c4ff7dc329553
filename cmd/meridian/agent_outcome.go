package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meridian/internal/dirlock"
	"meridian/internal/record"
)

// outcomeFile has a line for each recorder of an agent that did not end with 0. An agent that was killed does not learn that from its recorder;
// the next one reads it here. The agent that has said it removes the file.
const outcomeFile = ".outcome"

// ofAgentFlag is the flag of recorders that agents start.
const ofAgentFlag = "of-agent"

// maxOutcome bounds what is read of the file, bytes.
const maxOutcome = 64 << 10

// leaveOutcome adds how a recorder ends to the file of its directory, and returns it.
func leaveOutcome(dir string, outcome error) error {
	if outcome == nil || errors.Is(outcome, record.ErrOtherRecorder) { // which says itself how it ends
		return outcome
	}
	f, err := os.OpenFile(filepath.Join(dir, outcomeFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		return outcome // nothing was recorded
	}
	if err != nil {
		return errors.Join(outcome, err)
	}
	_, err = fmt.Fprintln(f, strings.Map(printable, outcome.Error()))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(outcome, err)
	}
	return outcome
}

// outcomes returns what recorders before this one left.
func outcomes(dir string) (lines []string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, outcomeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b[:min(len(b), maxOutcome)])) {
		if line = strings.TrimSpace(strings.Map(printable, strings.TrimSuffix(line, "\n"))); line != "" {
			lines = append(lines, "an earlier recorder of "+dir+": "+line)
		}
	}
	return lines, nil
}

// removeOutcomes forgets what has been said.
func removeOutcomes(dir string) error {
	err := os.Remove(filepath.Join(dir, outcomeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// otherRecorder is a recorder of a directory that this agent did not start.
type otherRecorder struct {
	pid     int
	known   bool // which process it is
	ofAgent bool // an agent started it
}

// recorderOf returns the process that records into a directory.
func recorderOf(dir string) (o otherRecorder) {
	for _, pid := range dirlock.Holders(dir) {
		if args := argumentsOf(pid); slices.Contains(args, dir) && !elsewhere(pid, dir) {
			return otherRecorder{pid: pid, known: true, ofAgent: slices.Contains(args, "--"+ofAgentFlag)}
		}
	}
	return o
}

// elsewhere reports whether a process is known to mean another directory by the same name: its working directory is another.
func elsewhere(pid int, dir string) bool {
	if filepath.IsAbs(dir) {
		return false
	}
	here, err := os.Stat(dir)
	there, hidden := os.Stat(filepath.Join(fmt.Sprintf("/proc/%d/cwd", pid), dir))
	return err == nil && hidden == nil && !os.SameFile(here, there)
}

// awaitRecorderOf is [recorderOf] for a directory that is locked: a process that has just begun may not be told at once.
func awaitRecorderOf(dir string) (o otherRecorder) {
	for until := time.Now().Add(findWithin); ; time.Sleep(lookForOwner / 10) {
		if o = recorderOf(dir); o.known || time.Now().After(until) {
			return o
		}
	}
}

// left waits until the process has ended: it says how after it has given back the lock.
func (o otherRecorder) left(dir string) {
	for until := time.Now().Add(endWithin); o.known && slices.Contains(argumentsOf(o.pid), dir) && time.Now().Before(until); {
		time.Sleep(lookForOwner)
	}
}

// argumentsOf returns a process's arguments, none of one that has ended.
func argumentsOf(pid int) []string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return strings.Split(string(line), "\x00")
}
