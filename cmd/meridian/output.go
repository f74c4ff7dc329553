package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
)

// quietFlag silences what a command prints beside its result.
type quietFlag struct{ quiet bool }

func (f *quietFlag) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "only failures on stderr: no progress, no warnings, no names of what was written")
}

// printWarnings prints warnings unless the command is quiet.
func (f *quietFlag) printWarnings(cmd *cobra.Command, warnings []string) {
	if f.quiet {
		return
	}
	for _, line := range warnings {
		tell(cmd.ErrOrStderr(), "warning: ", line)
	}
}

// printWritten says which files were written, and what each holds, unless the command is quiet: the name alone decides the
// format, and the line shows what was decided.
func (f *quietFlag) printWritten(cmd *cobra.Command, written ...pipeline.Written) {
	if f.quiet {
		return
	}
	for _, w := range written {
		tell(cmd.ErrOrStderr(), "wrote ", w)
	}
}

// outputFlags is how a command gives its result: files, and what it prints.
type outputFlags struct {
	quietFlag
	traceFlags
	json    bool
	redact  bool
	outputs []string
}

// addFiles gives a command the flag for files.
func (f *outputFlags) addFiles(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringArrayVarP(&f.outputs, "output", "o", nil, "write `FILE`; may be repeated")
}

// addRedact gives a command the flag for files that are shared.
func (f *outputFlags) addRedact(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.redact, "redact", false, "in what is written, other addresses in place of all, and neither payload nor texts")
}

// add gives a command the flags for what is printed: a result of the given name.
func (f *outputFlags) add(cmd *cobra.Command, result string) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print the "+result+" as JSON instead of the table")
	f.traceFlags.add(cmd)
	f.quietFlag.add(cmd)
}

// pipeline runs the pipeline on the traces that arguments name, writes the files, and names them.
func (f *outputFlags) pipeline(cmd *cobra.Command, args []string, o pipeline.Options) (outcome *pipeline.Outcome, err error) {
	o.Outputs, o.Redact = f.outputs, f.redact
	err = withTraces(cmd, args, &f.traceFlags, f.quiet, func(r *tracesRun) (err error) {
		o.Progress, o.Match.Dropped = r.progress, r.memory.Drop
		r.limit(&o.Match)
		outcome, err = pipeline.Run(r.ctx, r.traces, o)
		return err
	})
	if err == nil {
		f.printWritten(cmd, outcome.Written...)
	}
	return outcome, err
}

// print prints warnings and the result, and turns broken promises into an error.
func (f *outputFlags) print(cmd *cobra.Command, warnings, broken []string, table, json func(io.Writer) error) error {
	f.printWarnings(cmd, warnings)
	show := table
	if f.json {
		show = json
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	if len(broken) > 0 {
		return &brokenPromise{strings.Join(broken, "; ")}
	}
	return nil
}
