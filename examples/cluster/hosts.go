package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// collector is the host of the server; it is the bridge that connects the others.
const collector = "collector"

var hosts = []string{"web", "api", "db"}

// address returns that of a host: 0 is the collector.
func address(n int) string { return "10.77.0." + strconv.Itoa(n+1) }

// network is a namespace for each host, with a name of this process alone.
type network struct{ made []string }

func newNetwork(ctx context.Context) (n *network, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root: sudo go run ./examples/cluster")
	}
	n = new(network)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.remove())
		}
	}()
	if err := n.add(ctx, collector); err != nil {
		return n, err
	}
	in := n.namespace(collector)
	if err := ip(ctx, "-n", in, "link", "add", "br0", "type", "bridge"); err != nil {
		return n, err
	}
	if err := up(ctx, in, "br0", address(0)); err != nil {
		return n, err
	}
	for i, host := range hosts {
		if err := n.add(ctx, host); err != nil {
			return n, err
		}
		steps := [][]string{
			{"-n", in, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", n.namespace(host)},
			{"-n", in, "link", "set", host, "master", "br0", "up"},
		}
		for _, step := range steps {
			if err := ip(ctx, step...); err != nil {
				return n, err
			}
		}
		if err := up(ctx, n.namespace(host), "eth0", address(i+1)); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (n *network) namespace(host string) string {
	return fmt.Sprintf("meridian-%d-%s", os.Getpid(), host)
}

func (n *network) add(ctx context.Context, host string) error {
	name := n.namespace(host)
	if err := ip(ctx, "netns", "add", name); err != nil {
		return err
	}
	n.made = append(n.made, name)
	return ip(ctx, "-n", name, "link", "set", "lo", "up")
}

func up(ctx context.Context, namespace, link, address string) error {
	if err := ip(ctx, "-n", namespace, "address", "add", address+"/24", "dev", link); err != nil {
		return err
	}
	return ip(ctx, "-n", namespace, "link", "set", link, "up")
}

func ip(ctx context.Context, args ...string) error {
	return copied(exec.CommandContext(ctx, "ip", args...))
}

// remove removes the namespaces, and with them what connects them.
func (n *network) remove() (err error) {
	for _, name := range n.made {
		err = errors.Join(err, ip(context.Background(), "netns", "delete", name))
	}
	n.made = nil
	return err
}

// command returns one that runs on a host. ip becomes the program that it starts.
func (n *network) command(ctx context.Context, host string, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", n.namespace(host), program}, args...)...)
}

// traffic has each host send requests to the two others.
func (n *network) traffic(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var servers, clients group
	for i, host := range hosts {
		c := n.command(ctx, host, self, "serve", address(i+1)+":7000")
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		servers.Go(func() error { return copied(c) })
	}
	for i, host := range hosts {
		args := []string{"talk"}
		for j := range hosts {
			if i != j {
				args = append(args, address(j+1)+":7000")
			}
		}
		clients.Go(func() error { return copied(n.command(ctx, host, self, args...)) })
	}
	err = clients.Wait()
	cancel()
	if ended := servers.Wait(); err == nil && ended != nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	return err
}

// serve answers each line with the same line until ctx ends.
func serve(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var connections group
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return connections.Wait()
		} else if err != nil {
			return err
		}
		connections.Go(func() error {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			for lines := bufio.NewScanner(c); lines.Scan(); {
				if _, err := fmt.Fprintln(c, lines.Text()); err != nil {
					return nil // the other side has gone
				}
			}
			return nil
		})
	}
}

// requests is how many lines a host sends to each other one, every so often.
const (
	requests = 100
	every    = 5 * time.Millisecond
)

// talk sends lines to other hosts, which answer each.
func talk(ctx context.Context, addresses []string) error {
	var all group
	for _, address := range addresses {
		all.Go(func() error {
			c, err := dial(ctx, address)
			if err != nil {
				return err
			}
			defer c.Close()
			answers := bufio.NewReader(c)
			for n := range requests {
				if _, err := fmt.Fprintln(c, "request", n); err != nil {
					return err
				}
				line, err := answers.ReadString('\n')
				if err != nil || !strings.HasSuffix(strings.TrimSpace(line), strconv.Itoa(n)) {
					return fmt.Errorf("%s answered %q: %w", address, line, err)
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(every):
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// dial connects to a server that may be starting.
func dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	for late := time.Now().Add(10 * time.Second); ; {
		c, err := d.DialContext(ctx, "tcp", address)
		if err == nil || ctx.Err() != nil || time.Now().After(late) {
			return c, err
		}
		time.Sleep(every)
	}
}

// group waits for what runs at once.
type group struct {
	running sync.WaitGroup
	mu      sync.Mutex
	err     error
}

// Go runs f.
func (g *group) Go(f func() error) {
	g.running.Go(func() {
		err := f()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.err = errors.Join(g.err, err)
	})
}

// Wait waits for all and returns their errors.
func (g *group) Wait() error {
	g.running.Wait()
	return g.err
}
