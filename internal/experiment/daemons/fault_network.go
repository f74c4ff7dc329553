package daemons

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"meridian/internal/experiment/protocol"
	"meridian/internal/experiment/traffic"
)

// downLink is an interface that is down, and the routes that the kernel removed with it, as lines of iproute2.
type downLink struct {
	device string
	routes []string
}

// reach reads the parameters of a phase, and returns the interface by which the host is reached.
func (f *faults) reach(ctx context.Context, c *protocol.Call, with *faultWith) (device string, err error) {
	if err := c.Bind(with); err != nil {
		return "", err
	}
	if f.place != "namespaces" {
		return "", fmt.Errorf("%s: the hosts are %s, whose network is not the experiment's alone: use --on namespaces", c.Phase, f.place)
	}
	address, err := f.address(with.To)
	if err == nil && with.To == f.host {
		err = errors.New("it is this host")
	}
	if err != nil {
		return "", fmt.Errorf("to: %w", err)
	}
	f.mu.Lock()
	down := f.down[with.To]
	f.mu.Unlock()
	if down != nil {
		return down.device, nil
	}
	out, err := command(ctx, "", "ip", "-o", "route", "get", address)
	if err != nil {
		return "", err
	}
	words := strings.Fields(out)
	for i, w := range words {
		if w == "dev" && i+1 < len(words) {
			return words[i+1], nil
		}
	}
	return "", fmt.Errorf("no route to %s: %.80q", with.To, out)
}

func (f *faults) takeDown(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	device, err := f.reach(ctx, c, &with)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for host, d := range f.down {
		if d.device == device {
			return nil, fmt.Errorf("the interface %s to %s is down already", device, host)
		}
	}
	routes, err := command(ctx, "", "ip", "route", "show", "dev", device)
	if err != nil {
		return nil, err
	}
	d := &downLink{device: device}
	for line := range strings.Lines(routes) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "proto kernel") { // those the kernel adds again by itself
			d.routes = append(d.routes, "route add "+line+" dev "+device)
		}
	}
	if _, err := command(ctx, "", "ip", "link", "set", device, "down"); err != nil {
		return nil, err
	}
	f.down[with.To] = d
	return map[string]string{"interface": device}, nil
}

func (f *faults) bringUp(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	device, err := f.reach(ctx, c, &with)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.down[with.To]
	if d == nil {
		return nil, fmt.Errorf("the interface %s to %s is not down", device, with.To)
	}
	lines := append([]string{"link set " + device + " up"}, d.routes...)
	if _, err := command(ctx, strings.Join(lines, "\n")+"\n", "ip", "-batch", "-"); err != nil {
		return nil, err
	}
	delete(f.down, with.To)
	return map[string]string{"interface": device}, carrier(ctx, device)
}

// carrier waits until an interface sends. The kernel drops packets between the command and that; the other end must be up too.
func carrier(ctx context.Context, device string) error {
	const within = 30 * time.Second
	for end := time.Now().Add(within); ; {
		out, err := command(ctx, "", "ip", "-o", "link", "show", "dev", device)
		switch {
		case err != nil:
			return err
		case strings.Contains(out, " state UP "):
			return nil
		case time.Now().After(end):
			return fmt.Errorf("the interface %s is not up after %v: is the other end down?", device, within)
		}
		if err := wait(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

func (f *faults) lose(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	device, err := f.reach(ctx, c, &with)
	if err != nil {
		return nil, err
	}
	if !(with.Part >= 0 && with.Part <= 1) {
		return nil, fmt.Errorf("part: %v: want 0 to 1", with.Part)
	}
	// A table that is not there can be added but not deleted, so it is added first.
	table := "table netdev fault_" + device
	rules := table + "\ndelete " + table + "\n"
	if with.Part > 0 {
		rules += table + " {\n" + traffic.Loss("egress", device, with.Part) + "}\n"
	}
	_, err = command(ctx, rules, "nft", "-f", "-")
	return map[string]string{"interface": device}, err
}

func (f *faults) delay(ctx context.Context, c *protocol.Call) (any, error) {
	var with faultWith
	device, err := f.reach(ctx, c, &with)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(with.For)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("for: %q: want a time such as 20ms", with.For)
	}
	// A link with a rate or a delay has a discipline at the root, which tc does not replace by add.
	args := append([]string{"qdisc", "add", "dev", device, "root", "handle", "20:"}, traffic.Delay(d)...)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case d == 0 && !f.delayed[device]:
		return nil, fmt.Errorf("packets to %s are not delayed", with.To)
	case d == 0:
		args = []string{"qdisc", "del", "dev", device, "root"}
	case f.delayed[device]:
		args[1] = "change"
	}
	if _, err := command(ctx, "", "tc", args...); err != nil {
		return nil, fmt.Errorf("%w; it needs netem in the kernel (CONFIG_NET_SCH_NETEM), and a link without rate and delay", err)
	}
	f.delayed[device] = d > 0
	return map[string]string{"interface": device}, nil
}

// command runs a program of this system, and returns what it wrote.
func command(ctx context.Context, input, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdin = strings.NewReader(input)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
