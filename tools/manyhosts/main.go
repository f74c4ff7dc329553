//go:build unix

// Command manyhosts measures the time and the memory that meridian align takes for networks of many hosts.
//
//	manyhosts                    the networks of the table
//	manyhosts -only chain        those whose name has the word
//	manyhosts -scale             random networks of degree 8 with 64 to 1,000 hosts, and how cost and error grow
//
// The networks are made by meridian simulate, each with about 477,000 messages. It exits with 1 if a network takes more than 60 s
// of all cores together, which other work on the machine changes little, or more than 1 GiB of memory. It needs bin/meridian from
// make build.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	memoryBar = 1 << 30
	timeBar   = time.Minute
)

// network is a row of the table: what meridian simulate is told.
type network struct{ name, flags string }

var networks = []network{
	{"chain of 200, 1 min", "--hosts 200 --topology chain"},
	{"chain of 200, 10 min", "--hosts 200 --topology chain --duration 10m --rate 2"},
	{"chain of 200, 1 h", "--hosts 200 --topology chain --duration 1h --rate 0.33333"},
	{"star of 200, 10 min", "--hosts 200 --topology star --duration 10m --rate 2"},
	{"ring of 200, 10 min", "--hosts 200 --topology ring --duration 10m --rate 1.99"},
	{"random of 50, 10 min", "--hosts 50 --topology random --degree 4 --duration 10m --rate 3.98"},
	{"full of 50, 10 min", "--hosts 50 --topology full --duration 10m --rate 0.325"},
}

// report is what is read of report.json.
type report struct {
	Quality struct {
		Messages int64            `json:"messages"`
		Bound    map[string]int64 `json:"bound_ns"`
	} `json:"quality"`
}

func main() {
	meridian := flag.String("meridian", "bin/meridian", "the command to measure")
	only := flag.String("only", "", "measure the networks whose names contain this")
	scale := flag.Bool("scale", false, "measure random networks of growing size, and the error of their clocks")
	flag.Parse()
	run := func() error { return measure(*meridian, *only) }
	if *scale {
		run = func() error { return measureScale(*meridian) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "manyhosts:", err)
		os.Exit(1)
	}
}

// measure measures all networks, and prints a line for each.
func measure(meridian, only string) error {
	dir, err := os.MkdirTemp("", "meridian-manyhosts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%-22s %9s %8s %8s %8s %14s\n", "network", "messages", "s", "core s", "MiB", "mean bound µs")
	var missed error
	for _, n := range networks {
		if !strings.Contains(n.name, only) {
			continue
		}
		traces, out := filepath.Join(dir, "traces"), filepath.Join(dir, "report.json")
		simulate := append([]string{"simulate", "--quiet", "-o", traces}, strings.Fields(n.flags)...)
		if _, err := run(meridian, simulate...); err != nil {
			return err
		}
		u, err := run(meridian, "align", "--quiet", filepath.Join(traces, "messages.txt"), "-o", out)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("%s: %w", out, err)
		}
		fmt.Printf("%-22s %9d %8.1f %8.1f %8d %14.1f\n", n.name, r.Quality.Messages, u.wall.Seconds(), u.core.Seconds(),
			u.memory>>20, float64(r.Quality.Bound["mean"])/1e3)
		if u.core > timeBar || u.memory > memoryBar {
			missed = errors.Join(missed, fmt.Errorf("%s: %.1f core s and %d MiB, more than 60 s or 1024 MiB", n.name, u.core.Seconds(), u.memory>>20))
		}
	}
	return missed
}

// used is what a run of a command took.
type used struct {
	wall, core time.Duration
	memory     int64 // bytes at most
}

// run runs a command to its end.
func run(program string, arguments ...string) (used, error) {
	c := exec.Command(program, arguments...)
	start := time.Now()
	out, err := c.CombinedOutput()
	u := used{wall: time.Since(start)}
	if err != nil {
		return u, fmt.Errorf("%s %s: %w: %s", program, strings.Join(arguments, " "), err, out)
	}
	u.core = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if r, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = int64(r.Maxrss) << 10 // Linux counts in KiB
	}
	return u, nil
}
