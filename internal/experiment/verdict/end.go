//go:build unix

package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/filter"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// End completes the report of a run that has ended: timeline, checks, verdict, files. What it cannot make is a problem of the
// report; the error says that the report itself could not be written.
func (r *Report) End(ctx context.Context, run *file.Run, result *schedule.Result, extra []string) error {
	r.Run = result
	if err := os.RemoveAll(filepath.Join(r.Directory, schedule.WorkDir)); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	r.Promises = append(r.Promises, result.Missing...)
	for _, call := range r.calls() {
		var said struct {
			Missing string `json:"missing"`
		}
		if json.Unmarshal(call.Result, &said) == nil && said.Missing != "" {
			r.Promises = append(r.Promises, fmt.Sprintf("host %s, daemon %s: %s", call.Host, call.Daemon, said.Missing))
		}
	}
	if err := r.align(ctx, run, extra); err != nil {
		r.Problems = append(r.Problems, "timeline: "+err.Error())
	}
	pairs := make(map[string]*filter.Result)
	if r.Timeline != nil {
		for i := range r.Timeline.Pairs {
			pairs[r.Timeline.Pairs[i].Name] = &r.Timeline.Pairs[i]
		}
	}
	for i := range run.Expect {
		r.Checks = append(r.Checks, r.check(&run.Expect[i], pairs))
	}
	r.judge()
	return errors.Join(r.writeJUnit(), r.write())
}

// traces returns the hosts that recorded, as the pipeline's arguments.
func (r *Report) traces() (hosts, args []string) {
	for _, h := range r.Run.Hosts {
		dir := filepath.Join(r.Directory, "hosts", h.Name, "trace")
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			hosts, args = append(hosts, h.Name), append(args, h.Name+"="+dir)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Problems = append(r.Problems, err.Error())
		}
	}
	return hosts, args
}

// align puts what hosts recorded on one timeline. Extra are endings of further outputs.
func (r *Report) align(ctx context.Context, run *file.Run, extra []string) error {
	hosts, args := r.traces()
	if len(hosts) == 0 {
		return nil
	}
	t := &Timeline{Hosts: hosts}
	r.Timeline = t
	if err := r.wrongClocks(run); err != nil {
		return err
	}
	traces, err := input.Parse(args)
	if err != nil {
		return err
	}
	o := pipeline.Options{}
	for i, c := range run.Expect {
		if first := run.Hosts[0].Name; c.Kind == "clock" && slices.Contains(hosts, first) {
			o.Align.Reference = first
		}
		if c.Kind == "pair" {
			pair := c.Pair
			pair.Name = pairName(i)
			o.Select.Pairs = append(o.Select.Pairs, pair)
		}
	}
	for _, name := range slices.Concat([]string{timelineName, alignmentName}, run.Outputs, extra) {
		o.Outputs = append(o.Outputs, filepath.Join(r.Directory, name))
	}
	out, err := pipeline.Run(ctx, traces, o)
	if err != nil {
		return err
	}
	for _, w := range out.Written {
		t.Files = append(t.Files, filepath.Base(w.Path))
	}
	t.Warnings = out.Warnings
	r.lose(run, out.Lost)
	if out.Report != nil {
		r.aligned = out.Report.Hosts
		t.Reference, t.Assumption, t.Quality = out.Report.Reference, out.Report.Assumption, &out.Report.Quality
	}
	if out.Played != nil {
		t.Pairs = out.Played.Pairs
	}
	for _, p := range out.Broken {
		// A pair without events is answered by its check.
		if !slices.Contains(r.Promises, p) && !strings.HasPrefix(p, "the traces have nothing that fits") {
			r.Promises = append(r.Promises, p)
		}
	}
	return nil
}

// pairName is the name under which the pair of a check is measured: names in files need not be unique.
func pairName(check int) string { return fmt.Sprintf("check %d", check+1) }
