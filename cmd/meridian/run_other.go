//go:build !unix

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"meridian/internal/experiment/file"
)

var errHosts = errors.New("hosts of an experiment need Linux; --check, --plan, --new and --schema work here")

// experiment fails: hosts need Linux.
func (f *runFlags) experiment(*cobra.Command, *file.Experiment, string) error { return errHosts }

// repeated fails: hosts need Linux.
func (f *runFlags) repeated(*cobra.Command) (*file.Experiment, error) { return nil, errHosts }

func newCompare() *cobra.Command { return hiddenRun("compare") }

func newRunHost() *cobra.Command { return hiddenRun("run-host") }

func newRunDaemon() *cobra.Command { return hiddenRun("run-daemon") }

func hiddenRun(use string) *cobra.Command {
	return &cobra.Command{Use: use, Hidden: true, RunE: func(*cobra.Command, []string) error { return errHosts }}
}
