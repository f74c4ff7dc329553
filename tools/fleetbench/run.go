//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/ship"
	"meridian/tools/ends"
)

const session = "fleet"

// run starts a server, and writes and sends the traces of all hosts.
func (b *bench) run(ctx context.Context) (r *result, err error) {
	scratch, err := os.MkdirTemp("", "fleetbench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var hosts []*host
	for i := range b.agents {
		h, err := newHost(filepath.Join(scratch, "hosts"), fmt.Sprintf("host%d", i))
		if err != nil {
			return nil, err
		}
		defer h.f.Close()
		if err := h.write(b.backlog / eventBytes); err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	server, url, err := ends.Start(ctx, b.meridian, "server", "-q", "--name", "s", "--dir", filepath.Join(scratch, "stored"), "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ends.End(server)) }()
	r = new(result)
	stored := filepath.Join(scratch, "stored", session)
	begun := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	for i, h := range hosts {
		ended := make(chan struct{})
		all.Go(func() error { return send(ctx, url, h, ended) })
		all.Go(func() (err error) {
			defer close(ended)
			var own errgroup.Group
			done := make(chan struct{})
			own.Go(func() error { defer close(done); return b.write(ctx, h, stored) })
			if i == 0 {
				own.Go(func() error {
					r.marks, err = h.marks(ctx, stored, func() bool {
						select {
						case <-done:
							return true
						default:
							return false
						}
					})
					return err
				})
			}
			return own.Wait()
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	r.took = time.Since(begun)
	if r.memory, err = peak(server.Process.Pid); err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if err := h.check(stored); err != nil {
			return nil, err
		}
		r.events += h.events
	}
	return r, nil
}

// write writes events, or waits until the server has those that were there at first.
func (b *bench) write(ctx context.Context, h *host, stored string) error {
	if b.rate > 0 {
		return h.record(ctx, b.rate, b.length)
	}
	for size(filepath.Join(stored, h.name, eventFile)) < size(h.f.Name()) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tick):
		}
	}
	return nil
}

// send sends a host's trace as an agent does, until all that was written is acknowledged.
func send(ctx context.Context, url string, h *host, ended <-chan struct{}) error {
	_, err := ends.Ship(ctx, url, ship.Options{Host: h.name, Session: session, Dir: h.dir, Ended: ended, Every: 100 * time.Millisecond}) // as in 'meridian agent'
	return err
}

// peak is the most memory that a process has had resident, MiB.
func peak(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("process %d has no peak of memory: the kernel does not tell", pid)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib / 1024, err
}
