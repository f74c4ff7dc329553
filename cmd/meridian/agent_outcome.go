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

// outcomePrefix begins the names of files in which recorders of agents say what was wrong with them, a line each. An agent that was killed does not
// learn that from its recorder; the next one reads it here. The agent that has said it removes the files.
//
// A file is there from the beginning of its recorder, with what is to be said if that is killed. It has its size from then on, so that a full disk does
// not keep a recorder from saying that this was its end.
const (
	outcomePrefix = ".outcome-"
	outcomeSize   = 4096 // bytes
)

// ofAgentFlag is the flag of recorders that agents start.
const ofAgentFlag = "of-agent"

// leftOutcome is what a recorder of an agent leaves in the directory. Nil leaves nothing.
type leftOutcome struct {
	dir  string
	file *os.File // nil: it could not be made yet
	text string
}

// beginOutcome makes the file of a recorder.
func beginOutcome(dir string) *leftOutcome {
	o := &leftOutcome{dir: dir}
	o.make()
	return o
}

func (o *leftOutcome) make() {
	if o.dir == "" {
		return
	}
	if f, err := os.CreateTemp(o.dir, outcomePrefix+"*"); err == nil {
		o.file = f
		if o.write("") != nil { // no room: it is tried again when there is something to say
			o.remove()
		}
	}
}

// write puts a text in the place of the one before.
func (o *leftOutcome) write(text string) error {
	text = strings.Map(printable, text)
	text = strings.ToValidUTF8(text[:min(len(text), outcomeSize-1)], "")
	_, err := o.file.WriteAt([]byte(text+strings.Repeat(" ", outcomeSize-1-len(text))+"\n"), 0)
	return err
}

func (o *leftOutcome) remove() {
	_ = os.Remove(o.file.Name()) // at worst it says nothing
	_ = o.file.Close()
	o.file = nil
}

// ifKilled says what is to be said if the recorder is killed; nothing where that loses and hides nothing.
func (o *leftOutcome) ifKilled(lines []string) {
	if o.file == nil {
		return
	}
	text := ""
	if len(lines) > 0 {
		text = "it was killed: " + strings.Join(lines, "; ")
	}
	if text != o.text && o.write(text) == nil {
		o.text = text
	}
}

// end says how the recorder ends, and returns that.
func (o *leftOutcome) end(outcome error) error {
	if o == nil {
		return outcome
	}
	said := outcome == nil || errors.Is(outcome, record.ErrOtherRecorder) // which says itself how it ends
	if _, err := os.Stat(o.dir); o.file == nil && err == nil && !said {
		o.make()
	}
	switch {
	case o.file == nil:
		return outcome
	case said:
		o.remove()
		return outcome
	}
	return errors.Join(outcome, o.write(outcome.Error()), o.file.Close())
}

// counts returns what is called with the counts so far.
func (f *recordFlags) counts(live *counter, sources *recordSources, command bool) func(record.Summary) {
	if f.outcome == nil {
		return live.show
	}
	f.outcome.ifKilled(f.whatAKillLoses(nil, sources, command))
	return func(s record.Summary) {
		live.show(s)
		f.outcome.ifKilled(f.whatAKillLoses(&s, sources, command))
	}
}

// whatAKillLoses returns what is to be said of a recorder that is killed. What programs emit waits in their rings.
func (f *recordFlags) whatAKillLoses(s *record.Summary, sources *recordSources, command bool) (lines []string) {
	if s != nil {
		lines = notKept(s, sources.packets != nil)
	}
	for _, line := range sources.missing {
		lines = append(lines, "not recorded: "+line)
	}
	if f.kernel != "" || f.packets != nil {
		lines = append(lines, "kernel events and packets from then until the next recorder began are missing and not counted")
	}
	if command {
		lines = append(lines, "how its COMMAND ended is not known")
	}
	return lines
}

// outcomes returns what recorders before this one left.
func outcomes(dir string) (lines []string, err error) {
	paths, err := outcomePaths(dir)
	for _, path := range paths {
		b, readErr := os.ReadFile(path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		for line := range strings.Lines(string(b[:min(len(b), outcomeSize)])) {
			line = strings.TrimSpace(strings.Map(printable, strings.TrimSuffix(line, "\n")))
			if line = "an earlier recorder of " + dir + ": " + line; !strings.HasSuffix(line, ": ") && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines, err
}

func outcomePaths(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), outcomePrefix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// removeOutcomes forgets what has been said.
func removeOutcomes(dir string) error {
	paths, err := outcomePaths(dir)
	for _, path := range paths {
		if removed := os.Remove(path); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
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
