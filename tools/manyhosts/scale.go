//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Bars of the largest network: wall time, memory in bytes, and its error as a share of that of the network of [comparedHosts].
const (
	scaleTimeBar   = 10 * time.Minute
	scaleMemoryBar = 4 << 30
	scaleErrorBar  = 1.1
	comparedHosts  = 256
)

// scaleHosts are the numbers of hosts. Each host has 8 links, and sends and receives 10,000 messages each way in a minute, so messages grow with hosts alone.
var scaleHosts = []int{64, 128, 256, 512, 1000}

// sized is what a network of some number of hosts took.
type sized struct {
	used
	hosts    int
	messages int64
	bound    float64 // mean, ns
	median   float64 // of the hosts' errors, root mean squares over their events, ns
	worst    float64 // of them
}

// measureScale measures networks of growing size, prints a line for each, and the exponents with which cost and error grow.
func measureScale(meridian string) error {
	dir, err := os.MkdirTemp("", "meridian-manyhosts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%6s %9s %8s %8s %8s %14s %16s %15s\n", "hosts", "messages", "s", "core s", "MiB", "mean bound µs", "median error ns", "worst error ns")
	var all []sized
	for _, n := range scaleHosts {
		z, err := measureHosts(meridian, dir, n)
		if err != nil {
			return err
		}
		fmt.Printf("%6d %9d %8.1f %8.1f %8d %14.1f %16.1f %15.1f\n", n, z.messages, z.wall.Seconds(), z.core.Seconds(), z.memory>>20, z.bound/1e3, z.median, z.worst)
		all = append(all, z)
	}
	fmt.Printf("grows as hosts to the power: %.2f wall, %.2f core, %.2f memory, %.2f mean bound, %.2f median error\n",
		exponent(all, func(z *sized) float64 { return z.wall.Seconds() }), exponent(all, func(z *sized) float64 { return z.core.Seconds() }),
		exponent(all, func(z *sized) float64 { return float64(z.memory) }), exponent(all, func(z *sized) float64 { return z.bound }),
		exponent(all, func(z *sized) float64 { return z.median }))
	return checkScale(all)
}

// checkScale compares the largest network with the bars.
func checkScale(all []sized) error {
	largest := &all[len(all)-1]
	compared := &all[slices.IndexFunc(all, func(z sized) bool { return z.hosts == comparedHosts })]
	var missed error
	if largest.wall > scaleTimeBar || largest.memory > scaleMemoryBar {
		missed = fmt.Errorf("%d hosts: %v and %d MiB, more than %v or %d MiB", largest.hosts, largest.wall, largest.memory>>20, scaleTimeBar, scaleMemoryBar>>20)
	}
	if largest.median > scaleErrorBar*compared.median {
		missed = errors.Join(missed, fmt.Errorf("%d hosts: median error %.1f ns, more than %.1f times the %.1f ns of %d hosts",
			largest.hosts, largest.median, scaleErrorBar, compared.median, comparedHosts))
	}
	return missed
}

// measureHosts aligns a network of some number of hosts, and then compares its clocks with the truth.
func measureHosts(meridian, dir string, hosts int) (sized, error) {
	z := sized{hosts: hosts}
	traces, out := filepath.Join(dir, "traces"), filepath.Join(dir, "report.json")
	messages := filepath.Join(traces, "messages.txt")
	if _, err := run(meridian, "simulate", "--quiet", "-o", traces, "--hosts", strconv.Itoa(hosts), "--topology", "random", "--degree", "8", "--rate", "20.83"); err != nil {
		return z, err
	}
	var err error
	if z.used, err = run(meridian, "align", "--quiet", messages, "-o", out); err != nil {
		return z, err
	}
	var r report
	if data, err := os.ReadFile(out); err != nil {
		return z, err
	} else if err := json.Unmarshal(data, &r); err != nil {
		return z, fmt.Errorf("%s: %w", out, err)
	}
	z.messages, z.bound = r.Quality.Messages, float64(r.Quality.Bound["mean"])
	return z, z.compare(meridian, messages, filepath.Join(traces, "truth.json"))
}

// compare adds the errors of the hosts. Truth outside of the bounds is an error.
func (z *sized) compare(meridian, messages, truth string) error {
	data, err := exec.Command(meridian, "evaluate", "--quiet", "--json", "--truth", truth, messages).Output()
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", messages, err)
	}
	var evaluation struct {
		Methods []struct {
			Hosts []struct {
				Name  string `json:"name"`
				Truth *struct {
					RMS float64 `json:"rms_ns"`
				} `json:"truth"`
			} `json:"hosts"`
		} `json:"methods"`
	}
	if err := json.Unmarshal(data, &evaluation); err != nil {
		return fmt.Errorf("evaluate %s: %w", messages, err)
	}
	if len(evaluation.Methods) != 1 || len(evaluation.Methods[0].Hosts) != z.hosts {
		return fmt.Errorf("evaluate %s: not one method with %d hosts", messages, z.hosts)
	}
	var errs []float64
	for _, h := range evaluation.Methods[0].Hosts {
		if h.Truth != nil {
			errs = append(errs, h.Truth.RMS)
		}
	}
	if len(errs) != z.hosts-1 { // all but the reference, which has no error
		return fmt.Errorf("evaluate %s: %d of %d hosts have a truth", messages, len(errs), z.hosts)
	}
	slices.Sort(errs)
	z.median, z.worst = errs[len(errs)/2], errs[len(errs)-1]
	return nil
}

// exponent returns the slope of the straight line through the logarithms of a value over those of the hosts, by least squares.
func exponent(all []sized, of func(*sized) float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range all {
		x, y := math.Log(float64(all[i].hosts)), math.Log(of(&all[i]))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
