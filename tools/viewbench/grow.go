package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/clock"
	"meridian/internal/load"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/tools/chromium"
	"meridian/trace"
)

// growing is a timeline of so many events at first, to which more come while it is looked at.
type growing struct {
	o       options
	index   *index.Live
	live    *view.Live
	ctx     context.Context
	written int
	begun   time.Time          // when the first of the further events came
	from    clock.TimelineTime // the last of the others
	shown   time.Time          // when the last picture was made
	full    chan struct{}      // closed when all of the first are there
}

// errEnough ends the writing.
var errEnough = errors.New("enough was seen")

// watchGrowing measures the page of a timeline that grows, as it is served; or its list of requests, and no page.
func watchGrowing(ctx context.Context, o options) (f *figures, err error) {
	dir, err := os.MkdirTemp("", "viewbench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	schema := load.Schema(o.Options)
	x, err := index.NewLive(filepath.Join(dir, "index"), schema, index.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &growing{o: o, index: x, live: view.NewLive(), ctx: ctx, full: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		more := o.Options
		more.Events, more.Messages = 100*more.Events, 100*more.Messages // it ends with ctx
		ended <- load.Write(more, schema, g)
	}()
	defer func() {
		cancel()
		if end := <-ended; !errors.Is(end, errEnough) {
			err = errors.Join(err, end)
		}
		err = errors.Join(err, g.live.Close())
	}()
	select {
	case <-g.full:
	case end := <-ended:
		ended <- end
		return nil, end
	}
	fmt.Printf("%d events are there, %d more come each second\n", o.Events, o.grow)
	if o.requests > 0 {
		return nil, askGrowing(ctx, g.live, o.requests)
	}
	browser, err := chromium.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer browser.Stop()
	s, err := view.Listen("127.0.0.1:0", g.live, nil)
	if err != nil {
		return nil, err
	}
	served, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(served) }()
	defer func() { stop(); <-done }()
	b := &bench{browser: browser, loads: o.loads, moves: o.moves, shots: o.shots, profile: o.pageProfile, verbose: o.verbose, rest: settled}
	// The view is given, so that it rests and is moved by nothing but the moves.
	return b.measure("growing", fmt.Sprintf("%s#v=1&t=0,%d", s.URL(), g.from.Sub(load.Origin).Nanoseconds()))
}

// Write takes the first events as fast as they come, and spreads those that follow over the time that they take.
func (g *growing) Write(e *trace.TimelineEvent) error {
	if g.ctx.Err() != nil {
		return errEnough
	}
	if g.written++; g.written > g.o.Events {
		due := time.Duration(g.written-g.o.Events) * time.Second / time.Duration(g.o.grow)
		at := g.from.Add(due)
		e.Low, e.High = at.Add(e.Low.Sub(e.Time)), at.Add(e.High.Sub(e.Time))
		e.Time = at
		for wait := due - time.Since(g.begun); wait > 0; wait = due - time.Since(g.begun) {
			time.Sleep(min(wait, 10*time.Millisecond))
			if err := g.picture(at); err != nil {
				return err
			}
		}
	}
	if err := g.index.Write(e); err != nil {
		return err
	}
	if g.index.Due() {
		if err := g.index.Seal(nil); err != nil {
			return err
		}
		for more := true; more; {
			var err error
			if more, err = g.index.Compact(); err != nil {
				return err
			}
		}
	}
	if g.written == g.o.Events {
		g.begun, g.from = time.Now(), e.Time
		if err := g.picture(e.Time); err != nil {
			return err
		}
		close(g.full)
	}
	return nil
}

// picture publishes what there is, ten times a second.
func (g *growing) picture(now clock.TimelineTime) error {
	if time.Since(g.shown) < 100*time.Millisecond {
		return nil
	}
	g.shown = time.Now()
	return g.live.Publish(g.index.View(), &view.Report{}, view.Status{Now: now})
}

// Close is for load.Write's sink.
func (g *growing) Close() error { return nil }
