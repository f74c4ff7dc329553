package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/experiment/protocol"
)

// subnet is the network of all namespaces of a run; every run has its own, because namespaces do not see each other.
const subnet = "10.77"

// canNamespaces says why this process cannot make network namespaces and connect them; nil if it can.
var canNamespaces = sync.OnceValue(func() error {
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("the program ip (iproute2) is missing")
	}
	c := exec.Command("ip", "link", "set", "lo", "up")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("no network namespace can be made: %w %s (root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)", err, strings.TrimSpace(string(out)))
	}
	return nil
})

// openNamespaces starts hosts in network namespaces without names: they go with their last process, whatever ends it.
func openNamespaces(o Options) (*Place, error) {
	p := &Place{Name: "namespaces"}
	for i, h := range o.Run.Hosts {
		s, err := startLocal(h.Name, o.Args, inNamespace)
		if err != nil {
			p.Close(time.Second)
			return nil, err
		}
		s.Address, s.Where = address(i), "a network namespace of this machine"
		s.Setup.Network = []string{"link set lo up"}
		p.Seats = append(p.Seats, s)
	}
	var err error
	if len(o.Run.Links) == 0 {
		err = p.connectAll(o)
	} else {
		err = p.connect(o.Run.Links)
	}
	if err != nil {
		err = p.explain(err)
		p.Close(time.Second)
		return nil, err
	}
	return p, nil
}

func inNamespace(a *syscall.SysProcAttr) { a.Cloneflags = unix.CLONE_NEWNET | unix.CLONE_NEWUTS }

// address is that of the host of a number from 0.
func address(i int) string { return fmt.Sprintf("%s.%d.%d", subnet, (i+1)>>8, (i+1)&255) }

// pid is that of the keeper, which lives as long as its namespace is needed.
func (s *Seat) pid() int { return s.command.Process.Pid }

// connectAll joins all hosts by a bridge in a namespace of its own; without bridges in the kernel, each with each.
func (p *Place) connectAll(o Options) error {
	if len(p.Seats) == 1 {
		p.Seats[0].Setup.Network = append(p.Seats[0].Setup.Network, "addr add "+p.Seats[0].Address+"/32 dev lo")
		return nil
	}
	if !has("ip", "link", "add", "b0", "type", "bridge") {
		return p.connect(eachWithEach(p.Seats))
	}
	hub, err := startLocal("switch", o.Args, inNamespace)
	if err != nil {
		return err
	}
	p.Extra = append(p.Extra, hub)
	var links []string
	inHub := []string{"link set lo up", "link add b0 type bridge", "link set b0 up"}
	for i, s := range p.Seats {
		links = append(links, fmt.Sprintf("link add p%d netns %d type veth peer name eth0 netns %d", i, hub.pid(), s.pid()))
		inHub = append(inHub, fmt.Sprintf("link set p%d master b0 up", i))
		s.Setup.Network = append(s.Setup.Network, "addr add "+s.Address+"/16 dev eth0", "link set eth0 up")
	}
	if err := ip(links); err != nil {
		return err
	}
	return configure(hub, inHub)
}

// configure has the process of a seat that is no host run lines of iproute2.
func configure(s *Seat, lines []string) error {
	setup := protocol.Setup{Version: protocol.Version, Host: s.Host, Network: lines, Switch: true}
	if err := protocol.NewWriter(s.In).Write(protocol.Order{Setup: &setup}); err != nil {
		return &HostError{s.Host, fmt.Errorf("the host's process has gone: %w", err)}
	}
	var r protocol.Report
	line, err := protocol.NewLines(s.Out).Next()
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return &HostError{s.Host, fmt.Errorf("the host's process has gone: %w %s", err, s.Said())}
	case r.Hello == nil:
		return &HostError{s.Host, errors.New(r.Failed)}
	}
	return nil
}

// ip runs lines of iproute2 in the namespace of this process.
func ip(lines []string) error {
	c := exec.Command("ip", "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// has reports whether a command succeeds in a new network namespace: whether the kernel has what it asks for.
func has(args ...string) bool { return hasWith("", args...) }

func hasWith(input string, args ...string) bool {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin = strings.NewReader(input)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	c.Env = append(os.Environ(), "LC_ALL=C")
	return c.Run() == nil
}
