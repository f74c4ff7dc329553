// Command meridian gives engineers one timeline for every machine: it puts the traces of many hosts on one time base
// with a guaranteed bound on the error, orders their events, and shows them.
//
// Each subcommand has a file of its own, which parses, calls a room and prints. Results go to stdout, progress and
// diagnostics to stderr. The exit code is 0 when all is done, 1 when it failed, 2 for wrong usage, 3 when it is done but
// a promise could not be kept.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"meridian/format"
	"meridian/internal/pipeline/usage"
	"meridian/internal/private"
	"meridian/internal/s3"
)

const (
	exitDone = iota
	exitFailed
	exitUsage
	exitBroken
)

// brokenPromise ends a command that did its work but could not keep a promise.
type brokenPromise struct{ reason string }

func (e *brokenPromise) Error() string { return e.reason }

func main() {
	limitReaders = func(public bool) {
		if public || private.Asked() {
			private.Share()
		} else {
			private.Keep()
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// limitReaders says who may read what is written from now on. Only main sets it: it changes the whole process, and tests run commands in theirs.
var limitReaders = func(public bool) {}

// run executes one command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	format.Mount("s3", s3.NewFS(ctx, s3.FromEnvironment))
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	stderr = &plainText{stderr}
	root.SetErr(stderr)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...) // keeps the output set above
	explainUsage(root.Command)
	oneUsageLine(root.Command)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		plainUsage(root.Command)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var broken *brokenPromise
	var mistake *usage.Error
	var ended *commandEnded
	switch {
	case errors.As(err, &ended):
		tell(stderr, "", err)
		return ended.code
	case errors.As(err, &broken):
		tell(stderr, "", err)
		return exitBroken
	case errors.As(err, &mistake), root.wrongUsage:
		tell(stderr, "", err)
		fmt.Fprintf(stderr, "Try '%s'.\n", helpOf(cmd))
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "meridian: interrupted; no output was written")
		return exitFailed
	}
	tell(stderr, "", err)
	return exitFailed
}

// rootCommand remembers whether parsing got as far as running a command: errors before that are wrong usage.
type rootCommand struct {
	*cobra.Command
	wrongUsage bool
	public     bool
}

func newRoot() *rootCommand {
	root := &rootCommand{wrongUsage: true}
	root.Command = &cobra.Command{
		Use:           "meridian",
		Short:         "One timeline for every machine",
		Long:          "Meridian puts the traces of many hosts on one time base with a guaranteed bound on the error,\norders their events, and shows them as one timeline.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       thisBuild().String(),
		PersistentPreRun: func(*cobra.Command, []string) {
			root.wrongUsage = false
			limitReaders(root.public)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmd.Help()
		},
		Args: cobra.NoArgs,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n") // as `meridian version` prints it
	root.PersistentFlags().BoolVar(&root.public, "public", false, "others may read what is written, as the umask says; else its user alone")
	root.AddCommand(newAlign(), newConvert(), newSimulate(), newDemo(), newEvaluate(), newClock(), newRecord(), newSnapshot(), newView(), newRequests(), newTail(), newServer(), newAgent(), newRun(), newCompare(), newRunHost(), newRunDaemon(), newVersion(), newMan())
	for _, command := range root.Commands() {
		command.DisableFlagsInUseLine = true
	}
	return root
}
