//go:build unix

// Package remote is an agent's side of an experiment: a keeper with a host process (packages keeper and host), whose standard input and
// output an operator's controller reaches by a stream.
//
//	controller <--stream (collect/tunnel)--> agent <--pipes--> keeper, host process
//
// When the stream breaks, the operator kills it, or the agent is to end, the host process is told by the end of its input, then by SIGTERM
// to the keeper, then the keeper is killed. An agent that is killed itself is missed by the keeper.
//
// What an operator may do is the host process's to decide (allow.List).
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"meridian/internal/collect/tunnel"
)

// Times of the end.
const (
	politely = 3 * time.Second // of a host process whose input has ended
	hardly   = 3 * time.Second // of a keeper that was told to end
	farewell = 5 * time.Second // for the other end to end its direction
)

// Options say what is started.
type Options struct {
	Args []string // of this program, by which it becomes a keeper with a host process
	Log  func(format string, args ...any)
}

// Serve runs a host process for the other end of a stream, and returns when nothing is left of it.
func Serve(ctx context.Context, s *tunnel.Stream, o Options) {
	o.Log("an experiment begins")
	why := serve(ctx, s, o)
	if err := s.Err(); why == "" && err != nil {
		why = err.Error()
	}
	if why != "" {
		why = ": " + why
	}
	o.Log("the experiment has ended%s", why)
}

// serve returns what went wrong, "" for nothing.
func serve(ctx context.Context, s *tunnel.Stream, o Options) string {
	var copies sync.WaitGroup
	defer copies.Wait()
	defer s.Close()
	p, err := start(o)
	if err != nil {
		s.End(err.Error())
		leave(s)
		return err.Error()
	}
	copies.Go(func() {
		_, _ = io.Copy(p.in, s) // the stream says itself why it ends, the process by its end
		_ = p.in.Close()
	})
	copies.Go(func() {
		_, _ = io.Copy(s, p.out)
		_ = p.out.Close() // a process that writes on fails
		close(p.read)
	})
	reason := ""
	select {
	case <-p.exited:
	case <-s.Killed():
		p.end(0)
	case <-s.Over():
		p.end(politely)
	case <-ctx.Done():
		reason = "the agent ends"
		_ = p.in.Close()
		p.end(politely)
	}
	select {
	case <-p.read: // all of it is sent
	case <-s.Over():
	}
	if reason == "" {
		reason = p.problem()
	}
	s.End(reason)
	leave(s)
	return reason
}

// leave waits until the other end has ended its direction.
func leave(s *tunnel.Stream) {
	select {
	case <-s.Over():
	case <-time.After(farewell):
	}
}

// process is a keeper with a host process.
type process struct {
	command *exec.Cmd
	in, out *os.File
	said    *lines
	exited  chan struct{}
	read    chan struct{} // closed when all its output was copied
	err     error         // of its end
}

func start(o Options) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, give, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	take, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), give.Close())
	}
	p := &process{command: exec.Command(self, o.Args...), in: give, out: take, said: &lines{log: o.Log}, exited: make(chan struct{}), read: make(chan struct{})}
	c := p.command
	c.Stdin, c.Stdout, c.Stderr = in, out, p.said
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.WaitDelay = time.Second
	err = c.Start()
	err = errors.Join(err, in.Close(), out.Close())
	if err != nil {
		return nil, errors.Join(err, give.Close(), take.Close())
	}
	go func() { // it ends with the process, for which serve waits
		p.err = c.Wait()
		close(p.exited)
	}()
	return p, nil
}

// end returns when the process has ended: by itself within the time, else by signals.
func (p *process) end(within time.Duration) {
	for _, step := range []struct {
		signal syscall.Signal
		within time.Duration
	}{{0, within}, {syscall.SIGTERM, hardly}} {
		if step.signal != 0 {
			_ = p.command.Process.Signal(step.signal)
		}
		timer := time.NewTimer(step.within)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
	_ = p.command.Process.Kill()
	<-p.exited
}

// problem returns why the process ended, "" for well. It must have ended.
func (p *process) problem() string {
	<-p.exited
	if p.err == nil {
		return ""
	}
	if said := p.said.last(); said != "" {
		return said
	}
	return fmt.Sprintf("the host's process: %v", p.err)
}

// lines hands on lines to a log and remembers the last one.
type lines struct {
	log  func(format string, args ...any)
	mu   sync.Mutex
	rest []byte
	text string
}

// maxLine bounds a line, bytes.
const maxLine = 2000

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range b {
		if c != '\n' && len(l.rest) < maxLine {
			l.rest = append(l.rest, c)
			continue
		}
		if text := strings.TrimSpace(strings.TrimPrefix(string(l.rest), "meridian: ")); text != "" {
			l.text = text
			l.log("experiment: %q", text)
		}
		l.rest = l.rest[:0]
	}
	return len(b), nil
}

func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
