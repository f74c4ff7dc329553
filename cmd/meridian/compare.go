//go:build unix

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"meridian/internal/experiment/verdict"
)

// compareFlags is what the command line says.
type compareFlags struct {
	quietFlag
	json bool
	page string
}

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare DIR DIR",
		Short: "What differs between the results of two experiments",
		Long: `Compare two directories of results of 'meridian run': the answers of checks, and the durations of all phases and of the pairs that checks measure.
Each duration is a median
with an interval: what repeats had, widened by the bound of the clocks. Two differ if their intervals do not meet. With fewer than 5 runs
on a side noise is not known, and the answer is unknown: give the experiment repeat: 5.

Exit code: 0 done, whatever differs, 1 failed, 2 wrong usage, 3 done, but runs that failed were left out, or a promise of a run's timeline could not be kept.`,
		Example: `  meridian compare before/ after/
  meridian compare before/ after/ -o comparison.html`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&f.page, "output", "o", "", "write the comparison as a page too, `FILE`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the comparison as JSON instead of the table")
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"output": cobra.FixedCompletions([]string{"html"}, cobra.ShellCompDirectiveFilterFileExt)})
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	var reports [2][]*verdict.Report
	var failed [2]int
	for i, dir := range args {
		var err error
		if reports[i], failed[i], err = verdict.ReadAll(dir); err != nil {
			return err
		}
	}
	c := verdict.Compare(reports[0], reports[1], args[0], args[1])
	c.Failed = failed
	if f.page != "" {
		if err := c.WritePage(f.page); err != nil {
			return err
		}
	}
	write := c.Table
	if f.json {
		write = c.Write
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if lacking := lackingRuns(args, reports, failed); len(lacking) > 0 {
		return &brokenPromise{strings.Join(lacking, "; ")}
	}
	return nil
}

// lackingRuns says which of the results are not whole: runs that failed and are left out, and runs whose own promises
// were broken.
func lackingRuns(dirs []string, reports [2][]*verdict.Report, failed [2]int) (lacking []string) {
	for i, dir := range dirs {
		if failed[i] > 0 {
			lacking = append(lacking, fmt.Sprintf("%s: %d runs did not end well and are left out", dir, failed[i]))
		}
		for _, r := range reports[i] {
			if len(r.Promises) > 0 {
				lacking = append(lacking, dir+": "+strings.Map(printable, r.Promises[0]))
				break
			}
		}
	}
	return lacking
}
