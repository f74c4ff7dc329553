package main

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/captures"
	"meridian/internal/collect/tunnel"
	"meridian/internal/collect/wire"
	"meridian/internal/scratch"
	"meridian/internal/spill"
)

// checkAllowCaptures refuses directories that are not there.
func (f *agentFlags) checkAllowCaptures() (err error) {
	if slices.Contains(f.allowCaptures, "") {
		return wrong("--allow-captures: no directory given")
	}
	if f.captureDirs, err = captures.CheckDirs(f.allowCaptures); err != nil {
		return wrong("--allow-captures: %v", err)
	}
	return nil
}

// serveCaptures gives operators captures, reduced, as far as flags permit, until ctx ends. Without permission nobody is listened to.
func (f *agentFlags) serveCaptures(ctx context.Context, c *nats.Conn, log func(format string, args ...any)) error {
	if len(f.captureDirs) == 0 {
		return nil
	}
	dir := scratch.New(scratchUnder("")) // made for the first capture that is too large, and removed with the agent
	defer dir.Close()
	agent := captures.Agent{Dirs: f.captureDirs, Log: log, Memory: func(fail func(error)) captures.Memory {
		return spill.New(dir, new(memoryValue).bytes(), fail)
	}}
	return tunnel.Serve(ctx, tunnel.ServeOptions{
		Conn: c, Kind: wire.CaptureStreams, Host: f.host, Log: log,
		Refuse: func() error { return nil }, Address: func() string { return "" },
		Handle: agent.Serve,
	})
}

// watchAndServe watches the connection and gives captures until ctx ends.
func (f *agentFlags) watchAndServe(c *agentConn, log func(format string, args ...any)) func(ctx context.Context) {
	return func(ctx context.Context) {
		var both errgroup.Group
		both.Go(func() error { c.watch(ctx); return nil })
		both.Go(func() error { return f.serveCaptures(ctx, c.Conn, log) })
		if err := both.Wait(); err != nil {
			log("captures: %v", err)
		}
	}
}
