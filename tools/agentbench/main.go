//go:build linux

// Command agentbench aligns captures that stay at three agents, and compares that with the same captures on one machine: clocks, bounds and all else of
// the report must be equal, and at most 3 % of the captures' bytes may travel.
//
//	agentbench                      captures of tools/capgen of 100,000 packets, whole ones
//	agentbench -packets 2200000     2 GB at hosts a and c, 4 GB at b
//	agentbench -snap 128            packets cut to their headers
//
// Hosts a, b and c are network namespaces with an agent each, behind links of 200 Mbit/s. Server and operator are in a fourth. a and b talked to each other,
// and so did c and b. Bytes are those that the kernel counted at the hosts' interfaces, both ways, from before the agents are asked to the end; heartbeats and
// headers of Ethernet are among them. It needs root, iproute2, util-linux (nsenter) and bin/meridian from make build.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"time"
)

// maxShare is the share of the captures' bytes that may travel.
const maxShare = 0.03

func main() {
	meridian := flag.String("meridian", "bin/meridian", "the command to measure")
	dir := flag.String("dir", "", "`DIR` for the captures, of which those of an earlier run are taken (default: a temporary one)")
	packets := flag.Int("packets", 100_000, "packets of each of the four captures, about")
	snap := flag.Int("snap", 65535, "bytes kept of each packet")
	rate := flag.String("rate", "200mbit", "of each host's link, as tc writes it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, *meridian, *dir, *packets, *snap, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "agentbench:", err)
		stop()
		os.Exit(1)
	}
}

func measure(ctx context.Context, meridian, dir string, packets, snap int, rate string) error {
	meridian, err := filepath.Abs(meridian)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "meridian-agentbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if dir == "" {
		dir = filepath.Join(work, "captures")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	captures, err := generate(ctx, dir, packets, snap)
	if err != nil {
		return err
	}
	net, err := newNetwork(rate)
	if err != nil {
		return err
	}
	defer net.close()
	stop, url, err := start(ctx, net, meridian, work, captures)
	defer stop()
	if err != nil {
		return err
	}
	here, there := filepath.Join(work, "here.report.json"), filepath.Join(work, "there.report.json")
	local, remote := []string{"align", "-q", "-o", here}, []string{"align", "-q", "-o", there, "--server", url}
	for _, c := range captures {
		local = append(local, c.host+"="+c.path)
		remote = append(remote, "agent:"+c.host+":"+c.path)
	}
	before, err := net.bytes()
	if err != nil {
		return err
	}
	agents, err := timed(net.command(ctx, hub, meridian, remote...))
	if err != nil {
		return err
	}
	after, err := net.bytes()
	if err != nil {
		return err
	}
	files, err := timed(exec.CommandContext(ctx, meridian, local...))
	if err != nil {
		return err
	}
	fmt.Printf("at agents %.1f s, of files %.1f s\n", agents.Seconds(), files.Seconds())
	return errors.Join(shares(captures, before, after), equal(here, there))
}

// shares prints how much of each host's captures travelled, and fails where it is too much.
func shares(captures []capture, before, after map[string]int64) (missed error) {
	of := make(map[string]int64)
	for _, c := range captures {
		of[c.host] += c.size
	}
	fmt.Printf("%-5s %14s %14s %8s\n", "host", "captures", "on the wire", "share")
	for _, host := range hosts {
		sent := after[host] - before[host]
		share := float64(sent) / float64(of[host])
		fmt.Printf("%-5s %14d %14d %7.2f%%\n", host, of[host], sent, 100*share)
		if share > maxShare {
			missed = errors.Join(missed, fmt.Errorf("host %s: %.2f %% of the bytes travelled, more than %.0f %%", host, 100*share, 100*maxShare))
		}
	}
	return missed
}

// equal compares reports but for their warnings, which name files.
func equal(paths ...string) error {
	var reports []map[string]any
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r := make(map[string]any)
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		delete(r, "warnings")
		reports = append(reports, r)
	}
	if !reflect.DeepEqual(reports[0], reports[1]) {
		return errors.New("the reports differ")
	}
	fmt.Println("reports: equal")
	return nil
}

// capture is a file of a host.
type capture struct {
	host, path string
	size       int64
}

// generate makes the captures of two conversations unless they are there.
func generate(ctx context.Context, dir string, packets, snap int) ([]capture, error) {
	var captures []capture
	for i, ends := range [][2]string{{"a", "b"}, {"c", "b"}} {
		pair := filepath.Join(dir, strconv.Itoa(i+1))
		if _, err := os.Stat(filepath.Join(pair, "b.pcap")); err != nil {
			c := exec.CommandContext(ctx, "go", "run", "./tools/capgen", "-packets", strconv.Itoa(packets), "-snap", strconv.Itoa(snap), "-seed", strconv.Itoa(i+1), "-o", pair)
			if out, err := c.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("capgen: %w: %s", err, out)
			}
		}
		for k, name := range []string{"a.pcap", "b.pcap"} {
			path := filepath.Join(pair, name)
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			captures = append(captures, capture{ends[k], path, info.Size()})
		}
	}
	return captures, nil
}

// timed runs a command to its end and returns how long it took. Exit code 3 is that of captures which bound a clock badly: the report tells.
func timed(c *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState.ExitCode() != 3 {
		return 0, fmt.Errorf("%s: %w: %s", c, err, out)
	}
	return time.Since(began), nil
}
