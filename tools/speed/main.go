//go:build unix

// Command speed compares the speed of meridian align with that of mergecap, which only merges, on the same two captures
// and the same machine.
//
//	speed -packets 5000000       two captures of that many packets each, made by tools/capgen
//
// Both programs run in turn, several times; the medians of the wall time are compared. It exits with 1 if align takes
// longer than mergecap or more than 1 GiB of memory. It needs mergecap, and bin/meridian from make build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const memoryBar = 1 << 30

func main() {
	packets := flag.Int("packets", 5_000_000, "packets in each capture")
	runs := flag.Int("runs", 5, "runs of each program")
	meridian := flag.String("meridian", "bin/meridian", "the command to measure")
	flag.Parse()
	if err := compare(*meridian, *packets, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func compare(meridian string, packets, runs int) error {
	dir, err := os.MkdirTemp("", "meridian-speed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, _, err := run("go", "run", "./tools/capgen", "-packets", strconv.Itoa(packets), "-o", dir); err != nil {
		return err
	}
	a, b := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "b.pcap")
	programs := [2]struct {
		name    string
		command []string
		times   []time.Duration
		memory  int64
	}{
		{name: "mergecap", command: []string{"mergecap", "-w", filepath.Join(dir, "m"), a, b}},
		{name: "meridian align", command: []string{meridian, "align", a, b, "--quiet",
			"-o", filepath.Join(dir, "merged.pcapng"), "-o", filepath.Join(dir, "report.json")}},
	}
	for range runs {
		for i := range programs {
			p := &programs[i]
			// Each writes new files: what freeing an old one costs, or saves, is not what is measured.
			for _, name := range []string{"m", "merged.pcapng", "report.json"} {
				if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			took, memory, err := run(p.command...)
			if err != nil {
				return err
			}
			p.times = append(p.times, took)
			p.memory = max(p.memory, memory)
		}
	}
	var medians [2]time.Duration
	for i, p := range programs {
		slices.Sort(p.times)
		medians[i] = p.times[len(p.times)/2]
		fmt.Printf("%-15s median %6.2f s of %d runs (%.2f to %.2f), peak memory %d MiB\n", p.name,
			medians[i].Seconds(), runs, p.times[0].Seconds(), p.times[len(p.times)-1].Seconds(), p.memory>>20)
	}
	ratio := medians[1].Seconds() / medians[0].Seconds()
	fmt.Printf("%d packets: meridian align takes %.2fx the time of mergecap\n", 2*packets, ratio)
	if ratio > 1 {
		return errors.New("slower than mergecap")
	}
	if programs[1].memory > memoryBar {
		return fmt.Errorf("%d MiB of memory", programs[1].memory>>20)
	}
	return nil
}

// run runs a command to its end and returns the wall time that it took and the most memory that it held, in bytes.
func run(command ...string) (time.Duration, int64, error) {
	c := exec.Command(command[0], command[1:]...)
	start := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return took, 0, nil
	}
	return took, int64(usage.Maxrss) << 10, nil // Linux counts in KiB
}
