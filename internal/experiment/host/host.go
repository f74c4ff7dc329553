//go:build unix

// Package host is the process of an experiment on one host. It obeys one controller, by lines on its standard input and output
// (package protocol):
//
//	Setup   --> network, directories, files
//	Daemon  --> a process that waits                                Waiting -->
//	Start   --> {"start":7,...} to each daemon, or exec             Began, Ended -->
//	Stop    --> all daemons end, what they left behind is killed    Stopped -->
//	Gather  --> traces, logs and files are moved or sent            Gathered -->
//
// When its input ends, or at SIGTERM, it ends the daemons and exits. Its parent is the keeper (package keeper), which does the same for it.
//
// A plain command waits as a shell that will become it: the shell reads a line from a descriptor and then executes the command, which
// begins within the time of one execve. The command's words are arguments, which the shell does not interpret.
//
// # Directories
//
//	DIR/trace           what the recorder of the host writes (MERIDIAN_RUN_TRACE)
//	DIR/log/DAEMON.log  a line for each of its output: seconds since 1970 by CLOCK_REALTIME, out, err or run, text
//	DIR/pids/DAEMON     number of its process (MERIDIAN_RUN_PIDS)
//	DIR/files           files of the experiment
//	DIR/daemons/DAEMON  its working directory
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"meridian/internal/experiment/allow"
	"meridian/internal/experiment/keeper"
	"meridian/internal/experiment/protocol"
)

// endGrace is how long daemons have to end by themselves when the controller has gone.
const endGrace = time.Second

// Options are what the command knows.
type Options struct {
	In       io.Reader
	Out      io.Writer
	Meridian string // version of this program
	// Allow is what the owner of this host permits; nil permits everything that this process may do.
	Allow    *allow.List
	Standard string // argument of this program that is followed by the name of a standard daemon
}

// host is the process of an experiment on one host.
type host struct {
	o       Options
	out     *protocol.Writer
	setup   *protocol.Setup
	dir     string
	rings   string
	mu      sync.Mutex
	daemons map[string]*daemon
	ended   map[string]int // exit codes of daemons
}

// Run serves a controller until the input ends or it says Stop and then leaves.
func Run(ctx context.Context, o Options) error {
	dirs, err := keeper.Kept()
	if err != nil {
		return err
	}
	if err := keeper.Adopt(); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	// The death signal comes once for each thread of a keeper that is killed: none may have the default action.
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	h := &host{o: o, out: protocol.NewWriter(o.Out), rings: dirs.Rings, dir: dirs.Work, daemons: make(map[string]*daemon), ended: make(map[string]int)}
	orders := make(chan *protocol.Order)
	failed := make(chan error, 1)
	go func() { failed <- readOrders(ctx, o.In, orders) }()
	defer func() {
		h.stop(endGrace)
		_ = dirs.Remove() // the keeper says what cannot be removed
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-told:
			return nil
		case err := <-failed:
			if err != nil {
				_ = h.out.Write(protocol.Report{Failed: err.Error()})
			}
			return err
		case order := <-orders:
			if err := h.obey(ctx, order); err != nil {
				_ = h.out.Write(protocol.Report{Failed: err.Error()})
				return err
			}
		}
	}
}

func readOrders(ctx context.Context, in io.Reader, to chan<- *protocol.Order) error {
	lines := protocol.NewLines(in)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("orders: %w", err)
		}
		order := new(protocol.Order)
		if err := json.Unmarshal(line, order); err != nil {
			return fmt.Errorf("orders: %w", err)
		}
		select {
		case to <- order:
		case <-ctx.Done():
			return nil
		}
	}
}

// obey does what the controller says. An error ends the host.
func (h *host) obey(ctx context.Context, o *protocol.Order) error {
	if (o.Setup == nil) == (h.setup == nil) {
		return errors.New("orders: want one setup, first")
	}
	if err := h.permits(o); err != nil {
		return err
	}
	switch {
	case o.Setup != nil:
		return h.begin(o.Setup)
	case o.File != nil:
		return h.receive(o.File)
	case o.Daemon != nil:
		return h.start(o.Daemon)
	case len(o.Start) > 0:
		return h.call(ctx, o.Start)
	case o.Ask != 0:
		return h.out.Write(protocol.Report{Alive: &protocol.Alive{Ask: o.Ask, AtNs: protocol.Monotonic()}})
	case o.Stop != nil:
		return h.out.Write(protocol.Report{Stopped: h.stop(time.Duration(o.Stop.GraceMs) * time.Millisecond)})
	case o.Gather != nil:
		return h.out.Write(protocol.Report{Gathered: h.gather(o.Gather)})
	}
	return errors.New("orders: an empty line")
}

// begin makes the host what it is in the experiment.
func (h *host) begin(s *protocol.Setup) error {
	if s.Version != protocol.Version {
		return fmt.Errorf("this meridian (%s) speaks version %d of the lines of an experiment, the controller %d: install the same version", h.o.Meridian, protocol.Version, s.Version)
	}
	h.setup = s
	if s.Dir != "" {
		h.dir = s.Dir
	}
	var err error
	if h.dir, err = filepath.Abs(h.dir); err != nil {
		return err
	}
	for _, name := range []string{"log", "pids", "files", "daemons"} {
		if err := os.MkdirAll(filepath.Join(h.dir, name), 0o777); err != nil {
			return err
		}
	}
	if err := h.network(s); err != nil {
		return err
	}
	return h.out.Write(protocol.Report{Hello: &protocol.Hello{
		Version: protocol.Version, Kernel: kernelVersion(), Meridian: h.o.Meridian, System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
	}})
}

// receive stores a file of the experiment, or a part of one, within DIR/files.
func (h *host) receive(f *protocol.File) error {
	root, err := os.OpenRoot(filepath.Join(h.dir, "files"))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return fmt.Errorf("file %s: %w", f.Path, err)
	}
	to, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, os.FileMode(f.Mode)&0o777)
	if err != nil {
		return fmt.Errorf("file %s: %w", f.Path, err)
	}
	_, err = to.Write(f.Data)
	return errors.Join(err, to.Close())
}
