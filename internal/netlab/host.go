//go:build unix

package netlab

import (
	"context"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
)

// host is a network namespace with its interfaces.
type host struct {
	t         testing.TB
	name      string
	namespace string
	ports     []port
}

// port is one interface of a host and where it leads to.
type port struct {
	name   string
	peer   string
	v4, v6 netip.Addr
}

// command returns a command that runs on the host.
func (h *host) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	args = append([]string{"netns", "exec", h.namespace, program}, args...)
	return exec.CommandContext(ctx, "ip", args...)
}

// run runs a command on the host to its end.
func (h *host) run(program string, args ...string) {
	h.t.Helper()
	run(h.t, h.command(h.t.Context(), program, args...))
}

// ip configures the host's interfaces.
func (h *host) ip(args ...string) {
	h.t.Helper()
	run(h.t, exec.Command("ip", append([]string{"-n", h.namespace}, args...)...))
}

// nft adds rules to the host's packet filter.
func (h *host) nft(rules string) {
	h.t.Helper()
	c := h.command(h.t.Context(), "nft", "-f", "-")
	c.Stdin = strings.NewReader(rules)
	run(h.t, c)
}

// portTo returns the interface that leads to a host, else the first one.
func (h *host) portTo(peer string) port {
	h.t.Helper()
	if len(h.ports) == 0 {
		h.t.Fatalf("netlab: %s has no link", h.name)
	}
	for _, p := range h.ports {
		if p.peer == peer {
			return p
		}
	}
	return h.ports[0]
}

// route makes another host the way to all hosts without a link to this one.
func (h *host) route(via *host) {
	h.t.Helper()
	p := via.portTo(h.name)
	h.ip("route", "add", "default", "via", p.v4.String())
	h.ip("-6", "route", "add", "default", "via", p.v6.String())
}

// run runs a command to its end. The test ends if it fails.
func run(t testing.TB, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("netlab: %s: %v: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(string(out)))
	}
}
