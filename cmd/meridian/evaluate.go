package main

import (
	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/evaluate"
)

// evaluateFlags is what the command line says.
type evaluateFlags struct {
	methodFlags
	outputFlags
	compare bool
	truth   string
	plots   string
}

func newEvaluate() *cobra.Command {
	var f evaluateFlags
	cmd := &cobra.Command{
		Use:   "evaluate [HOST=]TRACE... [--truth FILE] [--compare] [--plots DIR]",
		Short: "Measure how well traces are synchronised",
		Long: `Align traces as 'meridian align' does and measure the result, or measure the stamps as they were recorded
(--method ` + pipeline.AsRecorded + `):

  inversions      messages received before they were sent; beyond granularity: by more than the step of the stamps explains
  too fast        messages quicker than the least delay: the truth's, or half of the quickest round trip
  bound           the largest possible error at the best and the worst end of a message, and on average
  broadcasts      time between the receptions of one broadcast, which alignment does not use

With the truth of a simulation also the error (root mean square and maximum), how often the bounds contain the
truth, and how wide they are in units of the true least round trip. Errors are also given less half the asymmetry
of the least delays, which no method can see; where only two hosts have a truth, less the mean error instead (*).

--compare runs every method on the same messages, each with the flags that are for it, and prints a row for each.
--plots draws the corridor between the messages of each pair, each clock's wander with its bounds, and the
broadcasts, as SVG and as one page.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host was left unaligned or unbounded, an inversion
remains, the traces have gaps (damaged or cut short), or the truth lies outside of the bounds; the reason is on stderr.`,
		Example: `  meridian evaluate client.pcap server.pcap
  meridian evaluate web=a.pcap db=b.pcap --method none
  meridian evaluate messages.txt --truth truth.json --compare
  meridian evaluate client.pcap server.pcap --plots plots --json > evaluation.json`,
		Args: needTraces,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.compare, "compare", false, "measure all methods on the same messages")
	flags.StringVar(&f.truth, "truth", "", "`FILE` with the truth of a simulation")
	flags.StringVar(&f.plots, "plots", "", "draw pictures into `DIR`, made if missing")
	f.methodFlags.add(cmd, evaluate.Methods())
	f.outputFlags.add(cmd, "evaluation")
	completions(cmd, map[string]cobra.CompletionFunc{
		"truth": cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
		"plots": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	})
	return cmd
}

func (f *evaluateFlags) run(cmd *cobra.Command, args []string) error {
	if f.compare && cmd.Flags().Changed("method") {
		return wrong("--compare runs all methods; leave out --method")
	}
	options, err := f.options(f.compare)
	if err != nil {
		return err
	}
	o := evaluate.Options{Match: options.Match, Align: options.Align, Compare: f.compare, Truth: f.truth, Plots: f.plots}
	var evaluation *evaluate.Evaluation
	err = withTraces(cmd, args, &f.traceFlags, f.quiet, func(r *tracesRun) (err error) {
		o.Progress = r.progress
		r.limit(&o.Match)
		evaluation, err = evaluate.Run(r.ctx, r.traces, o)
		return err
	})
	if err != nil {
		return err
	}
	if f.plots != "" {
		f.printWritten(cmd, pipeline.Written{Path: f.plots, What: "pictures as SVG and as one page"})
	}
	return f.print(cmd, evaluation.Warnings, evaluation.Broken, evaluation.Table, evaluation.Write)
}
