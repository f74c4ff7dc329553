package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"meridian/internal/record"
)

// snapshotFlags are the flags of meridian snapshot.
type snapshotFlags struct{ outputFlags }

func newSnapshot() *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use:   "snapshot [--json] DIR",
		Short: "Have a recorder with --keep save what it keeps now",
		Long: `Ask the recorder that runs as 'meridian record -o DIR --keep ...' to save what it keeps, wait for it, and print the
absolute path of the snapshot: a trace of its own beside DIR, which 'meridian align', babeltrace2 and Trace Compass read. The
recording goes on meanwhile. The snapshot is taken when the recorder's --trigger-after has passed.

The request is a file in DIR, so it needs the right to write there: that of the recorder's user, or of root.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian snapshot last/
  meridian view $(meridian snapshot last/)`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return wrong("snapshot: want one directory that is being recorded, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := record.RequestSnapshot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return f.print(cmd, nil, nil, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, dir)
				return err
			}, func(w io.Writer) error {
				return json.NewEncoder(w).Encode(struct {
					Dir string `json:"dir"`
				}{dir})
			})
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().SortFlags = false
	f.outputFlags.add(cmd, "directory")
	cmd.Flags().Lookup("json").Usage = `print {"dir":"DIRECTORY"} instead of the bare name`
	return cmd
}
