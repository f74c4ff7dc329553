//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meridian/internal/netlab"
)

// askInterval is the time between the instants at which every synchroniser is asked.
const askInterval = 250 * time.Millisecond

// subject is a synchroniser that runs between web and db.
type subject struct {
	name  string  // as in tables
	rate  float64 // exchanges a second
	peer  bool    // other people's: what ours is compared with
	pair  bool    // two probes at a time
	warp  string  // what the other end's clocks do
	ports []int   // UDP ports by which its packets are counted
	start func() error
	ask   func() ([]point, error) // what it said since it was last asked
	pids  func() []int
	stop  func()
}

// point is what a synchroniser says of the offset at an instant, ns. The truth is 0.
type point struct {
	offset    float64
	low, high float64
	bounded   bool // whether low and high are said
	leastRTT  float64
	free      float64 // the width of the bound of the clocks that nobody steers; 0 where it is not said
	noticed   []int   // after how many exchanges steps were noticed since the point before, -1 for never
}

// result is one synchroniser under one load.
type result struct {
	*subject
	load           string
	median, p99    float64 // of |error|, ns
	points         int
	bounded, wrong int     // points with bounds, and of these without the truth
	width, free    float64 // medians of high - low over the least round trip, of the system's clocks and of the free ones
	leastRTT       float64 // ns
	cpu            float64 // of a core, both ends
	packets, bytes float64 // a second
	noticed        []int   // after how many exchanges each step was noticed, ascending; -1 for never
	failed         error
}

func (b *bench) run(ctx context.Context) (all []*result, err error) {
	if b.dir, err = os.MkdirTemp("", "clockbench"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.dir)
	for _, load := range b.loads {
		err := netlab.Outside(ctx, b.dir, switched(2), func(l *netlab.Lab) error {
			results, err := b.measure(ctx, l, load)
			all = append(all, results...)
			return err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// switched returns a lab of hosts that are linked by a bridge in a namespace of its own.
func switched(hosts int) func(testing.TB) *netlab.Lab {
	return func(t testing.TB) *netlab.Lab {
		l := netlab.New(t)
		ip := func(host string, args ...string) {
			if out, err := l.Command(host, "ip", args...).CombinedOutput(); err != nil {
				t.Fatalf("ip %v: %v: %s", args, err, out)
			}
		}
		l.Hosts("switch")
		ip("switch", "link", "add", "br0", "type", "bridge")
		ip("switch", "link", "set", "br0", "up")
		for k := range hosts {
			l.Hosts(hostName(k))
			l.Link(hostName(k), "switch")
			ip("switch", "link", "set", fmt.Sprintf("eth%d", k), "master", "br0")
			ip(hostName(k), "address", "add", hostAddress(k)+"/24", "dev", "eth0")
		}
		return l
	}
}

// hostName and hostAddress are of a host of the lab. The first asks, the second answers.
func hostName(k int) string {
	if k < 2 {
		return [...]string{"web", "db"}[k]
	}
	return fmt.Sprintf("h%d", k)
}

func hostAddress(k int) string { return fmt.Sprintf("10.78.0.%d", k+1) }

var dbAddress = hostAddress(1)

// measure runs all synchronisers at once under a load.
func (b *bench) measure(ctx context.Context, l *netlab.Lab, load string) ([]*result, error) {
	stop, err := startLoad(ctx, l, load)
	if err != nil {
		return nil, err
	}
	defer stop()
	var results []*result
	var running []*subject
	defer func() {
		for _, s := range running {
			s.stop()
		}
	}()
	for _, s := range b.synchronisers(ctx, l) {
		r := &result{subject: s, load: load}
		results = append(results, r)
		if r.failed = s.start(); r.failed == nil {
			running = append(running, s)
		}
	}
	if err := countPorts(l, running); err != nil {
		return nil, err
	}
	said := make(map[*subject][]point)
	var cpu, now map[*subject]float64
	var packets, after map[int]traffic
	begin := time.Now()
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for time.Since(begin) < b.settle+b.length {
		select {
		case <-ctx.Done():
			return results, ctx.Err()
		case <-tick.C:
		}
		settled := time.Since(begin) >= b.settle
		if settled && cpu == nil {
			if cpu, packets, err = costs(l, running); err != nil {
				return results, err
			}
			begin = time.Now().Add(-b.settle)
		}
		for _, r := range results {
			if r.failed != nil {
				continue
			}
			points, err := r.ask()
			if err != nil {
				r.failed = err
			} else if settled {
				said[r.subject] = append(said[r.subject], points...)
			}
		}
		fmt.Fprintf(os.Stderr, "\r%s: %.0f of %.0f s  ", load, time.Since(begin).Seconds(), (b.settle + b.length).Seconds())
	}
	fmt.Fprintln(os.Stderr)
	if now, after, err = costs(l, running); err != nil {
		return results, err
	}
	for _, r := range results {
		r.sum(said[r.subject])
		r.cpu = (now[r.subject] - cpu[r.subject]) / b.length.Seconds()
		for _, p := range r.ports {
			r.packets += float64(after[p].packets-packets[p].packets) / b.length.Seconds()
			r.bytes += float64(after[p].bytes-packets[p].bytes) / b.length.Seconds()
		}
	}
	return results, nil
}

// sum takes the figures of the points.
func (r *result) sum(points []point) {
	if r.points = len(points); r.points == 0 {
		if r.failed == nil {
			r.failed = fmt.Errorf("said nothing")
		}
		return
	}
	var errors, widths, free []float64
	for _, p := range points {
		errors = append(errors, math.Abs(p.offset))
		r.noticed = append(r.noticed, p.noticed...)
		if p.bounded {
			r.bounded++
			if p.low > 0 || p.high < 0 {
				r.wrong++
			}
			if p.leastRTT > 0 {
				widths = append(widths, (p.high-p.low)/p.leastRTT)
				free = append(free, p.free/p.leastRTT)
				r.leastRTT = p.leastRTT
			}
		}
	}
	r.median, r.p99 = quantile(errors, 0.5), quantile(errors, 0.99)
	slices.Sort(r.noticed)
	r.width, r.free = quantile(widths, 0.5), quantile(free, 0.5)
}

// quantile returns a quantile by the nearest rank, 0 of nothing. It sorts the values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

// traffic is what passed web's interface by a port, either way.
type traffic struct{ packets, bytes int64 }

// countPorts makes a counter of each port in web.
func countPorts(l *netlab.Lab, all []*subject) error {
	var rules strings.Builder
	rules.WriteString("table inet clockbench {\n")
	for _, s := range all {
		for _, p := range s.ports {
			fmt.Fprintf(&rules, "counter p%d {}\n", p)
		}
	}
	for _, way := range []struct{ hook, field string }{{"input", "sport"}, {"output", "dport"}} {
		fmt.Fprintf(&rules, "chain %s { type filter hook %[1]s priority 0;\n", way.hook)
		for _, s := range all {
			for _, p := range s.ports {
				fmt.Fprintf(&rules, "udp %s %d counter name p%[2]d\n", way.field, p)
			}
		}
		rules.WriteString("}\n")
	}
	rules.WriteString("}\n")
	nft := l.Command("web", "nft", "-f", "-")
	nft.Stdin = strings.NewReader(rules.String())
	if out, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// costs returns what each has used of cores so far, in seconds, and the traffic by port.
func costs(l *netlab.Lab, all []*subject) (map[*subject]float64, map[int]traffic, error) {
	cpu := make(map[*subject]float64)
	for _, s := range all {
		for _, pid := range s.pids() {
			seconds, err := processorTime(pid)
			if err != nil {
				return nil, nil, fmt.Errorf("%s ended: %w", s.name, err)
			}
			cpu[s] += seconds
		}
	}
	out, err := l.Command("web", "nft", "-j", "list", "counters").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("nft: %w", err)
	}
	var listed struct {
		Nftables []struct {
			Counter *struct {
				Name           string
				Packets, Bytes int64
			}
		}
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		return nil, nil, fmt.Errorf("nft: %w", err)
	}
	ports := make(map[int]traffic)
	for _, e := range listed.Nftables {
		if e.Counter != nil {
			if port, err := strconv.Atoi(strings.TrimPrefix(e.Counter.Name, "p")); err == nil {
				ports[port] = traffic{e.Counter.Packets, e.Counter.Bytes}
			}
		}
	}
	return cpu, ports, nil
}

// processorTime returns what all threads of a process have used, in seconds: the first number of their schedstat is in ns.
func processorTime(pid int) (seconds float64, err error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("process %d is gone", pid)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread is gone
		}
		ran, _, _ := strings.Cut(string(b), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		seconds += float64(ns) / 1e9
	}
	return seconds, err
}

// installed returns why a program cannot be run, or nil.
func installed(program string) error {
	_, err := exec.LookPath(program)
	return err
}
