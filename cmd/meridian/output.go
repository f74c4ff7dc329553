package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputFlags is how a command that works on traces tells what it came to.
type outputFlags struct {
	quiet, json bool
}

// add gives a command the flags; what is printed is named by result.
func (f *outputFlags) add(flags *pflag.FlagSet, result string) {
	flags.BoolVar(&f.json, "json", false, "print the "+result+" as JSON instead of the table")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
}

// print prints warnings and the result, and turns broken promises into an error.
func (f *outputFlags) print(cmd *cobra.Command, warnings, broken []string, table, json func(io.Writer) error) error {
	if !f.quiet {
		for _, line := range warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning:", line)
		}
	}
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
