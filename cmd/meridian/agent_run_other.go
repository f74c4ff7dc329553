//go:build !unix

package main

import (
	"context"

	"github.com/nats-io/nats.go"
)

func (f *agentFlags) checkAllowRun() error {
	if f.allowRun != "" {
		return wrong("--allow-run: %v", errHosts)
	}
	return nil
}

// serveRuns does nothing: hosts of experiments need Linux.
func (f *agentFlags) serveRuns(context.Context, *nats.Conn, func(string, ...any)) error { return nil }
