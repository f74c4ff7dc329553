package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/probe"
	"meridian/internal/show"
	"meridian/internal/synchroniser"
)

// clockCompareFlags is what the command line says.
type clockCompareFlags struct {
	askFlags
	json, sameClock bool
	settle          time.Duration
	also            []string
}

// Of comparisons: how often our methods and others are asked, and how long BRISK's rounds are.
const (
	compareEvery      = 250 * time.Millisecond
	askPeersEvery     = time.Second
	briskRound        = 5 * time.Second
	briskThreshold    = int64(100_000) // ns
	headers           = 28             // bytes, of IPv4 and UDP
	defaultComparison = 30 * time.Second
)

func newClockCompare() *cobra.Command {
	var f clockCompareFlags
	var peers []string
	for _, p := range synchroniser.Peers() {
		peers = append(peers, p.Name)
	}
	cmd := &cobra.Command{
		Use:   "compare [NAME=]HOST[:PORT]... [--for TIME] [--same-clock] [--json]",
		Short: "Compare synchronisers: ours by each method, chronyd, ntpd, ptp4l",
		Long: `Ask hosts that run 'meridian clock serve', evaluate the same exchanges by each method, and ask the synchronisers of this host, where they run, what they
take for the offset of its system clock: chronyd (chronyc tracking), ntpd (ntpq), ptp4l (pmc). Print, as in tables 3, 4 and 7 of Tinetti et al.:

  round trips          minimum, maximum, mean of those up to twice the minimum
  synchronisers        offsets of the system clocks, and the median width of the bounds; chronyd's and ntpd's by their own account
  between all hosts    the least and the greatest offset between any two hosts, this one among them
  cost                 packets and bytes per second, headers included; processor time, of this command for all methods together

What keeps the system clocks is measured by ours, with bounds: the offsets are its error. With --same-clock, all hosts are on one machine (containers, network
namespaces): the true offset is 0, all offsets are errors, and "held" counts the bounds that hold it. chronyd -x and ptp4l with free_running say
there exactly how wrong they are.

brisk is the rounds of BRISK, every 5 s: by how much the clocks would be apart if it had advanced them.

Exit code: 0 done or interrupted, 1 failed, 2 wrong usage, 3 a host had no bound, or with --same-clock a bound of ours does not hold.`,
		Example: `  meridian clock compare db web
  meridian clock compare db --for 5m --rate 16 --also chronyd --json > comparison.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.askFlags.add(cmd)
	flags := cmd.Flags()
	flags.Lookup("for").Usage = "measure for `TIME`"
	f.timeFor = defaultComparison
	flags.Lookup("for").DefValue = defaultComparison.String()
	flags.DurationVar(&f.settle, "settle", 5*time.Second, "leave out the first `TIME`, in which synchronisers begin")
	flags.BoolVar(&f.sameClock, "same-clock", false, "all hosts read one clock: the true offset is 0")
	flags.StringSliceVar(&f.also, "also", nil, "ask these `DAEMONS` of this host too: "+strings.Join(peers, ", ")+" (default: all that answer)")
	flags.BoolVar(&f.json, "json", false, "print the comparison as JSON instead of tables")
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"also": choices(peers...)})
	return cmd
}

func (f *clockCompareFlags) run(cmd *cobra.Command, args []string) error {
	targets, err := clockTargets(cmd, args)
	if err != nil {
		return err
	}
	for _, name := range f.also {
		if !slices.ContainsFunc(synchroniser.Peers(), func(p synchroniser.Peer) bool { return p.Name == name }) {
			return wrong("--also: unknown daemon %q", name)
		}
	}
	if f.settle < 0 || f.settle >= f.timeFor {
		return wrong("--settle %v: want a time below --for %v", f.settle, f.timeFor)
	}
	methods := synchroniser.PairMethods()
	o := synchroniser.Options{Method: methods[0], Also: methods[1:]}
	if o.Probe, err = f.askFlags.options(); err != nil {
		return err
	}
	c := &comparing{flags: f, targets: targets, trips: make([][]int64, len(targets)), methods: methods}
	if c.brisk, err = synchroniser.NewBrisk(len(targets), briskThreshold); err != nil {
		return err
	}
	if err := c.findPeers(cmd.Context()); err != nil {
		return err
	}
	o.Each = func(host int, x probe.Sample) {
		if x.Late == (x.T2.Kind > probe.User) {
			c.trips[host] = append(c.trips[host], trip(x))
			c.brisk.Take(host, x)
		}
	}
	if err := f.ask(o, targets, "", nil, c.compare); err != nil {
		return err
	}
	f.printWarnings(cmd, f.warnings.Lines())
	result, broken := c.result()
	table := result.Table
	if f.json {
		table = result.Write
	}
	if err := table(cmd.OutOrStdout()); err != nil {
		return err
	}
	if len(broken) > 0 {
		return &brokenPromise{strings.Join(broken, "; ")}
	}
	return nil
}

// comparing is a comparison that is under way.
type comparing struct {
	flags   *clockCompareFlags
	targets []synchroniser.Target
	methods []string
	brisk   *synchroniser.Brisk
	peers   []*peerSaid
	trips   [][]int64 // of Run's goroutine until it has ended

	said      [][][]show.ClockReading // by method, brisk last, and host
	over      time.Duration
	stats     probe.Stats
	processor *time.Duration
}

// peerSaid is another synchroniser, and what it said.
type peerSaid struct {
	synchroniser.Peer
	said              []show.ClockReading
	packets           uint64
	counted, measured bool
	processor         time.Duration
	unanswered        int
}

// findPeers finds the synchronisers of this host that answer.
func (c *comparing) findPeers(ctx context.Context) error {
	for _, p := range synchroniser.Peers() {
		wanted := slices.Contains(c.flags.also, p.Name)
		if !wanted && (len(c.flags.also) > 0 || !p.Installed()) {
			continue
		}
		if _, err := p.Ask(ctx); err != nil {
			if wanted {
				return fmt.Errorf("--also %s: %w", p.Name, err)
			}
			c.flags.say(c.flags.cmd, "%s is left out: %v", p.Name, err)
			continue
		}
		c.peers = append(c.peers, &peerSaid{Peer: p})
	}
	return nil
}

// compare asks everybody until the context is done.
func (c *comparing) compare(ctx context.Context, s *synchroniser.Synchroniser) error {
	c.said = make([][][]show.ClockReading, len(c.methods)+1)
	for i := range c.said {
		c.said[i] = make([][]show.ClockReading, len(c.targets))
	}
	bar := newProgress(c.flags.cmd, c.flags.quiet)
	defer bar.stop()
	began := time.Now()
	settled, round := time.NewTimer(c.flags.settle), time.NewTicker(briskRound)
	tick, ask := time.NewTicker(compareEvery), time.NewTicker(askPeersEvery)
	defer settled.Stop()
	defer round.Stop()
	defer tick.Stop()
	defer ask.Stop()
	measuring := false
	var from time.Time
	var stats probe.Stats
	var used time.Duration
	for {
		select {
		case <-ctx.Done():
			if measuring {
				c.over = time.Since(from)
				c.stats = difference(s.Stats(), stats)
				if now, ok := processorTime(); ok {
					now -= used
					c.processor = &now
				}
				c.peerCosts(context.WithoutCancel(ctx), true)
			}
			return nil
		case <-settled.C:
			measuring, from, stats = true, time.Now(), s.Stats()
			used, _ = processorTime()
			c.peerCosts(ctx, false)
		case <-round.C:
			c.brisk.Round()
		case <-tick.C:
			bar.show("comparing", int64(time.Since(began)), int64(c.flags.timeFor))
			if measuring {
				c.take(s)
			}
		case <-ask.C:
			if measuring {
				c.askPeers(ctx)
			}
		}
	}
}

// take takes what each method says of each host.
func (c *comparing) take(s *synchroniser.Synchroniser) {
	for host := range c.targets {
		states := s.By(host)
		for i, x := range states {
			if x.Estimated && !x.Silent {
				c.said[i][host] = append(c.said[i][host], show.ClockReading(x.System))
			}
		}
		corrected, ok := c.brisk.Correction(host)
		if !ok || states[0].Exchanges == 0 || !c.flags.sameClock && !states[0].Estimated {
			continue
		}
		r := show.ClockReading{Offset: corrected}
		if !c.flags.sameClock {
			r.Offset += states[0].Free.Offset
		}
		c.said[len(c.methods)][host] = append(c.said[len(c.methods)][host], r)
	}
}

func (c *comparing) askPeers(ctx context.Context) {
	for _, p := range c.peers {
		said, err := p.Ask(ctx)
		if err != nil {
			p.unanswered++
			continue
		}
		r := show.ClockReading{Offset: said.Offset}
		if said.Bound >= 0 {
			r = show.ClockReading{Offset: said.Offset, Low: said.Offset - said.Bound, High: said.Offset + said.Bound, Bounded: true}
		}
		p.said = append(p.said, r)
	}
}

// peerCosts reads what the others have cost so far; at the end it takes off what they had cost at the start.
func (c *comparing) peerCosts(ctx context.Context, end bool) {
	for _, p := range c.peers {
		packets, counted := p.Packets(ctx)
		processor, measured := p.Processor()
		if end {
			packets, processor = packets-p.packets, processor-p.processor
			counted, measured = counted && p.counted, measured && p.measured
		}
		p.packets, p.counted, p.processor, p.measured = packets, counted, processor, measured
	}
}

// result returns the tables, and the promises that were not kept.
func (c *comparing) result() (r *show.Comparison, broken []string) {
	r = &show.Comparison{Seconds: c.over.Seconds(), SameClock: c.flags.sameClock}
	for i, t := range c.targets {
		r.RoundTrips = append(r.RoundTrips, show.NewDelays("round trip", t.Name, c.trips[i], nil))
	}
	for i, hosts := range c.said {
		name := "brisk"
		if i < len(c.methods) {
			name = c.methods[i]
		}
		for host, said := range hosts {
			s := show.NewSynchroniser(name, c.targets[host].Name, said, c.flags.sameClock)
			r.Synchronisers = append(r.Synchronisers, s)
			if i == 0 && s.Bounded == 0 {
				broken = append(broken, "no bound for "+s.Host)
			}
			if s.Held != nil && *s.Held < s.Bounded {
				broken = append(broken, fmt.Sprintf("%d of %d bounds of %s by %s do not hold the offset of one clock to itself", s.Bounded-*s.Held, s.Bounded, s.Host, name))
			}
		}
		if b := show.NewBetween(name, hosts); b != nil {
			r.Between = append(r.Between, b)
		}
	}
	for _, p := range c.peers {
		r.Synchronisers = append(r.Synchronisers, show.NewSynchroniser(p.Name, "its source", p.said, c.flags.sameClock))
	}
	r.Costs = c.costs()
	return r, broken
}

func (c *comparing) costs() (all []*show.ClockCost) {
	seconds := c.over.Seconds()
	if seconds <= 0 {
		return nil
	}
	rate := func(n float64) *float64 { n /= seconds; return &n }
	packets := float64(c.stats.Sent + c.stats.Received)
	ours := &show.ClockCost{Name: "ours, all methods", Packets: rate(packets), Bytes: rate(packets * (probe.Size + headers))}
	if c.processor != nil {
		ours.Processor = rate(c.processor.Seconds())
	}
	all = append(all, ours)
	for _, p := range c.peers {
		x := &show.ClockCost{Name: p.Name}
		if p.counted {
			x.Packets, x.Bytes = rate(float64(p.packets)), rate(float64(p.packets)*(ntpSize+headers))
		}
		if p.measured {
			x.Processor = rate(p.processor.Seconds())
		}
		all = append(all, x)
	}
	return all
}

// ntpSize is the length of a packet of NTP without a code of authentication.
const ntpSize = 48

func difference(now, before probe.Stats) probe.Stats {
	now.Sent, now.Received = now.Sent-before.Sent, now.Received-before.Received
	return now
}
