//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// hub is the namespace of server and operator.
const hub = "hub"

var hosts = []string{"a", "b", "c"}

// network is four namespaces: the hub, and one for each host, with a link between.
type network struct{ prefix string }

func newNetwork(rate string) (n *network, err error) {
	n = &network{prefix: fmt.Sprintf("agentbench-%d-", os.Getpid())}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	for _, name := range append([]string{hub}, hosts...) {
		if err := run("ip", "netns", "add", n.prefix+name); err != nil {
			return n, err
		}
		if err := n.ip(name, "link", "set", "lo", "up"); err != nil {
			return n, err
		}
	}
	for i, host := range hosts {
		near, far := fmt.Sprintf("10.77.%d.1/24", i), fmt.Sprintf("10.77.%d.2/24", i)
		for _, args := range [][]string{
			{hub, "link", "add", "name", host, "type", "veth", "peer", "name", "eth0", "netns", n.prefix + host},
			{hub, "addr", "add", near, "dev", host}, {hub, "link", "set", "dev", host, "up"},
			{host, "addr", "add", far, "dev", "eth0"}, {host, "link", "set", "eth0", "up"},
		} {
			if err := n.ip(args[0], args[1:]...); err != nil {
				return n, err
			}
		}
		for _, end := range [][2]string{{hub, host}, {host, "eth0"}} {
			if err := run("tc", "-n", n.prefix+end[0], "qdisc", "add", "dev", end[1], "root", "tbf", "rate", rate, "burst", "256k", "latency", "50ms"); err != nil {
				fmt.Fprintln(os.Stderr, "agentbench: links are not limited:", err)
			}
		}
	}
	return n, nil
}

func (n *network) close() {
	for _, name := range append([]string{hub}, hosts...) {
		_ = run("ip", "netns", "del", n.prefix+name) // it may not be there
	}
}

func (n *network) ip(name string, args ...string) error {
	return run("ip", append([]string{"-n", n.prefix + name}, args...)...)
}

func run(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// command returns a command that runs in a namespace.
func (n *network) command(ctx context.Context, name, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=/var/run/netns/" + n.prefix + name, program}, args...)...)
}

// bytes returns how many bytes went through each host's interface, both ways.
func (n *network) bytes() (map[string]int64, error) {
	all := make(map[string]int64)
	for _, host := range hosts {
		out, err := exec.Command("ip", "-n", n.prefix+host, "-s", "-j", "link", "show", "eth0").Output()
		if err != nil {
			return nil, err
		}
		var links []struct {
			Stats map[string]struct {
				Bytes int64 `json:"bytes"`
			} `json:"stats64"`
		}
		if err := json.Unmarshal(out, &links); err != nil || len(links) != 1 {
			return nil, fmt.Errorf("ip -s -j link: %v: %s", err, out)
		}
		all[host] = links[0].Stats["rx"].Bytes + links[0].Stats["tx"].Bytes
	}
	return all, nil
}

// start starts the server and the agents, each of which permits the directories of its captures. url is where the operator reaches the broker. stop ends
// them; it is never nil.
func start(ctx context.Context, n *network, meridian, work string, captures []capture) (stop func(), url string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running []*exec.Cmd
	stop = func() {
		cancel()
		for _, c := range running {
			_ = c.Wait()
		}
	}
	begin := func(c *exec.Cmd, ready string) error {
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		c.WaitDelay = 20 * time.Second
		said, err := c.StderrPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return err
		}
		running = append(running, c)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if strings.Contains(lines.Text(), ready) {
				go func() { // until the program ends
					for lines.Scan() {
					}
				}()
				return nil
			}
		}
		return errors.Join(fmt.Errorf("%s ended before it said %q", c, ready), lines.Err())
	}
	const port = "4222"
	server := n.command(ctx, hub, meridian, "server", "--listen", "0.0.0.0:"+port, "--dir", filepath.Join(work, "stored"), "--insecure")
	if err := begin(server, "storing in"); err != nil {
		return stop, "", err
	}
	for i, host := range hosts {
		args := []string{"agent", "--standby", "--host", host, "--server", fmt.Sprintf("10.77.%d.1:%s", i, port), "-o", filepath.Join(work, host)}
		for _, c := range captures {
			if c.host == host {
				args = append(args, "--allow-captures", filepath.Dir(c.path))
			}
		}
		if err := begin(n.command(ctx, host, meridian, args...), "waits for commands"); err != nil {
			return stop, "", err
		}
	}
	return stop, "127.0.0.1:" + port, nil
}
