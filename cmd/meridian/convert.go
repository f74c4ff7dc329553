package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"meridian/align"
	"meridian/internal/filter"
	"meridian/internal/pipeline"
	"meridian/internal/show"
)

// convertFlags is what the command line says.
type convertFlags struct {
	methodFlags
	outputFlags
	filterFlags
	logicalFlag
	dataset string
	picl    string
}

// filterFlags is which events are selected.
type filterFlags struct {
	from, to           string
	fromEvent, toEvent string
	hosts, streams     []string
	events, fields     []string
	where, pairs       []string
}

const (
	piclUTC   = "utc"
	piclStart = "start"
)

func newConvert() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert [HOST=]TRACE... -o FILE...",
		Short: "Change the format of traces, crop, filter and merge them, measure pairs of events",
		Long: `Write the events of one or several traces, or a selection of them, in other formats.

Traces of several hosts are put on one time base as 'meridian align' does it, with the same flags; with
--method ` + pipeline.AsRecorded + ` stamps stay as they were recorded.

Outputs, by the ending of their names:
  ` + strings.Join(pipeline.Endings(), "\n  ") + `

Perfetto, Chrome, PICL, gnuplot and pictures show rows: threads, system calls, interrupts, spans. CTF, CSV and Parquet
hold the events as they were recorded, at corrected times with bounds.

--host, --stream, --event and --field take patterns such as 'net_*'; with ! before it a pattern leaves out. --where
compares a field: 'pid=1234', 'length>=1500', 'comm~^nginx'; all must hold. Ends of messages (send, receive) and bounds
(clock bound) are events like others. --from and --to take +DURATION from the first event, -DURATION before the last, an
RFC 3339 time, or @SECONDS since 1970.

--pair NAME=BEGIN..END[,key=FIELD][,min=TIME][,max=TIME] measures how far apart two events are, over hosts too, and
says which pairs are beyond a threshold, lack an end or come in the wrong order. key=FIELD/FIELD names a field that is
called otherwise at the end than at the begin.

--logical gives every event its logical time: lamport a number (field lamport_time), vector and tree the events of every
host that happened before or are it (field vector_time, as 'web:12 db:3', its own host first).

A data set is a conversion kept in a YAML file, --dataset FILE:NAME; what flags say goes before it:
  datasets:
    checkout:
      inputs: [web=web-trace, db=db.pcap]
      outputs: [checkout.pftrace]
      from: +10s
      to: +20s
      events: ["!sched_*"]
      pairs:
        - {name: handling, begin: request_start, end: request_end, key: [id], max: 5ms}

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host was left unaligned or unbounded, an inversion
remains, the traces have gaps (damaged or cut short), or the traces have no host, row, event, field or time as asked for; the reason is on stderr.`,
		Example: `  meridian convert web=lttng-web/ db=lttng-db/ -o timeline.pftrace
  meridian convert lttng-traces/auto-20261104/ --event 'net_*' --event 'sched_*' -o net.csv
  meridian convert trace/ --from +1.5s --to +2s -o part.ctf
  meridian convert trace/ --from-event app:start --to-event app:stop -o run.parquet
  meridian convert spans.json --method none -o chrome.json
  meridian convert trace/ --pair 'irq=irq_handler_entry..irq_handler_exit,key=irq,max=50us'
  meridian convert trace/ --pair 'wakeup=sched_wakeup..sched_switch,key=tid/next_tid,max=1ms'
  meridian convert --dataset traces.yaml:checkout`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	f.addFiles(cmd)
	f.addRedact(cmd)
	f.filterFlags.add(cmd)
	flags.StringArrayVar(&f.pairs, "pair", nil, "measure the time between events, `NAME=BEGIN..END[,...]`")
	flags.StringVar(&f.dataset, "dataset", "", "take what no flag sets from the data set `FILE:NAME`")
	flags.StringVar(&f.picl, "picl-time", piclUTC, "`ORIGIN` of times in PICL: "+piclUTC+" or "+piclStart)
	f.logicalFlag.add(cmd)
	f.methodFlags.add(cmd, append(align.Methods(), pipeline.AsRecorded))
	f.outputFlags.add(cmd, "result")
	completions(cmd, map[string]cobra.CompletionFunc{
		"pair": choices(), "picl-time": choices(piclUTC, piclStart),
	})
	return cmd
}

func (f *convertFlags) run(cmd *cobra.Command, args []string) error {
	wanted, err := f.filterFlags.selection()
	if err != nil {
		return err
	}
	if f.dataset != "" {
		if args, err = f.addDataset(args, &wanted); err != nil {
			return err
		}
	}
	if err := needTraces(cmd, args); err != nil {
		return err
	}
	switch {
	case len(f.outputs) == 0 && len(wanted.Pairs) == 0:
		return wrong("convert: nothing to write; name a file with -o FILE or measure a --pair")
	case !slices.Contains([]string{piclUTC, piclStart}, f.picl):
		return wrong("--picl-time: unknown origin %q (%s, %s)", f.picl, piclUTC, piclStart)
	}
	o, err := f.options(false)
	if err != nil {
		return err
	}
	o.Logical = f.logical
	o.Select, o.PICLFromStart = wanted, f.picl == piclStart
	outcome, err := f.pipeline(cmd, args, o)
	if err != nil {
		return err
	}
	c := outcome.Played
	if c == nil { // packets and pages alone
		c = &show.Conversion{}
	}
	c.Packets = outcome.Packets
	return f.print(cmd, outcome.Warnings, outcome.Broken, c.Table, c.Write)
}

// add gives a command the flags that choose events.
func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "leave out what is before `INSTANT`, such as +1.5s")
	flags.StringVar(&f.to, "to", "", "leave out what is after `INSTANT`")
	flags.StringVar(&f.fromEvent, "from-event", "", "leave out what is before the first event `NAME`")
	flags.StringVar(&f.toEvent, "to-event", "", "leave out what is after the next event `NAME`")
	completions(cmd, map[string]cobra.CompletionFunc{"from": choices(), "to": choices(), "from-event": choices(), "to-event": choices()})
	f.addEvents(cmd)
}

// addEvents gives a command the flags that choose events by what they are.
func (f *filterFlags) addEvents(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.hosts, "host", nil, "only hosts that match `PATTERN`; may be repeated, like the next four")
	flags.StringArrayVar(&f.streams, "stream", nil, "only rows that match `PATTERN`")
	flags.StringArrayVar(&f.events, "event", nil, "only events that match `PATTERN` of NAME or CATEGORY:NAME")
	flags.StringArrayVar(&f.where, "where", nil, "only events with a field that meets `CONDITION`")
	flags.StringArrayVar(&f.fields, "field", nil, "only fields that match `PATTERN`")
	completions(cmd, map[string]cobra.CompletionFunc{"host": choices(), "stream": choices(), "event": choices(), "where": choices(), "field": choices()})
}

// selection returns which events the flags select.
func (f *filterFlags) selection() (pipeline.Selection, error) {
	w := pipeline.Selection{FromTime: f.from, ToTime: f.to}
	w.From.Event, w.To.Event = f.fromEvent, f.toEvent
	w.Hosts, w.Streams, w.Events, w.Fields = f.hosts, f.streams, f.events, f.fields
	for _, s := range f.where {
		c, err := filter.ParseCondition(s)
		if err != nil {
			return w, wrong("--where: %v", err)
		}
		w.Where = append(w.Where, c)
	}
	for _, s := range f.pairs {
		p, err := filter.ParsePair(s)
		if err != nil {
			return w, wrong("--pair: %v", err)
		}
		w.Pairs = append(w.Pairs, p)
	}
	return w, nil
}

// addDataset fills in from the data set what no flag says.
func (f *convertFlags) addDataset(args []string, w *pipeline.Selection) ([]string, error) {
	d, err := pipeline.ReadDataset(f.dataset)
	if err != nil {
		return nil, err
	}
	other, err := d.Selection()
	if err != nil {
		return nil, err
	}
	fill := func(flag string, to *string, from string) {
		if !f.flags.Changed(flag) && from != "" {
			*to = from
		}
	}
	fill("from", &w.FromTime, other.FromTime)
	fill("to", &w.ToTime, other.ToTime)
	fill("from-event", &w.From.Event, other.From.Event)
	fill("to-event", &w.To.Event, other.To.Event)
	fill("method", &f.method, d.Method)
	fill("reference", &f.reference, d.Reference)
	fillList(&w.Hosts, other.Hosts)
	fillList(&w.Streams, other.Streams)
	fillList(&w.Events, other.Events)
	fillList(&w.Where, other.Where)
	fillList(&w.Fields, other.Fields)
	fillList(&w.Pairs, other.Pairs)
	fillList(&f.outputs, d.Outputs)
	fillList(&args, d.Inputs)
	return args, nil
}

// fillList sets a list that is empty.
func fillList[T any](to *[]T, from []T) {
	if len(*to) == 0 {
		*to = from
	}
}
