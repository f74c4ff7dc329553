package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/private"
	"meridian/internal/probe"
	"meridian/internal/show"
	"meridian/internal/synchroniser"
)

// delayFlags are the flags of the commands that measure delays.
type delayFlags struct {
	askFlags
	json    bool
	picture string
}

// defaultDelayTime is for how long delays are measured unless --for says it.
const defaultDelayTime = 5 * time.Second

func (f *delayFlags) add(cmd *cobra.Command) {
	f.askFlags.add(cmd)
	flags := cmd.Flags()
	output := flags.Lookup("output")
	output.Usage = "write the histograms as a picture `FILE`.svg, or the probes into a trace directory"
	flags.Lookup("for").Usage = "measure for `TIME`"
	f.timeFor = defaultDelayTime
	flags.Lookup("for").DefValue = defaultDelayTime.String()
	flags.BoolVar(&f.json, "json", false, "print the delays as JSON instead of tables and histograms")
	f.quietFlag.add(cmd)
}

// options tells a picture from a directory of a trace.
func (f *delayFlags) options() (probe.Options, error) {
	if strings.HasSuffix(f.dir, ".svg") {
		f.picture, f.dir = f.dir, ""
		if _, err := os.ReadDir(filepath.Dir(f.picture)); err != nil { // said now, not when all is measured
			return probe.Options{}, fmt.Errorf("-o %s: %w", f.picture, err)
		}
	} else if e := filepath.Ext(f.dir); e != "" && e != ".ctf" && !strings.HasSuffix(f.dir, "/") {
		return probe.Options{}, wrong("-o %s: want FILE.svg or a directory", f.dir)
	}
	return f.askFlags.options()
}

// measure asks hosts and calls each with every whole sample: with the best stamps that there are of its exchange.
func (f *delayFlags) measure(o synchroniser.Options, targets []synchroniser.Target, each func(s *synchroniser.Synchroniser, host int, x probe.Sample)) error {
	var of *synchroniser.Synchroniser
	o.Each = func(host int, x probe.Sample) {
		if x.Late == (x.T2.Kind > probe.User) {
			each(of, host, x)
		}
	}
	return f.ask(o, targets, "", func(s *synchroniser.Synchroniser) { of = s }, func(ctx context.Context, s *synchroniser.Synchroniser) error {
		bar := newProgress(f.cmd, f.quiet)
		defer bar.stop()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				bar.show("asking", int64(time.Since(began)), int64(f.timeFor))
			}
		}
	})
}

// print prints the delays, writes the picture and says of which hosts there are none.
func (f *delayFlags) print(r *show.DelayReport, none string) error {
	f.printWarnings(f.cmd, f.warnings.Lines())
	table := r.Table
	if f.json {
		table = r.Write
	}
	if err := table(f.cmd.OutOrStdout()); err != nil {
		return err
	}
	if f.picture != "" {
		if err := writePicture(f.picture, r.SVG); err != nil {
			return err
		}
		f.say(f.cmd, "wrote %s", f.picture)
	}
	var without []string
	for _, d := range r.Delays {
		if d.Count == 0 && (len(without) == 0 || without[len(without)-1] != d.Host) {
			without = append(without, d.Host)
		}
	}
	if len(without) > 0 {
		return &brokenPromise{none + " " + strings.Join(without, ", ")}
	}
	return nil
}

// writePicture writes a file that appears whole or not at all.
func writePicture(file string, write func(io.Writer) error) error {
	out, err := os.CreateTemp(filepath.Dir(file), ".meridian-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(out), out.Chmod(private.File()), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, errors.Join(err, os.Remove(out.Name())))
	}
	return nil
}

// trip is the round trip of a sample without the time that the other end took.
func trip(x probe.Sample) int64 {
	return int64(x.T4.Time-x.T1.Time) - int64(x.T3.Time-x.T2.Time)
}
