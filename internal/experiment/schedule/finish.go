//go:build unix

package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/internal/experiment/place"
	"meridian/internal/experiment/protocol"
)

// NotPlaced is the result of a run whose hosts could not be started.
func NotPlaced(err error, began time.Time) *Result {
	f := &Failure{What: err.Error()}
	var of *place.HostError
	if errors.As(err, &of) {
		f.Host, f.What = of.Host, of.Err.Error()
	}
	return &Result{BeganNs: began.UnixNano(), EndedNs: time.Now().UnixNano(), Cause: f}
}

// finish ends all daemons and brings files back, as far as hosts answer.
func (c *controller) finish() {
	c.ending = true
	grace := graceWell
	if len(c.failed) > 0 {
		grace = graceFailed
	}
	for _, s := range c.seats {
		if !s.gone {
			_ = s.out.Write(protocol.Order{Stop: &protocol.Stop{GraceMs: int(grace.Milliseconds())}}) // one that has gone is noted by its reader
		}
	}
	// What fails now is noted and changes nothing: the run has ended.
	c.drain(grace+stopWithin, "stop", func(s *seat) bool { return s.stopped })
	for _, s := range c.seats {
		if s.gone || !s.stopped {
			continue
		}
		g := &protocol.Gather{Patterns: make(map[string][]string)}
		if s.Local {
			g.To = s.files.dir
		}
		for _, d := range c.o.Run.Daemons {
			if _, here := s.waiting[d.Name]; here && len(d.Gather) > 0 {
				g.Patterns[d.Name] = d.Gather
			}
		}
		_ = s.out.Write(protocol.Order{Gather: g})
	}
	c.drain(gatherWithin, "send their files", func(s *seat) bool { return s.got != nil || !s.stopped })
	lacking := make(map[string]int) // DAEMON: PATTERN, on how many hosts
	for _, s := range c.seats {
		c.gathered(s)
		if s.got != nil {
			for _, p := range s.got.Patterns {
				lacking[p]++
			}
		}
	}
	for _, d := range c.o.Run.Daemons {
		for _, p := range d.Gather {
			if name := d.Name + ": " + p; c.r.Cause == nil && lacking[name] == len(d.Hosts) {
				c.warn("nothing to gather on any host: %s", name)
			}
		}
	}
}

// drain handles events until a condition holds for all hosts that are there.
func (c *controller) drain(within time.Duration, what string, holds func(*seat) bool) {
	done := c.all(func(s *seat) bool { return s.gone || holds(s) })
	for {
		err := c.await(context.Background(), within, func() string { return "" }, done)
		var f *Failure
		if err == nil || !errors.As(err, &f) {
			return
		}
		if f.rank == timedOut {
			c.warn("%s did not %s within %v", c.lacking(func(s *seat) bool { return s.gone || holds(s) }), what, within)
			return
		}
		if len(c.failed) == 0 { // a host that went at the end: its files may lack
			c.failed = append(c.failed, f)
			c.choose()
		} else if f.rank == hostLost {
			c.r.Then = append(c.r.Then, f)
		}
	}
}

// gathered says what did not come: that breaks a promise.
func (c *controller) gathered(s *seat) {
	err := s.files.close()
	switch {
	case s.got == nil:
		c.lack("host %s: its files did not come: it has gone", s.Host)
		return
	case s.got.Error != "":
		c.lack("host %s: not all files came: %s", s.Host, s.got.Error)
	case err != nil:
		c.lack("host %s: %v", s.Host, err)
	}
}

// receiver stores what comes from a host, below the directory of its results.
type receiver struct {
	base, host string
	dir        string
	open       *os.File
	name       string
}

func newReceiver(base, host string) *receiver {
	return &receiver{base: base, host: host, dir: filepath.Join(base, "hosts", host)}
}

// work is the directory in which a host of this machine works.
func (r *receiver) work() string { return filepath.Join(r.base, WorkDir, r.host) }

// WorkDir is the directory, within that of the results, in which hosts of this machine work.
const WorkDir = ".work"

// part stores a part of a file. Names come from another machine: they stay within the directory.
func (r *receiver) part(p *protocol.File) error {
	if r.name != p.Path {
		if err := r.close(); err != nil {
			return err
		}
		if err := os.MkdirAll(r.dir, 0o777); err != nil {
			return err
		}
		root, err := os.OpenRoot(r.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(filepath.Dir(p.Path), 0o777); err != nil {
			return fmt.Errorf("file %s: %w", p.Path, err)
		}
		if r.open, err = root.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(p.Mode)&0o777|0o600); err != nil {
			return fmt.Errorf("file %s: %w", p.Path, err)
		}
		r.name = p.Path
	}
	if _, err := r.open.Write(p.Data); err != nil {
		return err
	}
	if p.Last {
		err := r.open.Close()
		r.open, r.name = nil, ""
		return err
	}
	return nil
}

// close ends a file that did not come whole.
func (r *receiver) close() error {
	if r.open == nil {
		return nil
	}
	err := fmt.Errorf("file %s did not come whole", r.name)
	err = errors.Join(err, r.open.Close())
	r.open, r.name = nil, ""
	return err
}
