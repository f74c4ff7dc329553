//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/tunnel"
	"meridian/internal/collect/wire"
	"meridian/internal/experiment/allow"
	"meridian/internal/experiment/remote"
)

// runsFolder has the directories of experiments, in that of an agent. No session has a name that begins with a dot.
const runsFolder = ".run"

// checkAllowRun refuses a list that cannot be read.
func (f *agentFlags) checkAllowRun() (err error) {
	if f.allowRun == "" {
		return nil
	}
	if f.allowRun, err = filepath.Abs(f.allowRun); err != nil {
		return err
	}
	if _, err = allow.Read(f.allowRun); err != nil {
		return wrong("--allow-run: %v", err)
	}
	return nil
}

// serveRuns has operators use this host in experiments, as its list permits, until ctx ends. The list is read anew for each.
func (f *agentFlags) serveRuns(ctx context.Context, c *nats.Conn, log func(format string, args ...any)) error {
	base, err := filepath.Abs(filepath.Join(f.dir, runsFolder))
	if err != nil {
		return err
	}
	// What an agent left that was killed together with its keeper: this process has the lock of the directory.
	if err := os.RemoveAll(base); err != nil {
		return err
	}
	return tunnel.Serve(ctx, tunnel.ServeOptions{
		Conn: c, Kind: wire.RunStreams, Host: f.host, Log: log,
		Refuse: func() error {
			if f.allowRun == "" {
				return errors.New("it runs no experiments: start it with --allow-run FILE")
			}
			_, err := allow.Read(f.allowRun)
			return errors.Join(err, os.MkdirAll(base, 0o700))
		},
		Address: func() string {
			address, err := reachedFrom(c)
			if err != nil {
				log("an experiment: %v", err)
			}
			return address
		},
		Handle: func(ctx context.Context, s *tunnel.Stream) {
			remote.Serve(ctx, s, remote.Options{Args: []string{runHostCommand, "--allow", f.allowRun, "--base", base}, Log: log})
		},
	})
}
