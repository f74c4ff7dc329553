package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"meridian/align"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// alignFlags is what the command line says.
type alignFlags struct {
	methodFlags
	outputFlags
	logicalFlag
	atAgents
}

func newAlign() *cobra.Command {
	var f alignFlags
	cmd := &cobra.Command{
		Use:   "align [HOST=]TRACE... [-o FILE]...",
		Short: "Put recorded traces on one time base",
		Long: `Put traces recorded on several hosts on one time base, with a bound on the error.

A TRACE is a capture (pcap or pcapng), a CTF directory of LTTng or another tracer, spans
(OpenTelemetry's OTLP, Jaeger's JSON), a Chrome trace, a Go execution trace, a list of messages as text, or a
directory of those, plain or compressed with gzip or zstd; the format is found from the content. HOST names the host
that recorded it (default: the name in the spans, or the file's base name). Several traces of one HOST share its
clock. - is standard input; it and other pipes are copied to a temporary file first. s3://BUCKET/PREFIX names what lies in an object store; docs/formats.md says how it is found.

agent:HOST:/PATH is a capture, or a directory of them, that stays at the agent of HOST ('meridian agent --allow-captures DIR'): the agent sends of each
packet what alignment needs, a few bytes. Clocks and bounds are those of the files themselves. Only a report can be written then. A host whose agent is
gone is left out.

A list of messages has lines FROM TO SENT RECEIVED with decimal seconds of each host's own clock, and, where
needed, @collective NAME HOST ENTERED LEFT for operations that no member leaves before all have entered, and
@broadcast NAME HOST RECEIVED for broadcasts that several hosts received at once.

Offsets and skews have one sign: a host's clock minus the timeline, its rate over the timeline's minus 1. + is a clock
that is ahead, and one that gains. Those of a pair are clock b's against clock a's.

Outputs, by the ending of their names:
  ` + strings.Join(pipeline.Endings(), "\n  ") + `

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host was left unaligned or unbounded, an inversion
remains, or the traces have gaps (damaged or cut short); the reason is on stderr.`,
		Example: `  meridian align client.pcap server.pcapng -o merged.pcapng -o timeline.html
  meridian align web=a.pcap.gz web=b.pcap db=dump/ --reference db -o report.json
  meridian align a.pcap b.pcap -o corrected/
  ssh db tcpdump -w - | meridian align web=web.pcap db=- -o merged.pcapng
  meridian align a.pcap b.pcap --address a=10.0.0.1 --address b=10.0.0.2
  meridian align agent:web:/var/captures/web.pcap agent:db:/var/captures/db.pcap --key operator.key -o report.json
  meridian align web=lttng-web/ db=lttng-db/ -o timeline.pftrace
  meridian align s3://traces/nightly/web s3://traces/nightly/db -o timeline.html
  meridian align spans.json -o corrected.chrome.json -o report.json
  meridian align web.pcap db.pcap --logical vector -o events.csv
  meridian align messages.txt --wander 5 --min-delay 20us --repair clc
  meridian align messages.txt --method regression-filtered --confidence 95
  meridian align messages.txt --method sampled --samples ntp=samples.txt --reference ntp`,
		Args: needTraces,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.addFiles(cmd)
	f.addRedact(cmd)
	f.methodFlags.add(cmd, align.Methods())
	f.logicalFlag.add(cmd)
	f.outputFlags.add(cmd, "report")
	f.atAgents.add(cmd)
	return cmd
}

func (f *alignFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options(false)
	if err != nil {
		return err
	}
	if o.Logical = f.logical; f.logical != "" && len(f.outputs) == 0 {
		return wrong("--logical annotates the events of outputs; name one with -o FILE")
	}
	defer f.atAgents.close()
	f.away = func(ctx context.Context, arg string) ([]input.Trace, error) { return f.atAgents.traces(ctx, cmd, arg) }
	outcome, err := f.pipeline(cmd, args, o)
	if err != nil {
		return err
	}
	r := outcome.Report
	warnings := r.Warnings
	if len(r.Hosts) == 1 {
		warnings = append([]string{fmt.Sprintf("all inputs are of one host, %s: there is nothing to align; name hosts with HOST=FILE", r.Hosts[0].Name)}, warnings...)
	}
	return f.print(cmd, warnings, outcome.Broken, r.Table, r.Write)
}

// parseAddresses reads HOST=IP[,IP...].
func parseAddresses(args []string) (map[string][]netip.Addr, error) {
	addresses := make(map[string][]netip.Addr)
	owner := make(map[netip.Addr]string)
	for _, arg := range args {
		host, list, ok := strings.Cut(arg, "=")
		if !ok || host == "" {
			return nil, wrong("--address %s: want HOST=IP, such as web=10.0.0.1", arg)
		}
		for text := range strings.SplitSeq(list, ",") {
			addr, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				return nil, wrong("--address %s: invalid IP address %q", arg, text)
			}
			addr = addr.Unmap().WithZone("")
			if other, taken := owner[addr]; taken && other != host {
				return nil, wrong("--address: %s is given to both %s and %s", addr, other, host)
			}
			owner[addr] = host
			addresses[host] = append(addresses[host], addr)
		}
	}
	return addresses, nil
}
