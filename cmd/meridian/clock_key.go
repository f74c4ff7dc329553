package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"meridian/internal/probe"
)

// clockKeyFlags is what the command line says.
type clockKeyFlags struct {
	quietFlag
	output string
}

func newClockKey() *cobra.Command {
	var f clockKeyFlags
	cmd := &cobra.Command{
		Use:   "key [-o FILE]",
		Short: "Make the key that hosts share to ask each other for the time",
		Long: `Make a random key in a new file that only its owner can read. Copy it, by a safe way such as ssh, to all hosts that run
'meridian clock serve' or ask: whoever has it may ask and answer, nobody else gets an answer.

An existing file is never replaced.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian clock key
  meridian clock key -o lab.key && scp -p lab.key db:`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to make (default: clock.key in the user's configuration, where other commands look for it)")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *clockKeyFlags) run(cmd *cobra.Command) error {
	file, err := (&keyFlag{f.output}).path()
	if err != nil {
		return err
	}
	if f.output == "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	if err := probe.WriteKey(file, probe.NewKey()); err != nil {
		return err
	}
	f.say(cmd, "wrote %s", file)
	return nil
}
