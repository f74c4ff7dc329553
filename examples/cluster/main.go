// Cluster is an example: three hosts, each a network namespace of this machine, whose packets are recorded at once and collected in one place.
//
//	web, api, db:  meridian agent --standby ----.
//	                 requests over TCP          | NATS
//	collector:     meridian server <------------'   server start, stop; align --> timeline.html
//
//	sudo go run ./examples/cluster [-dir DIR]
//
// makes the namespaces, starts a server and three agents, records a session while the hosts talk, and aligns what the server stores. It needs root and
// the program ip. The namespaces are removed at the end. hosts.go makes the hosts; this file does what an operator does.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// session is the name of what is recorded.
const session = "demo"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	dir := flag.String("dir", "", "where the traces go and stay; empty: a new temporary directory")
	flag.Parse()
	var err error
	switch args := flag.Args(); {
	case len(args) == 2 && args[0] == "serve":
		err = serve(ctx, args[1])
	case len(args) > 1 && args[0] == "talk":
		err = talk(ctx, args[1:])
	case len(args) > 0:
		err = fmt.Errorf("unexpected argument %s", args[0])
	default:
		err = run(ctx, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "meridian-cluster"); err != nil {
			return err
		}
	}
	command, err := meridian(ctx, dir)
	if err != nil {
		return err
	}
	n, err := newNetwork(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.remove()) }()
	c := &cluster{dir: dir, command: command, network: n}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := c.start(ctx); err != nil {
		return err
	}
	if err := c.record(ctx); err != nil {
		return err
	}
	timeline := filepath.Join(dir, "timeline.html")
	traces, err := filepath.Glob(filepath.Join(dir, "stored", session, "*"))
	if err != nil {
		return err
	}
	align := exec.CommandContext(ctx, command, slices.Concat([]string{"align"}, traces, []string{"-o", timeline, "-o", filepath.Join(dir, "report.json")})...)
	align.Stdout, align.Stderr = os.Stdout, os.Stderr
	if err := align.Run(); err != nil {
		return fmt.Errorf("align: %w", err)
	}
	fmt.Printf("\nThe hosts have the clock of this machine, so the true offsets are 0, and lie within the bounds.\n%s\n", timeline)
	return nil
}

// meridian returns the command of that name: the installed one, or that of this checkout, which is built.
func meridian(ctx context.Context, dir string) (string, error) {
	if path, err := exec.LookPath("meridian"); err == nil {
		return path, nil
	}
	path := filepath.Join(dir, "meridian")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "meridian/cmd/meridian").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the command: %w: %s", err, out)
	}
	return path, nil
}

// cluster is the server and the agents.
type cluster struct {
	dir, command string
	network      *network
	url          string
	running      []*exec.Cmd // the server first
}

// start starts the server and an agent on each host.
func (c *cluster) start(ctx context.Context) error {
	server := c.network.command(context.WithoutCancel(ctx), collector, c.command, "server", "-q", "--dir", filepath.Join(c.dir, "stored"), "--listen", address(0)+":0", "--insecure", "--name", collector)
	server.Stderr = os.Stderr
	said, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return err
	}
	c.running = append(c.running, server)
	if c.url, err = bufio.NewReader(said).ReadString('\n'); err != nil {
		return fmt.Errorf("the server ended before it said its address: %w", err)
	}
	c.url = strings.TrimSpace(c.url)
	for _, host := range hosts {
		log, err := os.Create(filepath.Join(c.dir, host+".log"))
		if err != nil {
			return err
		}
		defer log.Close()
		agent := c.network.command(context.WithoutCancel(ctx), host, c.command, "agent", "--standby", "--server", c.url, "-o", filepath.Join(c.dir, "agents", host), "--host", host)
		agent.Stdout, agent.Stderr = log, log
		if err := agent.Start(); err != nil {
			return err
		}
		c.running = append(c.running, agent)
	}
	return c.until(ctx, "hosts", `"state":"waiting"`)
}

// record records a session while the hosts talk.
func (c *cluster) record(ctx context.Context) error {
	port := c.url[strings.LastIndex(c.url, ":")+1:]
	if out, err := c.ask(ctx, "start", session, "--", "--packets", "--filter", "not tcp port "+port); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := c.network.traffic(ctx); err != nil {
		return err
	}
	if out, err := c.ask(ctx, "stop", session); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return c.until(ctx, "sessions", `"state":"ended"`)
}

// ask runs a command of operators.
func (c *cluster) ask(ctx context.Context, args ...string) (string, error) {
	out, err := c.network.command(ctx, collector, c.command, slices.Concat([]string{"server", args[0], "--server", c.url}, args[1:])...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("meridian server %s: %w", args[0], err)
	}
	return string(out), err
}

// until waits until what a command of operators prints as JSON has a text for each host.
func (c *cluster) until(ctx context.Context, what, text string) error {
	late := time.Now().Add(2 * time.Minute)
	for {
		out, err := c.ask(ctx, what, "--json")
		if err == nil && strings.Count(out, text) == len(hosts) {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(late) {
			return fmt.Errorf("waiting for %s of %s hosts: %w: %s", text, strconv.Itoa(len(hosts)), errors.Join(err, ctx.Err()), out)
		}
	}
}

// end ends the agents, then the server.
func (c *cluster) end() (err error) {
	for _, p := range slices.Backward(c.running) {
		_ = p.Process.Signal(os.Interrupt) // it may have ended
		if ended := p.Wait(); ended != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", strings.Join(p.Args[4:6], " "), ended))
		}
	}
	return err
}

// copied hands on what a host's program says.
func copied(c *exec.Cmd) error {
	var out strings.Builder
	c.Stdout, c.Stderr = io.Discard, &out
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, out.String())
	}
	return nil
}
