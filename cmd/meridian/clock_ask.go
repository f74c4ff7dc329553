package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/probe"
	"meridian/internal/probe/probetrace"
	"meridian/internal/record"
	"meridian/internal/synchroniser"
	"meridian/trace"
)

// clockPort is where clocks answer unless the address says it.
const clockPort = 4123

// keyFlag is the key that both ends share.
type keyFlag struct{ file string }

func (f *keyFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "key", "", "`FILE` of the key that both ends share, as 'meridian clock key' makes it (default: that in the user's configuration)")
}

// path returns the file, by default that in the user's configuration.
func (f *keyFlag) path() (string, error) {
	if f.file != "" {
		return f.file, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", wrong("no key: give --key FILE (%v)", err)
	}
	return filepath.Join(dir, "meridian", "clock.key"), nil
}

func (f *keyFlag) read() (probe.Key, error) {
	file, err := f.path()
	if err != nil {
		return probe.Key{}, err
	}
	key, err := probe.ReadKey(file)
	if errors.Is(err, os.ErrNotExist) {
		return key, fmt.Errorf("%w; make one with 'meridian clock key' and copy it to the other hosts", err)
	}
	return key, err
}

// askFlags are the flags of all commands that ask other hosts for the time.
type askFlags struct {
	keyFlag
	quietFlag
	rate    float64
	pairs   bool
	burst   int
	common  bool
	windows string
	dir     string
	timeFor time.Duration

	cmd      *cobra.Command
	warnings trace.Warnings
}

// defaultRounds is how often a host is asked at most, and leastRounds at least, unless --rate says it: rounds per second.
const (
	defaultRounds = 16
	leastRounds   = 2
	maxRounds     = 500
)

func (f *askFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.SortFlags = false
	f.keyFlag.add(cmd)
	flags.Float64Var(&f.rate, "rate", 0, "ask `N` times per second, always and without bursts (default: 2 to 16 times, the less the better the clock is known)")
	flags.BoolVar(&f.pairs, "pairs", true, "ask twice each time, 20 µs apart: the second probe finds processors awake")
	flags.IntVar(&f.burst, "burst", 0, "ask `N` times at once at the start and each time if that is once a second or less (default 8, with --rate 1)")
	flags.BoolVar(&f.common, "together", false, "ask all hosts in common rounds, at the pace of the quickest")
	flags.StringVar(&f.windows, "quiet-windows", "", "ask nothing within these `TIMES` of each day, such as 14:00-14:10,23:59:30-00:05")
	flags.StringVarP(&f.dir, "output", "o", "", "write the probes into a trace directory `DIR`, as 'meridian record' writes events")
	flags.DurationVar(&f.timeFor, "for", 0, "end after `TIME`, such as 30s (default: when it is interrupted)")
	completions(cmd, map[string]cobra.CompletionFunc{"rate": choices("1", "10", "16", "128"), "for": choices("10s", "1m")})
}

// methodChoice is the flag that chooses how the exchanges are evaluated.
type methodChoice struct{ method string }

func (f *methodChoice) add(cmd *cobra.Command) {
	all := synchroniser.Methods()
	cmd.Flags().StringVar(&f.method, "method", all[0], "estimation `METHOD`: "+strings.Join(all, ", "))
	completions(cmd, map[string]cobra.CompletionFunc{"method": choices(all...)})
}

func (f *methodChoice) check() error {
	if all := synchroniser.Methods(); !slices.Contains(all, f.method) {
		return wrong("unknown method %q (%s)", f.method, strings.Join(all, ", "))
	}
	return nil
}

// options returns what the flags ask for.
func (f *askFlags) options() (o probe.Options, err error) {
	changed := f.cmd.Flags().Changed
	switch {
	case changed("rate") && !(f.rate > 0 && f.rate <= maxRounds):
		return o, wrong("--rate %v: want a number above 0 and up to %d", f.rate, maxRounds)
	case changed("burst") && (f.burst < 1 || f.burst > 64):
		return o, wrong("--burst %d: want a number from 1 to 64", f.burst)
	case f.timeFor < 0 || changed("for") && f.timeFor == 0:
		return o, wrong("--for %v: want a time above 0", f.timeFor)
	}
	if f.windows != "" {
		if o.Windows, err = probe.ParseDaily(f.windows); err != nil {
			return o, wrong("--quiet-windows: %v", err)
		}
	}
	if o.Key, err = f.keyFlag.read(); err != nil {
		return o, err
	}
	o.Together = f.common
	each := 1.0
	if o.Single = !f.pairs; f.pairs {
		each = 2
	}
	o.Rate, o.MinRate, o.Burst = defaultRounds*each, leastRounds*each, f.burst
	if changed("rate") {
		o.Rate, o.MinRate = f.rate*each, f.rate*each
		if !changed("burst") {
			o.Burst = -1
		}
	}
	return o, nil
}

// clockTargets reads arguments of the form [NAME=]HOST[:PORT].
func clockTargets(cmd *cobra.Command, args []string) (targets []synchroniser.Target, err error) {
	if len(args) == 0 {
		return nil, wrong("no host given: %s [NAME=]HOST[:PORT]...", cmd.CommandPath())
	}
	for _, arg := range args {
		name, address, named := strings.Cut(arg, "=")
		if !named {
			name, address = arg, arg
		}
		if name == "" || address == "" || strings.Contains(address, "=") {
			return nil, wrong("%q: want [NAME=]HOST[:PORT]", arg)
		}
		if address, err = withClockPort(address); err != nil {
			return nil, err
		}
		if strings.HasPrefix(address, ":") || strings.HasSuffix(address, ":0") {
			return nil, wrong("%q: want [NAME=]HOST[:PORT]", arg)
		}
		for _, t := range targets {
			if t.Name == name || t.Address == address {
				return nil, wrong("%q and %q are one host, or have one name", t.Name, arg)
			}
		}
		targets = append(targets, synchroniser.Target{Name: name, Address: address})
	}
	return targets, nil
}

// withClockPort adds the port where there is none.
func withClockPort(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil { // without a port: a name, an address, [an address]
		host, port = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), strconv.Itoa(clockPort)
	}
	if n, err := strconv.ParseUint(port, 10, 64); errors.Is(err, strconv.ErrRange) || n > math.MaxUint16 {
		return "", wrong("%q: port %s is out of range: up to %d", address, port, math.MaxUint16)
	} else if err != nil || strings.ContainsAny(host, "[]/ ") {
		return "", wrong("%q: want HOST[:PORT], with brackets around an IPv6 address that has a port", address)
	}
	return net.JoinHostPort(host, port), nil
}

// ask asks hosts until the time is over, the command is interrupted or work, which reads what is known, returns. Made is called with the
// synchroniser before anything is sent; nil for nothing.
func (f *askFlags) ask(o synchroniser.Options, targets []synchroniser.Target, metrics string, made func(*synchroniser.Synchroniser), work func(context.Context, *synchroniser.Synchroniser) error) error {
	ctx := f.cmd.Context()
	if f.timeFor > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeFor)
		defer cancel()
	}
	return recordProbes(ctx, f.dir, &f.warnings, func(ctx context.Context, record func(probe.Event)) error {
		o.Probe.Record = record
		s, err := synchroniser.New(ctx, o, targets...)
		if err != nil {
			return err
		}
		if made != nil {
			made(s)
		}
		ctx, end := context.WithCancel(ctx)
		defer end()
		all, ctx := errgroup.WithContext(ctx)
		if err := f.serveMetrics(ctx, f.cmd, all, metrics, s.Stats, s); err != nil {
			return errors.Join(err, s.Close())
		}
		all.Go(func() error { return s.Run(ctx) })
		all.Go(quietBySignal(ctx, s.Quiet))
		all.Go(func() error {
			defer end()
			return work(ctx, s)
		})
		return all.Wait()
	})
}

// serveMetrics serves metrics if that is asked for.
func (f *quietFlag) serveMetrics(ctx context.Context, cmd *cobra.Command, all *errgroup.Group, address string, stats func() probe.Stats, s *synchroniser.Synchroniser) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return wrong("--metrics %s: want HOST:PORT, such as 127.0.0.1:9123: %v", address, err)
	}
	m, err := synchroniser.NewMetrics(ctx, address, stats, s)
	if err != nil {
		return err
	}
	f.say(cmd, "metrics at http://%s/metrics", m.Addr())
	all.Go(func() error { return m.Serve(ctx) })
	return nil
}

// say prints a line on stderr unless the command is quiet.
func (f *quietFlag) say(cmd *cobra.Command, format string, args ...any) {
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "meridian: "+format+"\n", args...)
	}
}

// quietBySignal returns what begins quiet windows at one signal and ends them at another, until the context is done. Signals are taken from now on.
func quietBySignal(ctx context.Context, quiet func(bool)) func() error {
	signals, stop := quietSignals()
	return func() error {
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case s := <-signals:
				quiet(beginsQuiet(s))
			}
		}
	}
}

// waiting counts the commands of this process that do little but wait.
var waiting struct {
	sync.Mutex
	count, before int
}

// onOneProcessor has the runtime run Go on one processor until the function returned is called, unless the environment says on how many. For commands
// to which messages come one at a time: each of them, and each call of the kernel that waits, would have threads of the runtime look for work on other processors, for
// a fifth of the processor time of probes and a quarter of an agent's.
func onOneProcessor() (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	change := func(by int) {
		waiting.Lock()
		defer waiting.Unlock()
		switch waiting.count += by; {
		case waiting.count == 1 && by > 0:
			waiting.before = runtime.GOMAXPROCS(1)
		case waiting.count == 0:
			runtime.GOMAXPROCS(waiting.before)
		}
	}
	change(1)
	return func() { change(-1) }
}

// recordProbes calls run with what writes its probes into a trace directory, or with nil without one. The trace ends after run.
func recordProbes(ctx context.Context, dir string, warnings *trace.Warnings, run func(context.Context, func(probe.Event)) error) error {
	defer onOneProcessor()()
	if dir == "" {
		return run(ctx, nil)
	}
	w, err := probetrace.New(record.Options{Dir: dir, Warnings: warnings})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	written := make(chan error, 1)
	go func() {
		defer cancel() // a trace that cannot be written ends the asking
		written <- w.Run(writing)
	}()
	select {
	case <-w.Ready():
		err = run(ctx, w.Record)
	case <-ctx.Done():
	}
	stop()
	return errors.Join(err, <-written)
}
