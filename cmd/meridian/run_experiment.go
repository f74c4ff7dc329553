//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/place"
	"meridian/internal/experiment/schedule"
	"meridian/internal/experiment/verdict"
)

// closeWithin is how long hosts have to end when a run has.
const closeWithin = 5 * time.Second

// experiment runs all runs of a file and prints what came of them.
func (f *runFlags) experiment(cmd *cobra.Command, e *file.Experiment, name string) error {
	started := time.Now()
	if f.dir == "" {
		f.dir = e.Name + "-" + started.UTC().Format("20060102T150405Z")
	}
	f.dir = filepath.Clean(f.dir) // of "results/" the directory would be made as that above it
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(f.dir, 0o777); errors.Is(err, fs.ErrExist) {
		return wrong("%s exists, and results are not overwritten: remove it or name another with -o", f.dir)
	} else if err != nil {
		return fmt.Errorf("directory of the results: %w", err)
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	var reports []*verdict.Report
	for i := range e.Runs {
		runDir := dir
		if len(e.Runs) > 1 {
			runDir = filepath.Join(dir, fmt.Sprintf("run-%03d", i+1))
			if err := os.Mkdir(runDir, 0o777); err != nil {
				return err
			}
		}
		base := filepath.Dir(name)
		if f.bases != nil {
			base = f.bases[i]
		}
		r, err := f.one(cmd, e, &e.Runs[i], runDir, base)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if cmd.Context().Err() != nil {
			break
		}
	}
	return f.tell(cmd, e, dir, reports)
}

// one runs a run, in a directory that is there.
func (f *runFlags) one(cmd *cobra.Command, e *file.Experiment, run *file.Run, dir, base string) (*verdict.Report, error) {
	log := func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: "+format+"\n", args...)
		}
	}
	r := &verdict.Report{Name: e.Name, Started: time.Now(), Meridian: thisBuild().String(), Command: os.Args}
	if err := verdict.Begin(dir, r, run); err != nil {
		return nil, err
	}
	p, leave, err := f.place(cmd, run, log)
	defer leave()
	if err != nil {
		return r, r.End(cmd.Context(), run, schedule.NotPlaced(err, r.Started), nil)
	}
	log("%s: %d hosts (%s), results in %s", e.Name, len(p.Seats), p.Name, dir)
	for _, line := range p.Missing {
		log("warning: %s", line)
	}
	result, err := schedule.Run(cmd.Context(), schedule.Options{
		Run: run, Place: p, Dir: dir, Standard: runDaemonCommand, Log: log,
		Files: func(path string) ([]schedule.File, error) { return keepFiles(dir, base, path) },
	})
	grace := closeWithin
	if cmd.Context().Err() != nil {
		grace = time.Second
	}
	p.Close(grace)
	if err != nil {
		return nil, err
	}
	// After an interrupt as well: what was recorded until then is on the timeline. A second one ends at once.
	return r, r.End(context.WithoutCancel(cmd.Context()), run, result, f.outputs)
}

// place starts the hosts of a run. leave gives up what is needed until they have ended.
func (f *runFlags) place(cmd *cobra.Command, run *file.Run, log func(string, ...any)) (p *place.Place, leave func(), err error) {
	on := f.on
	if on == "" {
		on = run.Place
	}
	o := place.Options{Run: run, Args: []string{runHostCommand}}
	leave = func() {}
	if on == "agents" {
		if o.Agents, err = connectAsOperator(f.server, f.key, log); err != nil {
			return nil, leave, err
		}
		leave = o.Agents.Close
	}
	p, err = place.Open(cmd.Context(), on, o)
	return p, leave, err
}

// keepFiles reads files of an experiment and keeps them with the results, for --repeat-from.
func keepFiles(dir, base, path string) ([]schedule.File, error) {
	files, err := experimentFiles(base, path)
	for _, f := range files {
		to := filepath.Join(dir, verdict.InputDir, filepath.FromSlash(f.Path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o777)
		}
		if err == nil {
			err = os.WriteFile(to, f.Data, os.FileMode(f.Mode))
		}
	}
	return files, err
}

// repeated returns the experiment of results, with all runs of it that began, and sets the place to theirs.
func (f *runFlags) repeated(cmd *cobra.Command) (*file.Experiment, error) {
	dirs, err := verdict.Repeatable(f.repeatFrom)
	if err != nil {
		return nil, err
	}
	var all *file.Experiment
	for _, dir := range dirs {
		r, err := verdict.Read(dir)
		if err != nil {
			return nil, err
		}
		e, err := f.read(cmd, filepath.Join(dir, file.ResolvedName))
		if err != nil {
			return nil, err
		}
		one := e.Runs[0] // variables are resolved: there is no other
		one.Values, one.Repeat = r.Values, r.Repeat
		if all == nil {
			all = &file.Experiment{Name: r.Name}
		}
		all.Runs = append(all.Runs, one)
		f.bases = append(f.bases, filepath.Join(dir, verdict.InputDir))
		if f.on == "" && r.Run != nil {
			f.on = r.Run.Place
		}
	}
	return all, nil
}

// maxFile bounds a file of an experiment: it is held in memory while it is sent.
const maxFile = 1 << 30

// experimentFiles reads a file, or the files of a directory.
func experimentFiles(base, path string) (files []schedule.File, err error) {
	err = filepath.WalkDir(filepath.Join(base, path), func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(at)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return nil
		case info.Size() > maxFile:
			return fmt.Errorf("%s: %d bytes, at most %d", at, info.Size(), maxFile)
		}
		b, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(base, at)
		if err != nil {
			return err
		}
		files = append(files, schedule.File{Path: filepath.ToSlash(short), Mode: uint32(info.Mode().Perm()), Data: b})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return files, nil
}

// tell prints what came of the runs, and ends with the exit code for it.
func (f *runFlags) tell(cmd *cobra.Command, e *file.Experiment, dir string, reports []*verdict.Report) error {
	if f.json {
		b, err := json.MarshalIndent(reports, "", "  ")
		if err != nil {
			return err
		}
		if _, err := cmd.OutOrStdout().Write(append(b, '\n')); err != nil {
			return err
		}
	} else if err := verdict.Print(cmd.OutOrStdout(), reports); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian: results are in", dir)
	}
	var failed, open []string
	for _, r := range reports {
		failed, open = append(failed, r.Failures()...), append(open, r.Open()...)
	}
	switch {
	case cmd.Context().Err() != nil && (len(reports) < len(e.Runs) || reports[len(reports)-1].State != verdict.Ended):
		return &commandEnded{errors.New("interrupted; what was gathered is in " + dir), exitFailed}
	case len(failed) > 0:
		return &commandEnded{errors.New(firstOf(failed)), exitFailed}
	case len(open) > 0:
		return &brokenPromise{firstOf(open)}
	}
	return nil
}

func firstOf(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s (and %d more)", lines[0], len(lines)-1)
}
