package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/probe"
	"meridian/trace"
)

// clockServeFlags is what the command line says.
type clockServeFlags struct {
	keyFlag
	quietFlag
	listen, dir, metrics, windows string
	warnings                      trace.Warnings
}

func newClockServe() *cobra.Command {
	var f clockServeFlags
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDRESS] [--key FILE] [-o DIR]",
		Short: "Answer hosts that ask for the time",
		Long: `Answer the questions of 'meridian clock watch' and its like, until it is interrupted. Only those who have the key get an answer, never a longer one
than their question. The default address is of this machine alone: give --listen to answer other hosts.

-o writes a trace of the probes as they come. Traces of several hosts are aligned by it ('meridian align A B', 'meridian view --follow A B'), even if
the hosts have no other traffic.

The signal USR1 begins a quiet window, in which nothing is answered; USR2 ends it.

Exit code: 0 interrupted, 1 failed, 2 wrong usage.`,
		Example: `  meridian clock serve
  meridian clock serve --listen :4123
  meridian clock serve --listen 10.0.0.2:4123 -o db-probes/ --metrics 127.0.0.1:9123`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", fmt.Sprintf("127.0.0.1:%d", clockPort), "answer at `ADDRESS`; :PORT for all addresses of this host, port 0 for a free one")
	f.keyFlag.add(cmd)
	flags.StringVarP(&f.dir, "output", "o", "", "write the probes into a trace directory `DIR`, as 'meridian record' writes events")
	flags.StringVar(&f.windows, "quiet-windows", "", "answer nothing within these `TIMES` of each day, such as 14:00-14:10,23:59:30-00:05")
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as 127.0.0.1:9123")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *clockServeFlags) run(cmd *cobra.Command) error {
	address, err := withClockPort(f.listen)
	if err != nil {
		return wrong("--listen: %v", err)
	}
	var o probe.Options
	if f.windows != "" {
		if o.Windows, err = probe.ParseDaily(f.windows); err != nil {
			return wrong("--quiet-windows: %v", err)
		}
	}
	if o.Key, err = f.keyFlag.read(); err != nil {
		return err
	}
	err = recordProbes(cmd.Context(), f.dir, &f.warnings, func(ctx context.Context, record func(probe.Event)) error {
		o.Record = record
		s, err := probe.Listen(ctx, address, o)
		if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "listen" {
			return fmt.Errorf("cannot listen on %s: %w; choose another with --listen", address, failed.Err)
		} else if err != nil {
			return err
		}
		ctx, end := context.WithCancel(ctx)
		defer end()
		all, ctx := errgroup.WithContext(ctx)
		if err := f.serveMetrics(ctx, cmd, all, f.metrics, s.Stats, nil); err != nil {
			_ = s.Close()
			return err
		}
		all.Go(quietBySignal(ctx, s.Quiet))
		f.say(cmd, "answering at %v", s.Addr())
		all.Go(func() error {
			defer end()
			return s.Serve(ctx)
		})
		err = all.Wait()
		f.say(cmd, "%s", exchanged(s.Stats(), "answered"))
		return err
	})
	f.printWarnings(cmd, f.warnings.Lines())
	return err
}

// exchanged sums up what went over the wire: exchanges that were answered or asked, and datagrams that were dropped.
func exchanged(s probe.Stats, done string) string {
	parts := []string{fmt.Sprintf("%d exchanges %s", s.Exchanges, done)}
	if s.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%d lost", s.Lost))
	}
	for _, c := range probe.Causes() {
		if n := s.Dropped[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d dropped (%s)", n, strings.ReplaceAll(c.String(), "_", " ")))
		}
	}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d not sent", s.Failed))
	}
	return strings.Join(parts, ", ")
}
