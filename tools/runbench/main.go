// Command runbench measures how near to each other the phases of a block of an experiment (meridian run) start, and what a phase costs.
//
//	runbench -meridian PATH [-hosts 8] [-daemons 4] [-blocks 100] [-load 0] [-on namespaces]
//
// Each of hosts times daemons reads the system's clock, which all hosts of this machine share, as the first thing that a phase does. The
// spread of a block is the last of these readings minus the first. The cost of a phase that does nothing is from the controller's
// start of the block until it knows that all have ended. With -load, so many busy loops run beside. The result is one line of JSON
// with the median, the 90th percentile and the greatest of both, in microseconds.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type options struct {
	meridian, on                 string
	hosts, daemons, blocks, load int
}

func main() {
	var o options
	flag.StringVar(&o.meridian, "meridian", "meridian", "the program `PATH`")
	flag.StringVar(&o.on, "on", "namespaces", "place of the hosts")
	flag.IntVar(&o.hosts, "hosts", 8, "number of hosts")
	flag.IntVar(&o.daemons, "daemons", 4, "daemons of each host")
	flag.IntVar(&o.blocks, "blocks", 100, "number of blocks")
	flag.IntVar(&o.load, "load", 0, "number of busy loops")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "runbench:", err)
		os.Exit(1)
	}
}

// text is the experiment.
func (o *options) text() string {
	var out strings.Builder
	out.WriteString("name: bench\nhosts: [")
	for i := range o.hosts {
		fmt.Fprintf(&out, "h%d, ", i)
	}
	out.WriteString("]\ndaemons:\n")
	var phases []string
	for i := range o.daemons {
		fmt.Fprintf(&out, "  d%d: {hosts: all, use: pause, with: {for: 0s}}\n", i)
		phases = append(phases, fmt.Sprintf("d%d.wait", i))
	}
	out.WriteString("schedule:\n")
	for range o.blocks {
		fmt.Fprintf(&out, "  - [%s]\n", strings.Join(phases, ", "))
	}
	return out.String()
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "runbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(o.text()), 0o666); err != nil {
		return err
	}
	for range o.load {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return err
		}
		defer func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
	}
	out := filepath.Join(dir, "out")
	c := exec.Command(o.meridian, "run", file, "--on", o.on, "-o", out, "-q")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return o.measure(filepath.Join(out, "report.json"))
}

func (o *options) measure(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var report struct {
		Run struct {
			Blocks []struct {
				Began  int64 `json:"began_ns"`
				Ended  int64 `json:"ended_ns"`
				Phases []struct {
					Began  int64 `json:"began_ns"`
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
	var spread, told, cost []int64
	for _, b := range report.Run.Blocks {
		var daemons, hosts []int64
		for _, p := range b.Phases {
			daemons, hosts = append(daemons, p.Result.Began), append(hosts, p.Began)
		}
		if len(daemons) != o.hosts*o.daemons {
			return fmt.Errorf("%d phases, want %d", len(daemons), o.hosts*o.daemons)
		}
		spread = append(spread, slices.Max(daemons)-slices.Min(daemons))
		told = append(told, slices.Max(hosts)-slices.Min(hosts))
		cost = append(cost, b.Ended-b.Began)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"hosts": o.hosts, "daemons": o.hosts * o.daemons, "blocks": len(cost), "load": o.load, "on": o.on,
		"spread_us": quantiles(spread), "spread_of_hosts_us": quantiles(told), "cost_us": quantiles(cost),
	})
}

func quantiles(ns []int64) map[string]float64 {
	slices.Sort(ns)
	at := func(part float64) float64 { return float64(ns[int(part*float64(len(ns)-1))]) / 1e3 }
	return map[string]float64{"median": at(0.5), "p90": at(0.9), "max": at(1)}
}
