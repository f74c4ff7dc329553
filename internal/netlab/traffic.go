//go:build unix

package netlab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Traffic is what one host, the client, does with another, the server. All of it goes on at the same time.
type Traffic struct {
	From, To string
	Via      netip.AddrPort // where From finds the TCP and UDP server behind a NAT; the zero value is To itself
	Port     uint16         // TCP and UDP port of the server; 0 is 7000
	IPv6     bool

	Bulk      []int64       // one TCP connection for each, with so many bytes up and then down
	Chats     int           // TCP connections of small requests and answers
	Requests  int           // in each of them
	Reuses    int           // short TCP connections, one after the other, all from one local port
	Datagrams int           // UDP, each answered; one in ten is like all the others of the ten
	Pings     int           // ICMP echo
	Queries   int           // UDP, each from a port of its own, as of DNS, and asked again without an answer
	Over      time.Duration // requests, datagrams, pings and queries are spread evenly over it
}

// Mixed returns some of everything, about twenty thousand packets if segments are not larger than an Ethernet frame.
func Mixed(from, to string) Traffic {
	return Traffic{
		From: from, To: to,
		Bulk: []int64{4 << 20, 2 << 20}, Chats: 3, Requests: 500, Reuses: 20, Datagrams: 1000, Pings: 100,
		Over: 2 * time.Second,
	}
}

// errand is what a client is told.
type errand struct {
	Traffic
	Server netip.AddrPort
	Target netip.Addr // of pings
}

// Run sends all the traffics at once and returns when the last is done.
func (l *Lab) Run(traffics ...Traffic) {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatalf("netlab: %v", err)
	}
	type server struct {
		host string
		port uint16
	}
	serving := make(map[server]bool)
	errands := make([]errand, len(traffics))
	for i, t := range traffics {
		if t.Port == 0 {
			t.Port = 7000
		}
		e := errand{Traffic: t, Target: l.Address(t.From, t.To), Server: t.Via}
		if t.IPv6 {
			e.Target = l.Address6(t.From, t.To)
		}
		if !e.Server.IsValid() {
			e.Server = netip.AddrPortFrom(e.Target, t.Port)
		}
		errands[i] = e
		if at := (server{t.To, t.Port}); !serving[at] {
			serving[at] = true
			stop := l.host(at.host).serve(self, at.port)
			defer stop()
		}
	}
	failures := make([]error, len(errands))
	var all sync.WaitGroup
	for i, e := range errands {
		order, err := json.Marshal(e)
		if err != nil {
			l.t.Fatalf("netlab: %v", err)
		}
		c := asHelper(l.Command(e.From, self), "client")
		c.Stdin = bytes.NewReader(order)
		all.Go(func() {
			if out, err := c.CombinedOutput(); err != nil {
				failures[i] = fmt.Errorf("%s to %s: %w: %s", e.From, e.To, err, strings.TrimSpace(string(out)))
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			l.t.Errorf("netlab: %v", err)
		}
	}
}

// serve starts a server on the host. It returns once that listens; stop stops it.
func (h *host) serve(self string, port uint16) (stop func()) {
	h.t.Helper()
	end, err := h.helper(self, "server", fmt.Sprint(port))
	if err != nil {
		h.t.Fatalf("netlab: server on %s: %v", h.name, err)
	}
	return func() {
		if err := end(); err != nil {
			h.t.Errorf("netlab: server on %s: %v", h.name, err)
		}
	}
}

// helper starts this binary on the host in a role that takes orders and answers when it is ready. It ends with its orders, which
// end returns from.
func (h *host) helper(self, as, order string) (end func() error, err error) {
	c := asHelper(h.command(context.WithoutCancel(h.t.Context()), self), as)
	said := new(strings.Builder)
	c.Stderr = said
	orders, err := c.StdinPipe() // the helper ends with it, and so with the test
	if err != nil {
		return nil, err
	}
	answers, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(orders, order); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(answers).ReadString('\n'); err != nil {
		c.Wait()
		return nil, fmt.Errorf("%w: %s%s", err, line, said)
	}
	return func() error {
		orders.Close()
		if err := c.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}, nil
}
