// Package simulate writes traces of simulated hosts, with the truth beside them.
//
//	sim.Scenario --> messages.txt, or host0.pcapng, host1.pcapng, ...
//	             \-> truth.json
//
// All files appear when all are whole, and the files of a simulation before go then.
package simulate

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/format/messages"
	"meridian/internal/pipeline/output"
	"meridian/internal/pipeline/usage"
	"meridian/internal/sim"
	"meridian/trace"
)

// Options says what traces to make, and where.
type Options struct {
	Scenario sim.Scenario
	Dir      string // made if missing; it may hold what another simulation wrote, and nothing else
	Captures bool   // a capture for each host (host0.pcapng, ...) instead of one list (messages.txt)
	// Progress is told how far a stage is, in units of its own. It may be nil.
	Progress func(stage string, done, total int64)
}

// Result is what a simulation wrote.
type Result struct {
	Truth     *sim.Truth
	Messages  int64
	Traces    []string // the files that an alignment would be given
	TruthFile string
}

// ownFiles are the names of files that a simulation writes, and may therefore replace.
var ownFiles = regexp.MustCompile(`^(messages\.txt|truth\.json|host\d+\.pcapng)$`)

const (
	listFile  = "messages.txt"
	truthFile = "truth.json"
)

// Run makes traces of simulated hosts. It returns a [usage.Error] for a scenario that cannot be and for a directory that
// holds something else.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	expected, err := o.Scenario.Expected()
	if err != nil {
		return nil, scenarioError(err)
	}
	old, err := filesIn(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &recorder{ctx: ctx, captures: o.Captures, progress: o.Progress, expected: int64(expected)}
	truth, err := o.Scenario.Play(r.record)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, scenarioError(err)
	}
	traces := []traceFile{r.list(truth)}
	if o.Captures {
		traces = r.captureFiles(truth)
	}
	names, err := publish(ctx, &o, traces, truth)
	if err != nil {
		return nil, err
	}
	out := &Result{Truth: truth, Messages: r.count, TruthFile: filepath.Join(o.Dir, truthFile)}
	for _, t := range traces {
		out.Traces = append(out.Traces, filepath.Join(o.Dir, t.name))
	}
	for _, name := range old {
		if !slices.Contains(names, name) {
			if err := os.Remove(filepath.Join(o.Dir, name)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func scenarioError(err error) error {
	return &usage.Error{Reason: strings.TrimPrefix(err.Error(), "sim: ")}
}

// filesIn returns the files of a simulation before that lie in a directory. It refuses any other content.
func filesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !ownFiles.MatchString(e.Name()) || !e.Type().IsRegular() {
			return nil, usage.Errorf("%s holds %s, which is not of a simulation; give an empty directory, or one to be made", dir, e.Name())
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// traceFile is one trace to be written.
type traceFile struct {
	name    string
	content func(io.Writer) error
}

// publish writes the files and returns their names.
func publish(ctx context.Context, o *Options, traces []traceFile, truth *sim.Truth) (names []string, err error) {
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, err
	}
	var set output.Set
	defer set.Remove()
	files := append(slices.Clone(traces), traceFile{truthFile, truth.Write})
	for i, f := range files {
		if o.Captures {
			o.Progress("writing", int64(i), int64(len(traces)))
		}
		if err := set.Write(ctx, filepath.Join(o.Dir, f.name), f.content); err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, set.Publish()
}

// recorder records the messages of a simulation as they are sent.
type recorder struct {
	ctx             context.Context
	captures        bool
	progress        func(stage string, done, total int64)
	count, expected int64
	channels        []trace.Channel // by link, for a list
	groups          groups
	endpoints       [][]endpoint // by host, for captures
}

// endpoint is one end of a message: a packet in the capture of the host where it was seen.
type endpoint struct {
	at       clock.TimelineTime
	stamp    clock.HostTime // true time, and the host's
	message  uint32
	link     int32 // by number in the truth
	received bool
}

// record records a message.
func (r *recorder) record(f *sim.Flight) error {
	if r.count&0xffff == 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.progress("simulating", r.count, r.expected)
	}
	number := uint32(r.count)
	r.count++
	if r.captures {
		for len(r.endpoints) <= max(f.From, f.To) {
			r.endpoints = append(r.endpoints, nil)
		}
		link := int32(f.Link)
		r.endpoints[f.From] = append(r.endpoints[f.From], endpoint{f.Left, f.Sent, number, link, false})
		r.endpoints[f.To] = append(r.endpoints[f.To], endpoint{f.Arrived, f.Received, number, link, true})
		return nil
	}
	r.addToList(f)
	return nil
}

// list is the messages as a list.
func (r *recorder) list(truth *sim.Truth) traceFile {
	r.endOperation()
	list := trace.List{Channels: r.channels, Collectives: r.groups.collectives, Broadcasts: r.groups.heardByMany()}
	for _, h := range truth.Hosts {
		list.Hosts = append(list.Hosts, h.Name)
	}
	return traceFile{listFile, func(w io.Writer) error { return messages.Write(w, &list) }}
}

// captureFiles is the endpoints of each host as a capture.
func (r *recorder) captureFiles(truth *sim.Truth) (files []traceFile) {
	hosts := make(map[string]int)
	for i, h := range truth.Hosts {
		hosts[h.Name] = i
	}
	for i, h := range truth.Hosts {
		var endpoints []endpoint
		if i < len(r.endpoints) {
			endpoints = r.endpoints[i]
		}
		files = append(files, traceFile{h.Name + ".pcapng", func(w io.Writer) error {
			return writeCapture(w, truth, hosts, h.Name, endpoints)
		}})
	}
	return files
}
