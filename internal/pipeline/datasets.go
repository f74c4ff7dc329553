package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"meridian/internal/filter"
	"meridian/internal/pipeline/usage"
	"meridian/internal/yamltext"
)

// Dataset is a conversion that has a name, for repeated use. A file of them reads
//
//	datasets:
//	  checkout:
//	    inputs: [web=web.ctf, db=db.pcap]     # paths from the directory of this file
//	    outputs: [checkout.pftrace]
//	    method: envelope
//	    reference: db
//	    from: +10s
//	    to: +20s
//	    from-event: request_start
//	    to-event: request_end
//	    hosts: [web]
//	    streams: ["nginx *"]
//	    events: ["!sched_*"]
//	    where: ["pid = 1234"]
//	    fields: [pid, comm]
//	    pairs:
//	      - {name: handling, begin: request_start, end: request_end, key: [id], max: 5ms}
//
// of which each entry is the flag of the same name.
type Dataset struct {
	Inputs    []string      `yaml:"inputs"`
	Outputs   []string      `yaml:"outputs"`
	Method    string        `yaml:"method"`
	Reference string        `yaml:"reference"`
	From      string        `yaml:"from"`
	To        string        `yaml:"to"`
	FromEvent string        `yaml:"from-event"`
	ToEvent   string        `yaml:"to-event"`
	Hosts     []string      `yaml:"hosts"`
	Streams   []string      `yaml:"streams"`
	Events    []string      `yaml:"events"`
	Where     []string      `yaml:"where"`
	Fields    []string      `yaml:"fields"`
	Pairs     []datasetPair `yaml:"pairs"`
}

type datasetPair struct {
	Name  string        `yaml:"name"`
	Begin string        `yaml:"begin"`
	End   string        `yaml:"end"`
	Key   []string      `yaml:"key"`
	Min   time.Duration `yaml:"min"`
	Max   time.Duration `yaml:"max"`
}

// ReadDataset reads one data set, given as FILE:NAME, or as FILE if it has only one. Paths in it become relative to
// where the file's are.
func ReadDataset(reference string) (*Dataset, error) {
	path, name := reference, ""
	if _, err := os.Stat(path); err != nil {
		if i := strings.LastIndexByte(reference, ':'); i > 0 {
			path, name = reference[:i], reference[i+1:]
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w; want FILE:NAME", reference, err)
	}
	var file struct {
		Datasets map[string]*Dataset `yaml:"datasets"`
	}
	if err := decodeDatasets(text, &file); err != nil {
		return nil, usage.Errorf("%s: %s", path, yaml.FormatError(err, false, true))
	}
	var names []string
	for n, d := range file.Datasets {
		if d == nil {
			return nil, usage.Errorf("%s: data set %s is empty", path, n)
		}
		names = append(names, n)
	}
	slices.Sort(names)
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	d := file.Datasets[name]
	switch {
	case len(names) == 0:
		return nil, usage.Errorf("%s: no data sets; the file must begin with datasets:", path)
	case name == "":
		return nil, usage.Errorf("%s has several data sets, say which: %s:%s", path, path, strings.Join(names, ", "))
	case d == nil:
		return nil, usage.Errorf("%s: unknown data set %q (%s)", path, name, strings.Join(names, ", "))
	}
	d.from(filepath.Dir(path))
	return d, nil
}

// decodeDatasets decodes YAML, if it is not more than memory holds.
func decodeDatasets(text []byte, into any) error {
	if len(text) > yamltext.MaxBytes {
		return fmt.Errorf("%d bytes, at most %d", len(text), yamltext.MaxBytes)
	}
	text, problem := yamltext.Readable(text)
	if problem != nil {
		return problem
	}
	return yamltext.Guard(func() error {
		tree, err := parser.ParseBytes(text, 0)
		if err != nil {
			return err
		}
		if problem := yamltext.Expand(tree); problem != nil {
			return problem
		}
		return yaml.UnmarshalWithOptions(text, into, yaml.Strict())
	})
}

// from makes the paths relative to a directory.
func (d *Dataset) from(dir string) {
	for i, in := range d.Inputs {
		host, path, named := strings.Cut(in, "=")
		if !named {
			host, path = "", in
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if named {
			path = host + "=" + path
		}
		d.Inputs[i] = path
	}
	for i, out := range d.Outputs {
		if !filepath.IsAbs(out) {
			d.Outputs[i] = filepath.Join(dir, out)
		}
	}
}

// Selection returns which events the data set chooses.
func (d *Dataset) Selection() (Selection, error) {
	w := Selection{FromTime: d.From, ToTime: d.To}
	w.From.Event, w.To.Event = d.FromEvent, d.ToEvent
	w.Hosts, w.Streams, w.Events, w.Fields = d.Hosts, d.Streams, d.Events, d.Fields
	for _, s := range d.Where {
		c, err := filter.ParseCondition(s)
		if err != nil {
			return w, &usage.Error{Reason: err.Error()}
		}
		w.Where = append(w.Where, c)
	}
	for i, p := range d.Pairs {
		if p.Name == "" {
			p.Name = fmt.Sprintf("%d", i+1)
		}
		w.Pairs = append(w.Pairs, filter.Pair{Name: p.Name, Begin: p.Begin, End: p.End, Key: p.Key, Min: p.Min, Max: p.Max})
	}
	return w, nil
}
