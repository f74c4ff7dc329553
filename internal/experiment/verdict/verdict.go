//go:build unix

// Package verdict makes of a run that has ended what people and programs read: one timeline and one verdict.
//
//	hosts/HOST/trace --> pipeline --> timeline.html, alignment.report.json, pairs --.
//	schedule.Result ----------------------------------------------------------------+--> checks --> report.json, junit.xml
//	hosts/HOST/files ---------------------------------------------------------------'
//
// Each check is answered yes, no or undecided. Yes means that nothing the clocks' bounds allow makes it no. A report is there
// from the start of a run, and says so: a controller that was killed leaves a report of a run that did not end.
//
// # The directory of a run
//
//	report.json             everything below in one file, with versions; docs/experiments.md has its fields
//	junit.xml               the checks and the run itself as test cases
//	experiment.yaml         the file as resolved, without variables
//	timeline.html           the timeline of all hosts, if any recorded
//	alignment.report.json   how it came about
//	input                   the files of the experiment
//	hosts/HOST/trace        what the host recorded
//	hosts/HOST/log          output of its daemons, each line with its stamp
//	hosts/HOST/files        what was gathered, by daemon
package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/filter"
	"meridian/internal/private"
	"meridian/internal/show"
)

// Names within the directory of a run.
const (
	ReportName    = file.ReportName
	junitName     = file.JUnitName
	resolvedName  = file.ResolvedName
	timelineName  = file.TimelineName
	alignmentName = file.AlignmentName

	// InputDir has the files of the experiment that went to hosts.
	InputDir = "input"
)

// Answer is the answer of a check.
type Answer string

// Answers.
const (
	Yes       Answer = "yes"
	No        Answer = "no"
	Undecided Answer = "undecided" // by the clocks' bounds, or because what it takes was not recorded
)

// States of a run.
const (
	Running = "running" // it goes on, or its controller was killed
	Ended   = "ended"   // all phases ended well
	Failed  = "failed"
)

// Report is report.json.
type Report struct {
	Format    int              `json:"format"` // 1
	Name      string           `json:"name"`
	State     string           `json:"state"`
	Verdict   Answer           `json:"verdict"` // of all checks; no if the run failed
	Values    []file.Value     `json:"values,omitempty"`
	Repeat    int              `json:"repeat"`
	Started   time.Time        `json:"started"`
	Meridian  string           `json:"meridian"`
	Command   []string         `json:"command"` // of the controller
	Run       *schedule.Result `json:"run,omitempty"`
	Checks    []CheckResult    `json:"checks"`
	Timeline  *Timeline        `json:"timeline,omitempty"`
	Promises  []string         `json:"broken_promises,omitempty"`
	Problems  []string         `json:"problems,omitempty"` // of what was made at the end
	Directory string           `json:"-"`

	aligned []show.Host // of the timeline
}

// CheckResult is the answer of a check.
type CheckResult struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"`
	Answer Answer         `json:"answer"`
	Reason string         `json:"reason"`
	Host   string         `json:"host,omitempty"` // where it failed
	Pair   *filter.Result `json:"pair,omitempty"`
}

// Timeline is what came of the hosts' traces.
type Timeline struct {
	Hosts      []string        `json:"hosts"` // that recorded
	Reference  string          `json:"reference,omitempty"`
	Assumption string          `json:"assumption,omitempty"`
	Quality    *show.Quality   `json:"quality,omitempty"`
	Pairs      []filter.Result `json:"pairs,omitempty"`
	Warnings   []string        `json:"warnings,omitempty"`
	Files      []string        `json:"files,omitempty"`
	Lost       []Loss          `json:"lost,omitempty"` // in the order of hosts
}

// Begin writes the report of a run that begins, and the file as resolved.
func Begin(dir string, r *Report, run *file.Run) error {
	r.Format, r.State, r.Verdict, r.Directory = 1, Running, Undecided, dir
	r.Values, r.Repeat, r.Checks = run.Values, run.Repeat, []CheckResult{}
	text, err := yaml.Marshal(run.Tree)
	if err != nil {
		return err
	}
	if err := whole(filepath.Join(dir, resolvedName), text); err != nil {
		return err
	}
	return r.write()
}

func (r *Report) write() error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return whole(filepath.Join(r.Directory, ReportName), append(b, '\n'))
}

// whole writes a file that appears whole or not at all.
func whole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(private.File()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// judge makes the verdict of the answers.
func (r *Report) judge() {
	r.State, r.Verdict = Ended, Yes
	if r.Run == nil || r.Run.Cause != nil {
		r.State, r.Verdict = Failed, No
		return
	}
	for _, c := range r.Checks {
		switch {
		case c.Answer == No:
			r.Verdict = No
		case c.Answer == Undecided && r.Verdict == Yes:
			r.Verdict = Undecided
		}
	}
}

// Read reads the report of a directory.
func Read(dir string) (*Report, error) {
	b, err := os.ReadFile(filepath.Join(dir, ReportName))
	if err != nil {
		return nil, err
	}
	r := &Report{Directory: dir}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ReportName), err)
	}
	if r.Format != 1 {
		return nil, fmt.Errorf("%s: format %d, want 1: not a report of 'meridian run' of this version", filepath.Join(dir, ReportName), r.Format)
	}
	return r, nil
}
