// Command runbench measures how near to each other the phases of a block of an experiment (meridian run) start, and what a block costs.
//
//	runbench -meridian PATH [-hosts 8] [-daemons 4] [-blocks 100] [-rounds 3] [-load 4] [-on namespaces]
//
// Each of hosts times daemons does a phase that does nothing, block after block, while recorders record the hosts and exchange clock
// probes. Of each block it takes:
//
//	timeline  last minus first experiment:phase_begin on the timeline, and by how much the clocks' bounds may change that
//	daemons   last minus first reading of the clock that all hosts of this machine share, which each daemon makes at the phase's begin
//	cost      from the end of the block before to that of this one, by the controller
//
// Rounds without and with -load busy loops alternate. It prints a line of JSON for each, all times in microseconds, and fails where
// a bar is missed.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type options struct {
	meridian, on                         string
	hosts, daemons, blocks, rounds, load int
}

// bars are the greatest values in microseconds, of a machine of 4 cores.
var bars = map[bool]struct{ median, p90 float64 }{false: {1000, 8000}, true: {3000, 8000}} // loaded or not

const costBar = 20_000 // of the 90th percentile, in microseconds

func main() {
	var o options
	flag.StringVar(&o.meridian, "meridian", "meridian", "the program `PATH`")
	flag.StringVar(&o.on, "on", "namespaces", "place of the hosts")
	flag.IntVar(&o.hosts, "hosts", 8, "number of hosts")
	flag.IntVar(&o.daemons, "daemons", 4, "daemons of each host")
	flag.IntVar(&o.blocks, "blocks", 100, "number of blocks")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds without and with load")
	flag.IntVar(&o.load, "load", 4, "number of busy loops in rounds with load")
	flag.Parse()
	if err := o.all(); err != nil {
		fmt.Fprintln(os.Stderr, "runbench:", err)
		os.Exit(1)
	}
}

func (o *options) all() error {
	var missed []error
	for i := range o.rounds {
		for _, load := range []int{0, o.load} {
			m, err := o.run(load)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
				return err
			}
			if err := m.check(); err != nil {
				missed = append(missed, fmt.Errorf("round %d, %d busy loops: %w", i+1, load, err))
			}
		}
	}
	return errors.Join(missed...)
}

// text is the experiment.
func (o *options) text() string {
	var out strings.Builder
	out.WriteString("name: bench\nhosts: [")
	for i := range o.hosts {
		fmt.Fprintf(&out, "h%d, ", i)
	}
	out.WriteString("]\ndaemons:\n  record: {hosts: all, use: record, with: {probes: true}}\n  probe: {hosts: all, use: probe}\n")
	var phases []string
	for i := range o.daemons {
		fmt.Fprintf(&out, "  d%d: {hosts: all, use: pause, with: {for: 0s}}\n", i)
		phases = append(phases, fmt.Sprintf("d%d.wait", i))
	}
	out.WriteString("schedule:\n  - record.start\n  - probe.start\n")
	for range o.blocks {
		fmt.Fprintf(&out, "  - [%s]\n", strings.Join(phases, ", "))
	}
	out.WriteString("  - probe.stop\n  - record.stop\n")
	return out.String()
}

// measured is what came of a run.
type measured struct {
	Hosts    int       `json:"hosts"`
	Daemons  int       `json:"daemons"`
	Blocks   int       `json:"blocks"`
	Load     int       `json:"load"`
	On       string    `json:"on"`
	Timeline quantiles `json:"timeline_us"`
	Bound    quantiles `json:"timeline_bound_us"`
	Read     quantiles `json:"daemons_us"`
	Cost     quantiles `json:"cost_us"`
}

// check compares with the bars.
func (m *measured) check() error {
	bar := bars[m.Load > 0]
	for name, q := range map[string]quantiles{"on the timeline": m.Timeline, "as daemons read it": m.Read} {
		if q.Median > bar.median || q.P90 > bar.p90 {
			return fmt.Errorf("the spread %s is more than %.0f (median) or %.0f (90th percentile)", name, bar.median, bar.p90)
		}
	}
	if m.Cost.P90 > costBar {
		return fmt.Errorf("a block costs more than %d", costBar)
	}
	return nil
}

// run is one experiment.
func (o *options) run(load int) (*measured, error) {
	dir, err := os.MkdirTemp("", "runbench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(o.text()), 0o666); err != nil {
		return nil, err
	}
	for range load {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return nil, err
		}
		defer func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
	}
	out := filepath.Join(dir, "out")
	c := exec.Command(o.meridian, "run", file, "--on", o.on, "-o", out, "-q", "--also", "events.jsonl")
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	m := &measured{Hosts: o.hosts, Daemons: o.hosts * o.daemons, Load: load, On: o.on}
	if err := m.report(filepath.Join(out, "report.json")); err != nil {
		return nil, err
	}
	return m, m.timeline(filepath.Join(out, "events.jsonl"))
}

// report takes the costs of blocks and the readings of daemons.
func (m *measured) report(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var report struct {
		Run struct {
			Blocks []struct {
				Ended  int64 `json:"ended_ns"`
				Phases []struct {
					Phase  string
					Result struct {
						Began int64 `json:"began_ns"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return err
	}
	var spread, cost []int64
	before := int64(0)
	for _, b := range report.Run.Blocks {
		if len(b.Phases) == 0 || b.Phases[0].Phase != "wait" {
			before = b.Ended
			continue
		}
		var began []int64
		for _, p := range b.Phases {
			began = append(began, p.Result.Began)
		}
		if len(began) != m.Daemons {
			return fmt.Errorf("%d phases, want %d", len(began), m.Daemons)
		}
		spread, cost = append(spread, slices.Max(began)-slices.Min(began)), append(cost, b.Ended-before)
		before = b.Ended
	}
	m.Blocks, m.Read, m.Cost = len(cost), quantilesOf(spread), quantilesOf(cost)
	return nil
}

// timeline takes the begins of phases on the timeline.
func (m *measured) timeline(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	type begin struct {
		Event  string
		Time   int64  `json:"time_ns"`
		Low    *int64 `json:"low_ns"`
		High   *int64 `json:"high_ns"`
		Fields struct {
			Phase string
			Block int64
		}
	}
	blocks := make(map[int64][]begin)
	for lines := json.NewDecoder(f); lines.More(); {
		var e begin
		if err := lines.Decode(&e); err != nil {
			return err
		}
		if e.Event != "experiment:phase_begin" || e.Fields.Phase != "wait" {
			continue
		}
		if e.Low == nil || e.High == nil {
			return errors.New("the timeline has no bounds")
		}
		blocks[e.Fields.Block] = append(blocks[e.Fields.Block], e)
	}
	if len(blocks) != m.Blocks {
		return fmt.Errorf("%d blocks on the timeline, want %d", len(blocks), m.Blocks)
	}
	var spread, bound []int64
	for _, b := range blocks {
		if len(b) != m.Daemons {
			return fmt.Errorf("%d begins on the timeline, want %d", len(b), m.Daemons)
		}
		first, last := b[0], b[0]
		lowest, highest := *b[0].Low, *b[0].High // of what the clocks may have been
		for _, e := range b {
			if e.Time < first.Time {
				first = e
			}
			if e.Time > last.Time {
				last = e
			}
			lowest, highest = min(lowest, *e.Low), max(highest, *e.High)
		}
		spread, bound = append(spread, last.Time-first.Time), append(bound, highest-lowest-(last.Time-first.Time))
	}
	m.Timeline, m.Bound = quantilesOf(spread), quantilesOf(bound)
	return nil
}

type quantiles struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Max    float64 `json:"max"`
}

func quantilesOf(ns []int64) quantiles {
	slices.Sort(ns)
	at := func(part float64) float64 { return float64(ns[int(part*float64(len(ns)-1))]) / 1e3 }
	return quantiles{at(0.5), at(0.9), at(1)}
}
