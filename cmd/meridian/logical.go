package main

import (
	"strings"

	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
)

// logicalFlag is by which logical clock events are annotated.
type logicalFlag struct{ logical string }

func (f *logicalFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.logical, "logical", "", "give every event its logical time as a field, by `CLOCK`: "+strings.Join(pipeline.Logicals(), ", "))
	completions(cmd, map[string]cobra.CompletionFunc{"logical": choices(pipeline.Logicals()...)})
}
