package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/sampled"
	"meridian/internal/live"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/usage"
)

// methodFlags is how to align: the flags of every command that aligns.
type methodFlags struct {
	method, network, reference string
	confidence                 int
	segment                    time.Duration
	wander                     float64
	epsilon                    time.Duration
	maxSkew                    float64
	noAdapt                    bool
	tolerate                   string
	minDelay                   string
	samples, samplesUse        string
	repair                     string
	addresses                  []string
	granularity                []string
	hostAttributes             []string
	replies                    string

	flags   *pflag.FlagSet
	methods []string
}

const (
	measured       = "measured" // of --min-delay
	methodFiltered = "regression-filtered"
	methodHull     = "hull"
	methodSampled  = "sampled"
)

// add gives a command the flags; methods are the names that --method takes there.
func (f *methodFlags) add(cmd *cobra.Command, methods []string) {
	f.flags, f.methods = cmd.Flags(), methods
	f.addLiveFlags(cmd)
	f.flags.StringVar(&f.method, "method", methods[0], "estimation `METHOD`: "+strings.Join(methods, ", "))
	f.flags.StringVar(&f.network, "network", "", "`STRATEGY` that joins pairs of clocks to one time base (default: the method's own): "+strings.Join(align.Networks(), ", "))
	f.flags.StringVar(&f.minDelay, "min-delay", "", "least delay of a message, `TIME`, or "+measured+": half of each pair's quickest exchange")
	f.flags.DurationVar(&f.segment, "segment", 0, "estimate long traces in segments of `TIME`, such as 30m")
	f.flags.IntVar(&f.confidence, "confidence", 90, "keep exchanges within a confidence of `PERCENT`: 90, 95, 99 or 100 ("+methodFiltered+")")
	f.flags.StringVar(&f.samples, "samples", "", "`[NAME=]FILE` with lines HOST HOST_TIME REFERENCE_TIME ERROR, taken against the clock NAME ("+methodSampled+")")
	f.flags.StringVar(&f.samplesUse, "samples-use", sampled.Modes[0], "`MODE` of using samples: "+strings.Join(sampled.Modes, ", "))
	f.flags.StringVar(&f.repair, "repair", "", "move messages that still arrive before they were sent, by `METHOD`: "+strings.Join(pipeline.Repairs(), ", "))
	f.flags.StringArrayVar(&f.hostAttributes, "host-attribute", nil, "`KEY` of the attribute that names the host of spans, such as k8s.pod.name (default: the first of host.name, "+
		"k8s.pod.name, host.id, service.instance.id, service.name); may be repeated, the best first")
	f.flags.StringVar(&f.replies, "replies", pipeline.RepliesTested, "what a reply in spans proves, `WHAT`: "+pipeline.RepliesEnd+", that the server ended before its client did, "+
		pipeline.RepliesBegin+", that it had begun, or "+pipeline.RepliesTested+", the former where the delays of replies show it")
	completions(cmd, map[string]cobra.CompletionFunc{
		"replies":        choices(pipeline.ReplyPremises()...),
		"host-attribute": choices("host.name", "host.id", "k8s.node.name", "k8s.pod.name", "container.id", "service.instance.id", "process.pid", "service.name"),
		"method":         choices(methods...), "network": choices(align.Networks()...), "min-delay": choices(measured), "segment": choices(),
		"confidence": choices("90", "95", "99", "100"), "samples-use": choices(sampled.Modes...), "repair": choices(pipeline.Repairs()...),
	})
}

// addLive gives a command that follows growing traces the flags that hold there.
func (f *methodFlags) addLive(cmd *cobra.Command) {
	f.flags, f.methods = cmd.Flags(), align.Methods()[:1]
	f.method, f.samplesUse = f.methods[0], sampled.Modes[0]
	f.addLiveFlags(cmd)
}

func (f *methodFlags) addLiveFlags(cmd *cobra.Command) {
	f.flags.StringVar(&f.reference, "reference", "", "`HOST` whose clock the timeline follows (default: the one nearest to all)")
	f.flags.Float64Var(&f.wander, "wander", bound.Default.Wander, "bounds assume that the skew of two clocks changes by at most `PPB` per second, or more where messages show it")
	f.flags.DurationVar(&f.epsilon, "epsilon", time.Duration(bound.Default.Epsilon), "bounds assume that the offset of two clocks jitters by at most `TIME`")
	f.flags.Float64Var(&f.maxSkew, "max-skew", bound.Default.MaxSkew, "bounds assume that the skew of two clocks is at most `PPM`, 0 for any, or more where messages show it")
	f.flags.StringVar(&f.tolerate, "tolerate", "", "bounds hold if up to `N` of any 2,048 consecutive messages in one direction are false, or a share such as 0.1%; 0 trusts all messages (default 2; 1 for fewer than 500 messages, 0 for fewer than 12)")
	f.flags.BoolVar(&f.noAdapt, "no-adapt", false, "bounds rest on --wander, --epsilon and --max-skew alone; where messages contradict them there are none")
	f.flags.StringArrayVar(&f.addresses, "address", nil, "addresses of a host, `HOST=IP[,IP...]`, where the captures do not tell; may be repeated")
	f.flags.StringArrayVar(&f.granularity, "granularity", nil, "step of the stamps of a host, or of all, `[HOST=]TIME`, such as web=10ms, where the stamps do not tell; may be repeated")
	completions(cmd, map[string]cobra.CompletionFunc{
		"reference": choices(), "wander": choices(), "epsilon": choices(), "max-skew": choices(), "tolerate": choices(), "address": choices(), "granularity": choices(),
	})
}

// alignLive puts what the flags say into the options of a live timeline, whose inputs are known.
func (f *methodFlags) alignLive(o *live.Options) (pipeline.Options, error) {
	all, err := f.options(false)
	if err != nil {
		return all, err
	}
	o.Align.Align, o.Granularity, o.Addresses = all.Align.Options, all.Match.Granularity, all.Match.Addresses
	derived := slices.ContainsFunc(o.Inputs, func(in live.Input) bool { return in.Derived })
	unknown := func(host string) bool { // traces may name their hosts, if the user does not
		return host != "" && !derived && !slices.ContainsFunc(o.Inputs, func(in live.Input) bool { return in.Host == host })
	}
	if unknown(f.reference) {
		return all, wrong("--reference: no input is of a host %q", f.reference)
	}
	for host := range o.Granularity {
		if unknown(host) {
			return all, wrong("--granularity: no input is of a host %q", host)
		}
	}
	for host := range o.Addresses {
		if unknown(host) {
			return all, wrong("--address: no input is of a host %q", host)
		}
	}
	return all, nil
}

// choices completes to fixed words, and to no file.
func choices(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completions tells shells what may follow flags; files are what they offer anyway.
func completions(cmd *cobra.Command, of map[string]cobra.CompletionFunc) {
	for name, complete := range of {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // the name is not a flag's: a mistake in this program
		}
	}
}

// options returns what the flags ask for, or which of them do not go together. With all, every method runs, each with the
// flags that are for it.
func (f *methodFlags) options(all bool) (o pipeline.Options, err error) {
	if !slices.Contains(f.methods, f.method) {
		return o, wrong("unknown method %q (%s)", f.method, strings.Join(f.methods, ", "))
	}
	if !all {
		if err := f.checkMethod(); err != nil {
			return o, err
		}
	}
	o.Align.Options = align.Options{Method: f.method, Network: f.network, Reference: f.reference, Confidence: f.confidence, Segment: f.segment}
	o.Align.Repair, o.Align.Replies = f.repair, f.replies
	o.Align.NoAdapt = f.noAdapt
	if f.flags.Changed("wander") || f.flags.Changed("epsilon") || f.flags.Changed("max-skew") {
		o.Align.Assumption = &bound.Assumption{Wander: f.wander, Epsilon: float64(f.epsilon.Nanoseconds()), MaxSkew: f.maxSkew}
		if err := o.Align.Assumption.Check(); err != nil {
			return o, wrong("--wander %g --epsilon %v --max-skew %g: all must be finite and not negative", f.wander, f.epsilon, f.maxSkew)
		}
	}
	o.Align.Tolerance, err = f.parseTolerance()
	if err != nil {
		return o, err
	}
	if f.flags.Changed("segment") && f.segment <= 0 {
		return o, wrong("--segment %v: want a time above 0, such as 30m", f.segment)
	}
	if o.Align.MinDelay, o.Align.MeasureDelay, err = f.parseMinDelay(); err != nil {
		return o, err
	}
	mode := slices.Index(sampled.Modes, f.samplesUse)
	switch {
	case mode < 0:
		return o, wrong("--samples-use: unknown mode %q (%s)", f.samplesUse, strings.Join(sampled.Modes, ", "))
	case f.samples == "" && f.flags.Changed("samples-use"):
		return o, wrong("--samples-use says which samples count; give them with --samples FILE")
	case f.samples == "" && f.flags.Changed("samples"):
		return o, wrong("--samples: no file given")
	}
	o.Align.Samples = sampled.Mode(mode)
	if o.Match.Samples, err = parseSamples(f.samples); err != nil {
		return o, err
	}
	if o.Match.Granularity, err = parseGranularity(f.granularity); err != nil {
		return o, err
	}
	if slices.Contains(f.hostAttributes, "") {
		return o, wrong("--host-attribute: no attribute is named")
	}
	o.Match.HostAttributes = f.hostAttributes
	o.Match.Addresses, err = parseAddresses(f.addresses)
	return o, err
}

// checkMethod refuses flags that the method would ignore.
func (f *methodFlags) checkMethod() error {
	if f.flags.Changed("confidence") && f.method != methodFiltered {
		return wrong("--confidence belongs to --method %s", methodFiltered)
	}
	if f.flags.Changed("samples") && f.method != methodSampled {
		return wrong("--samples belong to --method %s, not to %s, which aligns by messages", methodSampled, f.method)
	}
	if f.method == methodSampled && f.samples == "" {
		return wrong("--method %s needs samples of a reference; give them with --samples FILE", methodSampled)
	}
	if f.method == methodSampled {
		if samples, err := parseSamples(f.samples); err == nil && f.reference != "" && f.reference != samples.Name() {
			return wrong("--method %s follows the clock that its samples were taken against, here %s; leave out --reference", methodSampled, samples.Name())
		}
	}
	whole := slices.Contains([]string{methodSampled, "broadcast", pipeline.AsRecorded}, f.method)
	for _, name := range []string{"network", "segment", "min-delay", "wander", "epsilon", "max-skew", "no-adapt"} {
		if !f.flags.Changed(name) {
			continue
		}
		if name == "min-delay" && f.repair != "" && f.minDelay != measured {
			continue // the repair uses it
		}
		if whole {
			return wrong("--%s is for methods that align pairs by their messages; leave it out with --method %s", name, f.method)
		}
		if f.method == methodHull && slices.Contains([]string{"wander", "epsilon", "max-skew", "no-adapt"}, name) {
			return wrong("--%s: the method %s takes clocks for linear; leave it out, or take --method %s", name, methodHull, f.methods[0])
		}
	}
	return nil
}

func (f *methodFlags) parseMinDelay() (ns int64, measure bool, err error) {
	switch {
	case f.minDelay == measured:
		return 0, true, nil
	case !f.flags.Changed("min-delay"):
		return 0, false, nil
	}
	d, err := time.ParseDuration(f.minDelay)
	if err != nil || d < 0 {
		return 0, false, wrong("--min-delay %s: want a time such as 20us, or %s", f.minDelay, measured)
	}
	return d.Nanoseconds(), false, nil
}

// parseTolerance reads how many messages may be false: a number, a share, or a share in per cent; nil for the default.
func (f *methodFlags) parseTolerance() (*bound.Tolerance, error) {
	if !f.flags.Changed("tolerate") {
		return nil, nil
	}
	refused := wrong("--tolerate %s: want a number of messages from 0 to %d, or a share below a half such as 0.1%% or 0.001", f.tolerate, bound.BlockSize/2)
	if n, err := strconv.Atoi(f.tolerate); err == nil {
		if n < 0 || n > bound.BlockSize/2 {
			return nil, refused
		}
		return &bound.Tolerance{Count: n}, nil
	}
	number, percent := strings.CutSuffix(f.tolerate, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if t := (&bound.Tolerance{Share: share}); err == nil && t.Check() == nil {
		return t, nil
	}
	return nil, refused
}

// parseGranularity reads [HOST=]TIME; that of no host is for all that are not named.
func parseGranularity(args []string) (map[string]int64, error) {
	all := make(map[string]int64)
	for _, arg := range args {
		host, text := "", arg
		if i := strings.LastIndex(arg, "="); i >= 0 {
			host, text = arg[:i], arg[i+1:]
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 1 || d > time.Hour || len(text) < len(arg) && host == "" {
			return nil, wrong("--granularity %s: want [HOST=]TIME from 1ns to 1h, such as web=10ms", arg)
		}
		if _, stated := all[host]; stated {
			return nil, wrong("--granularity %s: there is another one for the same hosts; leave out one of the two", arg)
		}
		all[host] = d.Nanoseconds()
	}
	return all, nil
}

// parseSamples reads [NAME=]FILE; a file may have a = in its name.
func parseSamples(arg string) (pipeline.Samples, error) {
	name, file, named := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); err == nil || !named {
		return pipeline.Samples{File: arg}, nil
	}
	if name == "" || file == "" {
		return pipeline.Samples{}, wrong("--samples %s: want [NAME=]FILE, such as ntp=samples.txt", arg)
	}
	return pipeline.Samples{File: file, Reference: name}, nil
}

func wrong(format string, args ...any) error {
	return usage.Errorf(format, args...)
}
