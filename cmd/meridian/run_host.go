//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"meridian/internal/experiment/allow"
	"meridian/internal/experiment/daemons"
	"meridian/internal/experiment/host"
	"meridian/internal/experiment/keeper"
)

// Subcommands that this program starts itself as.
const (
	runHostCommand   = "run-host"
	runDaemonCommand = "run-daemon"
)

// newRunHost is a host of an experiment: the keeper, and below it the host's process.
func newRunHost() *cobra.Command {
	kept := false
	list, base := "", ""
	cmd := &cobra.Command{
		Use:    runHostCommand,
		Short:  "Be a host of an experiment, for 'meridian run'",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kept {
				o := host.Options{In: os.Stdin, Out: os.Stdout, Meridian: thisBuild().String(), Standard: runDaemonCommand}
				if cmd.Flags().Changed("allow") {
					var err error
					if o.Allow, err = allow.Read(list); err != nil {
						return err
					}
				}
				return host.Run(cmd.Context(), o)
			}
			args := []string{runHostCommand, "--kept"}
			if cmd.Flags().Changed("allow") {
				args = append(args, "--allow", list)
			}
			code, err := keeper.Run(base, args)
			if err == nil && code != 0 {
				err = fmt.Errorf("the host's process ended with exit code %d", code)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&kept, "kept", false, "be the host's process")
	cmd.Flags().StringVar(&list, "allow", "", "permit what `FILE` names, and nothing else (default: everything)")
	cmd.Flags().StringVar(&base, "base", "", "work below `DIR`")
	return cmd
}

// newRunDaemon is a standard daemon.
func newRunDaemon() *cobra.Command {
	return &cobra.Command{
		Use:    runDaemonCommand + " NAME",
		Short:  "Be a standard daemon of an experiment, for 'meridian run'",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGPIPE)
			return daemons.Serve(cmd.Context(), args[0], os.Stdin, os.Stdout)
		},
	}
}
