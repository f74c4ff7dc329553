package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// releaseVersion and releaseCommit are what tools/release links into the command: an archive of it may have been built without git. They are empty otherwise.
var releaseVersion, releaseCommit string

// build is what the binary knows of how it was built. Fields that the build did not record are empty.
type build struct {
	Version  string `json:"version"`  // of the module; "(devel)" for a build of a checkout
	Commit   string `json:"commit"`   // the full hash
	Time     string `json:"time"`     // of the commit, RFC 3339
	Modified bool   `json:"modified"` // the checkout had changes beside the commit
	Go       string `json:"go"`       // the toolchain
	Platform string `json:"platform"` // GOOS/GOARCH
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version [--json]",
		Short: "Print the version of this program",
		Long:  "Print the version of this program, the commit it was built from, the Go toolchain and the platform.",
		Example: `  meridian version
  meridian version --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return out.Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "meridian", b.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// thisBuild reads what the linker recorded.
func thisBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version = info.Main.Version; b.Version == "" {
		b.Version = "(devel)"
	}
	if releaseVersion != "" {
		b.Version, b.Commit = releaseVersion, releaseCommit
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the build in one line.
func (b build) String() string {
	commit := "unknown"
	if b.Commit != "" {
		commit = b.Commit[:min(12, len(b.Commit))]
	}
	if b.Modified {
		commit += " (modified)"
	}
	return b.Version + " commit " + commit + " " + b.Go + " " + b.Platform
}
