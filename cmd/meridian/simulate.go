package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/clock"
	"meridian/internal/pipeline/simulate"
	"meridian/internal/sim"
)

// simulateFlags is what the command line says.
type simulateFlags struct {
	dir, format                           string
	environment, topology, traffic, delay string
	minDelay, thermal                     string
	steps, routes                         []string
	hosts, degree                         int
	duration, jitter, offset, granularity time.Duration
	rate, skew, wander                    float64
	asymmetric, congestion                bool
	seed                                  uint64
	quiet                                 bool
}

// simulationStart is the true time at which all simulations begin.
var simulationStart = clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

var simulationFormats = []string{"messages", "pcap"}

func newSimulate() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate -o DIR",
		Short: "Write traces of simulated hosts, with the truth beside them",
		Long: `Simulate hosts whose clocks disagree, a network, and the messages between them, and write what they would have
recorded, with the truth beside it. The same flags give the same files.

In DIR it leaves
  messages.txt               lines FROM TO SENT RECEIVED, stamped by each host's clock; or, with --format pcap,
  host0.pcapng, ...          a capture for each host, with a datagram for each message
  truth.json                 each clock as it really was, and the least delay of each link

DIR is made if missing; it may hold the files of a simulation before, which are replaced, and nothing else. All
begins at 2026-01-01 00:00:00 UTC; TIME counts from there.

Topologies: ` + names(sim.Topologies()) + `.
Traffic:    ` + names(sim.Patterns()) + `.
            In a collective operation no host leaves before all have entered; its network is full. A list has operations
            as @collective lines, and beside the messages of broadcasts their receptions as @broadcast lines.
Delays:     ` + names(sim.Distributions()) + `.

An environment is two hosts with the traffic, delays and granularity of one of the accuracy study's; other flags
override what it sets.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian simulate -o sim && meridian align sim/messages.txt
  meridian simulate -o sim --hosts 16 --topology random --degree 4 --traffic request-response --format pcap
  meridian simulate -o sim --environment E5 --duration 30m --wander 1e-8 --seed 7
  meridian simulate -o sim --duration 5m --step host1@30s=-1s --route host0,host2@150s=300us`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.dir, "output", "o", "", "write the files to `DIR`")
	flags.StringVar(&f.format, "format", simulationFormats[0], "what to write, `FORMAT`: "+strings.Join(simulationFormats, ", "))
	flags.Uint64Var(&f.seed, "seed", 1, "`NUMBER` that seeds all randomness")
	flags.DurationVar(&f.duration, "duration", time.Minute, "how long the hosts send, `TIME` such as 30m")
	flags.StringVar(&f.environment, "environment", "", "the study's `NAME`: "+strings.Join(environmentNames(), ", "))

	flags.IntVar(&f.hosts, "hosts", 3, "`NUMBER` of hosts, which are host0, host1, ...")
	flags.StringVar(&f.topology, "topology", "", "which hosts have a link, `NAME` (default: full)")
	flags.IntVar(&f.degree, "degree", 4, "mean `NUMBER` of links of a host in a random network")
	flags.StringVar(&f.traffic, "traffic", sim.Periodic.String(), "when the hosts send, `NAME`")
	flags.Float64Var(&f.rate, "rate", 20, "`NUMBER` of messages a second over each link in each direction")

	flags.StringVar(&f.delay, "delay", sim.Exponential.String(), "`NAME` of the distribution of the delays' random part")
	flags.DurationVar(&f.jitter, "jitter", 20*time.Microsecond, "its mean, `TIME`")
	flags.StringVar(&f.minDelay, "min-delay", "10us,50us", "the links' least delays lie within `LOW[,HIGH]`")
	flags.BoolVar(&f.asymmetric, "asymmetric", false, "the two directions of a link differ in least delay and jitter")
	flags.BoolVar(&f.congestion, "congestion", false, "links are overloaded at times, for about 15 s")
	flags.StringArrayVar(&f.routes, "route", nil, "least delay from one host to another changes: `FROM,TO@TIME=BY`; may be repeated")

	flags.DurationVar(&f.granularity, "granularity", time.Nanosecond, "step of the stamps, `TIME`")
	flags.DurationVar(&f.offset, "offset", time.Second, "clocks are off by up to `TIME`")
	flags.Float64Var(&f.skew, "skew", 50, "clocks run too fast or too slow by up to `PPM`")
	flags.Float64Var(&f.wander, "wander", 1e-9, "random walk of frequency, `FRACTION` per square root of a second")
	flags.StringVar(&f.thermal, "thermal", "1e-7,20m", "swing of frequency with the temperature, `FRACTION[,PERIOD]`")
	flags.StringArrayVar(&f.steps, "step", nil, "a host's clock is set: `HOST@TIME=BY`, BY such as -1s; may be repeated")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	for name, choices := range map[string][]string{
		"format": simulationFormats, "environment": environmentNames(), "topology": strings.Split(names(sim.Topologies()), ", "),
		"traffic": strings.Split(names(sim.Patterns()), ", "), "delay": strings.Split(names(sim.Distributions()), ", "),
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the name is not a flag's: a mistake in this file
		}
	}
	return cmd
}

func names[T fmt.Stringer](all []T) string {
	var list []string
	for _, one := range all {
		list = append(list, one.String())
	}
	return strings.Join(list, ", ")
}

func environmentNames() (list []string) {
	for _, e := range sim.Environments() {
		list = append(list, e.Name)
	}
	return list
}

func (f *simulateFlags) run(cmd *cobra.Command) error {
	if f.dir == "" {
		return wrong("simulate: no output directory; give -o DIR")
	}
	if !slices.Contains(simulationFormats, f.format) {
		return wrong("--format: unknown format %q (%s)", f.format, strings.Join(simulationFormats, ", "))
	}
	scenario, err := f.scenario(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	o := simulate.Options{Scenario: scenario, Dir: f.dir, Captures: f.format == "pcap"}
	bar := newProgress(cmd, f.quiet)
	o.Progress = bar.show
	done, err := simulate.Run(cmd.Context(), o)
	bar.stop()
	if err != nil {
		return err
	}
	traces := done.Traces
	if len(traces) > 4 {
		traces = append(slices.Clone(traces[:3]), fmt.Sprintf("... (%d in all)", len(traces)))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d hosts sent %d messages in %v\ntraces: %s\ntruth:  %s\n",
		len(done.Truth.Hosts), done.Messages, f.duration, strings.Join(traces, " "), done.TruthFile)
	return err
}

// scenario is what the flags ask for. Where they name an environment, those left at their defaults do not change it.
func (f *simulateFlags) scenario(changed func(flag string) bool) (sim.Scenario, error) {
	s := sim.Scenario{Start: simulationStart, Span: f.duration, Seed: f.seed, Wander: f.wander, Degree: f.degree}
	if f.duration <= 0 {
		return s, wrong("--duration %v: want a time above 0", f.duration)
	}
	if f.hosts == 0 {
		return s, wrong("--hosts 0: no host would send; want 2 or more")
	}
	if f.rate == 0 {
		return s, wrong("--rate 0: nothing would be sent")
	}
	if f.environment != "" {
		all := sim.Environments()
		i := slices.Index(environmentNames(), f.environment)
		if i < 0 {
			return s, wrong("--environment: unknown environment %q (%s)", f.environment, strings.Join(environmentNames(), ", "))
		}
		own := s
		s = all[i].Scenario
		s.Start, s.Span, s.Seed, s.Wander, s.Degree = own.Start, own.Span, own.Seed, own.Wander, own.Degree
	}
	for _, flag := range []struct {
		name string
		set  func() error
	}{
		{"hosts", func() error { s.Hosts = f.hosts; return nil }},
		{"traffic", func() error { return choose("traffic", f.traffic, sim.Patterns(), &s.Traffic) }},
		{"rate", func() error { s.Rate = f.rate; return nil }},
		{"delay", func() error { return choose("delay", f.delay, sim.Distributions(), &s.Delay) }},
		{"jitter", func() error { s.Jitter = f.jitter; return nil }},
		{"min-delay", func() error { return f.setMinDelay(&s) }},
		{"asymmetric", func() error { s.Asymmetric = f.asymmetric; return nil }},
		{"congestion", func() error { s.Congested = f.congestion; return nil }},
		{"granularity", func() error { s.Granularity = int64(f.granularity); return nil }},
		{"offset", func() error { s.MaxOffset = f.offset; return nil }},
		{"skew", func() error { s.MaxSkewPPM = f.skew; return nil }},
	} {
		if f.environment == "" || changed(flag.name) {
			if err := flag.set(); err != nil {
				return s, err
			}
		}
	}
	s.Topology = sim.Full
	if s.Hosts == 2 {
		s.Topology = sim.Pair
	}
	if f.topology != "" {
		if err := choose("topology", f.topology, sim.Topologies(), &s.Topology); err != nil {
			return s, err
		}
	}
	if !changed("degree") {
		s.Degree = 0 // as many as there can be
	}
	for _, set := range []func(*sim.Scenario) error{f.setThermal, f.setSteps, f.setRoutes} {
		if err := set(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// choose sets a choice by its name.
func choose[T fmt.Stringer](flag, name string, all []T, to *T) error {
	i := slices.IndexFunc(all, func(one T) bool { return one.String() == name })
	if i < 0 {
		return wrong("--%s: unknown name %q (%s)", flag, name, names(all))
	}
	*to = all[i]
	return nil
}

func (f *simulateFlags) setMinDelay(s *sim.Scenario) error {
	low, high, ranged := strings.Cut(f.minDelay, ",")
	if !ranged {
		high = low
	}
	for i, text := range []string{low, high} {
		var err error
		if s.MinDelay[i], err = time.ParseDuration(text); err != nil {
			return wrong("--min-delay %s: want LOW[,HIGH] such as 10us,50us", f.minDelay)
		}
	}
	return nil
}

func (f *simulateFlags) setThermal(s *sim.Scenario) error {
	amplitude, period, timed := strings.Cut(f.thermal, ",")
	var err error
	if s.Thermal, err = strconv.ParseFloat(amplitude, 64); err == nil && timed {
		s.ThermalPeriod, err = time.ParseDuration(period)
	}
	if err != nil {
		return wrong("--thermal %s: want FRACTION[,PERIOD] such as 1e-7,20m", f.thermal)
	}
	return nil
}

func (f *simulateFlags) setSteps(s *sim.Scenario) error {
	for _, text := range f.steps {
		host, at, by, ok := parseChange(text)
		number, known := hostNumber(host, s.Hosts)
		if !ok {
			return wrong("--step %s: want HOST@TIME=BY such as host1@30s=-1s", text)
		}
		if !known {
			return wrong("--step %s: unknown host %q (host0 to host%d)", text, host, s.Hosts-1)
		}
		s.Steps = append(s.Steps, sim.HostStep{Host: number, Step: sim.Step{At: s.Start + clock.TimelineTime(at), By: by}})
	}
	return nil
}

func (f *simulateFlags) setRoutes(s *sim.Scenario) error {
	for _, text := range f.routes {
		hosts, at, by, ok := parseChange(text)
		from, to, two := strings.Cut(hosts, ",")
		if !ok || !two {
			return wrong("--route %s: want FROM,TO@TIME=BY such as host0,host1@20s=300us", text)
		}
		a, knownA := hostNumber(from, s.Hosts)
		b, knownB := hostNumber(to, s.Hosts)
		if !knownA || !knownB {
			return wrong("--route %s: unknown host in %q (host0 to host%d)", text, hosts, s.Hosts-1)
		}
		s.Routes = append(s.Routes, sim.Route{From: a, To: b, At: s.Start + clock.TimelineTime(at), By: by})
	}
	return nil
}

// parseChange reads HOSTS@TIME=BY.
func parseChange(text string) (hosts string, at, by int64, ok bool) {
	hosts, rest, ok := strings.Cut(text, "@")
	when, much, both := strings.Cut(rest, "=")
	t, err := time.ParseDuration(when)
	d, err2 := time.ParseDuration(much)
	return hosts, int64(t), int64(d), ok && both && err == nil && err2 == nil
}

// hostNumber reads host3, or 3.
func hostNumber(text string, hosts int) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "host"))
	return n, err == nil && n >= 0 && n < hosts
}
