//go:build unix

// Package place has the places where the hosts of an experiment are. Each starts a process that serves one host (package host)
// and gives the controller its input and output:
//
//	processes    a directory of this machine for each host, and a loopback address
//	namespaces   a network namespace of this machine for each host, and links
//	ssh          other machines, by the user's own ssh program
//	agents       other machines, by the agents of a server
//
// A place knows nothing of daemons, phases and traces.
package place

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

	"github.com/nats-io/nats.go"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/keeper"
	"meridian/internal/experiment/protocol"
)

// Seat is one host, as the controller reaches it.
type Seat struct {
	Host    string
	Address string
	Where   string // in words
	Local   bool   // on this machine: files are moved, not sent
	In      io.WriteCloser
	Out     io.Reader
	Setup   protocol.Setup // what the place has to say in it

	command *exec.Cmd // nil where the process is not a child of this one
	exited  chan struct{}
	// What ends the process: on demand, and at once. release gives up what is held for it, nil for nothing.
	terminate, kill, release func()
	say                      func() string // the last that the process wrote to its standard error, or why it has gone
}

// HostError is the failure of one host.
type HostError struct {
	Host string
	Err  error
}

func (e *HostError) Error() string { return "host " + e.Host + ": " + e.Err.Error() }

func (e *HostError) Unwrap() error { return e.Err }

// goneWithin is how long the end of a host's process may take to be noticed here.
const goneWithin = 100 * time.Millisecond

// explain names the host whose process has gone, if that may be why something failed.
func (p *Place) explain(err error) error {
	time.Sleep(goneWithin)
	for _, s := range append(append([]*Seat{}, p.Seats...), p.Extra...) {
		select {
		case <-s.exited:
			return &HostError{s.Host, fmt.Errorf("the host's process has gone: %s (%w)", s.Said(), err)}
		default:
		}
	}
	return err
}

// Options say what a place is made of.
type Options struct {
	Run  *file.Run
	Args []string // of this program, by which it becomes a keeper with a host process
	// Agents is a connection to the broker of a server, as an operator, for the place agents.
	Agents *nats.Conn
}

// missingLinks is said of places that have a network of their own.
const missingLinks = "links: the network between machines is as it is: rates, delays and losses are not made"

// Place is where all hosts of a run are.
type Place struct {
	Name    string
	Seats   []*Seat
	Missing []string // what was asked for and this system does not have, a line each
	Extra   []*Seat  // that are no hosts, such as a switch: without them the place is not what it was
}

// Open starts all hosts of a run in a place; an empty name is the best place that this process may use. Close must be called.
func Open(ctx context.Context, name string, o Options) (*Place, error) {
	switch name {
	case "":
		if canNamespaces() == nil {
			return openNamespaces(o)
		}
		return openProcesses(o)
	case "processes":
		return openProcesses(o)
	case "ssh":
		return openSSH(o)
	case "agents":
		return openAgents(ctx, o)
	case "namespaces":
		if err := canNamespaces(); err != nil {
			return nil, fmt.Errorf("namespaces: %w; --on processes needs no privileges", err)
		}
		return openNamespaces(o)
	}
	return nil, fmt.Errorf("unknown place %q", name)
}

// Default returns the place that Open takes for an empty name.
func Default() string {
	if canNamespaces() == nil {
		return "namespaces"
	}
	return "processes"
}

// Close ends the processes of all hosts: their input ends, and after the grace they are killed. Keepers remove what is left.
func (p *Place) Close(grace time.Duration) {
	all := append(append([]*Seat{}, p.Seats...), p.Extra...)
	for _, s := range all {
		_ = s.In.Close()
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	over := false
	for _, s := range all {
		if !over {
			select {
			case <-s.exited:
				continue
			case <-deadline.C:
				over = true
			}
		}
		s.terminate() // the keeper kills the rest and ends
		select {
		case <-s.exited:
		case <-time.After(grace):
			s.kill()
			<-s.exited
		}
	}
	for _, s := range all {
		if s.release != nil {
			s.release()
		}
	}
}

// Exited is closed when the process of the seat has ended.
func (s *Seat) Exited() <-chan struct{} { return s.exited }

// Said returns the last that a host process wrote to its standard error, or why it has gone.
func (s *Seat) Said() string { return s.say() }

// openProcesses starts hosts as processes with a loopback address each.
func openProcesses(o Options) (*Place, error) {
	p := &Place{Name: "processes"}
	for i, h := range o.Run.Hosts {
		s, err := startLocal(h.Name, o.Args, nil)
		if err != nil {
			p.Close(time.Second)
			return nil, err
		}
		if s.Address, s.Where = h.Address, "a process of this machine"; s.Address == "" {
			s.Address = loopback(os.Getpid(), i)
		}
		p.Seats = append(p.Seats, s)
	}
	if len(o.Run.Links) > 0 {
		p.Missing = append(p.Missing, "links: processes share the loopback interface: rates, delays and losses are not made")
	}
	return p, nil
}

// loopback returns the address of a host of the number i from 0 to 249. Runs at the same time have their own: all of 127.0.0.0/8 is this
// machine, and the number of the controller's process chooses a part of 127.64.0.0/10.
func loopback(controller, i int) string {
	return fmt.Sprintf("127.%d.%d.%d", 64+controller>>8&63, controller&255, i+1)
}

// startLocal starts a keeper with a host process on this machine, in a session of its own: the terminal's interrupt reaches the
// controller alone.
func startLocal(host string, args []string, attributes func(*syscall.SysProcAttr)) (*Seat, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), "MERIDIAN_RUN_HOST="+host)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if attributes != nil {
		attributes(c.SysProcAttr)
	}
	s, err := start(host, c)
	if s != nil {
		s.Local = true
	}
	return s, err
}

// start starts the process of a seat.
func start(host string, c *exec.Cmd) (*Seat, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: Wait closes that of StdoutPipe before all is read.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	said := new(lastBytes)
	s := &Seat{Host: host, In: in, Out: out, command: c, exited: make(chan struct{}), say: said.String}
	s.terminate = func() { _ = c.Process.Signal(syscall.SIGTERM) }
	s.kill = func() { _ = c.Process.Kill() }
	c.Stdout, c.Stderr = w, said
	c.WaitDelay = time.Second
	err = c.Start()
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, &HostError{host, err}
	}
	go func() {
		_ = c.Wait()
		if err := keeper.RemoveOf(c.Process.Pid); err != nil {
			fmt.Fprintln(said, err)
		}
		close(s.exited)
	}()
	return s, nil
}

// lastBytes remembers the end of what is written.
type lastBytes struct {
	mu sync.Mutex
	b  []byte
}

const maxSaid = 4096

func (l *lastBytes) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, b...)
	if len(l.b) > maxSaid {
		l.b = l.b[len(l.b)-maxSaid:]
	}
	return len(b), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.b))
}
