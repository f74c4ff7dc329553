// Package file reads the files of experiments.
//
//	text --parse--> nodes with positions --${name}, matrix--> nodes of each run --decode, check--> []Run
//
// A file is YAML without a language of its own: values that begin as ${name} come from vars, matrix and repeat, and what is
// more than that writes a generator, whose output 'meridian run -' reads. Reading is strict. All mistakes of a file are told at
// once, each with line, column, what was expected and the nearest right key. The tables of keys (keys.go) make the decoder, the
// messages and the JSON schema for editors.
//
// Nothing here does anything: what a file names on hosts is not looked at.
package file

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/internal/filter"
	"meridian/internal/yamltext"
)

// Limits of a file.
const (
	maxHosts   = 250
	maxDaemons = 2000
	maxRuns    = 10_000
)

// Position is a place in a file; lines and columns count from 1.
type Position struct{ Line, Column int }

// Experiment is a file that was read.
type Experiment struct {
	Name string // of the file, or as it says
	Axes []Axis // of the matrix
	Runs []Run  // one or more, in the order in which they run
}

// Axis is a variable of the matrix and its values.
type Axis struct {
	Name   string
	Values []string
}

// Run is one experiment with all variables resolved but those that only the place knows (see [Places]).
type Run struct {
	Values   []Value // of the matrix's variables, in its order
	Repeat   int     // 1 and up
	Place    string  // "" for any
	Timeout  time.Duration
	Hosts    []Host
	Links    []Link
	Daemons  []Daemon
	Schedule []Block
	Expect   []Check
	Outputs  []string // names of files for the timeline, beside the page
	Files    []string // to copy to each host, relative to the file
	Tree     any      // what the file says, resolved, as JSON has it
}

// Value is a variable of the matrix in a run.
type Value struct {
	Name string `json:"name"`
	Text string `json:"value"`
}

// Host is a machine, a namespace or a directory, by what the run is on.
type Host struct {
	Name    string
	SSH     string // destination for ssh; "" for its name
	Agent   string // name of the host at a server; "" for its name
	Address string // under which others reach it; "" for that of its place
	Clock   Clock
	At      Position
}

// Clock is how a clock stands to another one: ahead by Ahead at the start of the run, and faster by Fast.
type Clock struct {
	Ahead time.Duration
	Fast  float64 // ppm
}

// Link is what connects two hosts in namespaces.
type Link struct {
	Between [2]string
	Rate    int64         // bits a second; 0 for no limit
	Buffer  int64         // bytes before packets are dropped, with Rate; 0 for 100 ms of Rate
	Delay   time.Duration // one way
	Loss    float64       // part of packets, 0 to 1
	At      Position
}

// Daemon waits on one or several hosts.
type Daemon struct {
	Name   string
	Hosts  []string
	Use    string   // a standard daemon, or
	Run    []string // a program and its arguments, or
	Shell  string   // text for sh -c
	Speaks bool     // the program speaks the protocol
	Ready  string   // text of the line by which a command says that its phase is done while it goes on
	Phases []string // it has, nil if only the daemon knows
	With   map[string]any
	Env    map[string]string
	Gather []string // patterns of files, relative to its directory
	At     Position
}

// Block is phases that start together and must all end before the next block.
type Block struct {
	Name    string
	Timeout time.Duration
	Phases  []Phase
}

// Phase is a phase of a daemon on its hosts.
type Phase struct {
	Daemon, Phase string
	Hosts         []string
	With          map[string]any // of the daemon and the phase
	Timeout       time.Duration
	At            Position
}

// Check is what is expected of a run.
type Check struct {
	Name     string
	Kind     string // one of the keys: pair, inversions, lost, exit, equal, result, clock
	Pair     filter.Pair
	Unpaired int64 // of Pair: ends without a partner that are permitted
	Count    int64 // of inversions and lost: how many are permitted
	Daemon   string
	Host     string // of exit and result, "" for all; of clock
	Clock    Clock
	Within   time.Duration // of clock
	Code     int           // of exit
	Equal    []Gathered
	Phase    string // of result
	Field    string // of result
	Min, Max *float64
	At       Position
}

// Gathered is a file that a daemon left, HOST:DAEMON/PATH.
type Gathered struct{ Host, Daemon, Path string }

func (g Gathered) String() string { return g.Host + ":" + g.Daemon + "/" + g.Path }

// Problem is a mistake in a file.
type Problem struct {
	File string
	Position
	What string
}

func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.What)
}

// Problems are all mistakes of a file in the order of lines.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// Options says how a file is read.
type Options struct {
	Name     string                  // of the file, for messages
	Base     string                  // name of the experiment, unless it says one
	Standard []*protocol.Spec        // what "use" may name
	Output   func(name string) error // says why the pipeline has no format of this name; nil: any name will do
}

// Read reads an experiment. The error is Problems, but for a text that is too long.
func Read(text []byte, o Options) (*Experiment, error) {
	if len(text) > yamltext.MaxBytes {
		return nil, fmt.Errorf("%s: %d bytes, at most %d", o.Name, len(text), yamltext.MaxBytes)
	}
	r := &reader{o: o, seen: make(map[Problem]bool)}
	root := r.parse(text)
	if root == nil {
		return nil, r.failed()
	}
	e := &Experiment{Name: o.Base}
	vars := r.grid(root, e)
	for i := range vars {
		if len(r.problems) > 20 {
			break
		}
		run := r.run(root, &vars[i])
		if run != nil {
			e.Runs = append(e.Runs, *run)
		}
	}
	if name := root.get("name"); name != nil && r.text(name, "a name") {
		e.Name = name.text
		r.name(name, "name")
	}
	if len(r.problems) > 0 {
		return nil, r.failed()
	}
	return e, nil
}

// reader collects the problems of a file.
type reader struct {
	o        Options
	problems Problems
	seen     map[Problem]bool
}

func (r *reader) problem(at Position, format string, args ...any) {
	p := Problem{r.o.Name, at, fmt.Sprintf(format, args...)}
	if !r.seen[p] { // runs of a matrix have the same problems
		r.seen[p] = true
		r.problems = append(r.problems, p)
	}
}

func (r *reader) failed() error {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return r.problems
}
