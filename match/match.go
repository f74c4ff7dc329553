// Package match finds, in captures of several hosts, the packets that are the two ends of one message.
//
// In go captures ([trace.Capture]); out comes a [Result]: the clocks and the messages between them, and an account of
// what was left out. Matching goes in steps, each a file:
//
//	join                files that are one capture
//	index, connection   packets by flow; TCP flows cut into connections, since ports are used again
//	pairing, nat        conversations that two captures saw, under the same addresses or under translated ones
//	tunnels             packets that one capture saw inside a tunnel and the other outside, or in another
//	orient              which capture is nearer to the sender: addresses given, direction flags, round trips,
//	                    TTL, MAC, addresses learnt elsewhere
//	groups, taps        where hops and round trips prove no direction
//	pool                the same, asked of all conversations between two addresses together
//	tcp                 for every received byte range, the one segment that sent its last byte; pure
//	                    acknowledgements one to one
//	datagram            UDP, QUIC, ICMP and the rest by content, addresses aside
//	copies              what may be used of flows in which nothing tells one packet from another
//	paths               which copies delays tell apart
//	founders            packets that cannot repeat, which all others must fit
//	unaddressed         TCP packets of which a kernel tracer recorded neither addresses nor ports
//	opening             of those, SYNs whose answers were matched
//	addressed           the same between such a capture and one with addresses
//	twoclocks           captures whose sent and received packets were stamped by two clocks
//	votes               how many votes decide, of which some are false
//
// Beside captures:
//
//	tagged, collective  marks of programs and tracers, joined by their keys
//	spans               clients and servers, producers and consumers; replies tested by durations
//	replyshape          what the delays of replies show of their servers' ends
//	spannames           whether all spans of a host are of one clock
//
// A message is a byte range, not a packet: a sender's super-segment (TSO) arrives as many packets or as other
// super-segments (GRO), and for every range received the send of its last byte happened before, however it was
// divided; of its first byte, where the receiver merged it and may have stamped the first part (ranges.go):
//
//	sent      |--------- 64 KiB, at t --------|--------- ...
//	received  |--1448--|--1448--|--2896--| ...          each gives: t before its own stamp
//
// A wrong message is worse than none, since one of them can void a bound. Whatever could be one of several (a byte sent
// twice with the same timestamp, two datagrams of the same content) is left out, counted and said. So is what was seen
// once at both ends of a flow that repeats packets while both captures miss some.
//
// The cost is O(n) for n packets, beside sorting what came out of order.
package match

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/trace"
)

// Options says what the user knows. The zero value is nothing.
type Options struct {
	// Addresses gives addresses of hosts by name. They override what the captures seem to say. Names of hosts that no
	// capture has are ignored. An address that is given to several hosts is that of the last of them in order of captures.
	Addresses map[string][]netip.Addr
	// Memory takes what grows with the packets: indexes while Match runs, and the messages of its result. nil is Go's heap. Where it is
	// not, the captures' packets should be there too ([trace.NewLog]).
	Memory trace.Memory
}

func (o *Options) check() error {
	for _, host := range slices.Sorted(maps.Keys(o.Addresses)) {
		for _, a := range o.Addresses[host] {
			if !a.IsValid() {
				return fmt.Errorf("match: an address given for host %q is invalid", host)
			}
		}
	}
	return nil
}

// Result is the messages found. Its Problem has one clock per host in order of the captures, behind them the second clocks
// of hosts that have one, and for each pair of captures a channel each way, which may be empty.
type Result struct {
	trace.Problem
	Addresses [][]netip.Addr  // of each clock's host, given and learnt, ascending
	Captures  []CaptureClocks // in the order in which they were given
	Tally     Tally
}

// CaptureClocks says which clock stamped each packet of a capture: Sent, or Received for those that came in. They are
// the same unless the capture has two.
type CaptureClocks struct {
	Sent, Received int
	// Met says that another host's capture has packets in common, whether or not they could be matched.
	Met bool
	// IsReceived tells the packets of the received clock by number, one bit each; nil for a capture of one clock.
	IsReceived []uint64
}

// Of returns the clock of a packet by its number, 0 <= packet < the number of packets of the capture.
func (c *CaptureClocks) Of(packet int) int {
	if c.IsReceived != nil && c.IsReceived[packet>>6]&(1<<(packet&63)) != 0 {
		return c.Received
	}
	return c.Sent
}

// Tally counts what became of the packets that two captures saw.
type Tally struct {
	Messages   int64
	Ambiguous  int64 // packets received that could be one of several
	Unsure     int64 // packets received whose flow repeats packets while both captures miss some (copies.go)
	Unplaced   int64 // packets that may repeat and do not fit those that cannot (founders.go), or there are none of these
	Unoriented int64 // packets of conversations whose sender is unknown, as many as the capture with fewer of them has
}

func (t *Tally) add(o Tally) {
	t.Messages += o.Messages
	t.Ambiguous += o.Ambiguous
	t.Unsure += o.Unsure
	t.Unplaced += o.Unplaced
}

// warn says how many packets were left out of matching, and why.
func (t *Tally) warn(w *trace.Warnings) {
	if t.Ambiguous > 0 {
		w.AddN("", "packets left out of matching: each could be one of several", "", t.Ambiguous)
	}
	if t.Unsure > 0 {
		w.AddN("", "packets left out of matching: their flows repeat packets and both captures miss some, so that a copy may be unseen; "+
			"capture without losses (tcpdump -B 65536, a shorter -s, a filter)", "", t.Unsure)
	}
	if t.Unplaced > 0 {
		w.AddN("", "packets left out of matching: equal ones may be sent at other times (the same bytes, no identifications), and no packets that cannot repeat "+
			"show that both captures hold the same ones", "", t.Unplaced)
	}
}

// Match finds the messages between captures of different hosts. Captures with the same Host share a clock; those that
// are parts of one (rotated files, what was sent and what was received) are matched as one. Warnings, which may be nil,
// name what was left out, and captures that seem to be of one host.
//
// The captures are only read. The result refers to none of them and is the same whatever the number of processors. Match
// returns an error if a capture is nil or does not pass [trace.Capture.Check], if an address given is invalid, or when
// ctx is done; no capture or a single one gives no messages and no error.
func Match(ctx context.Context, captures []*trace.Capture, o Options, w *trace.Warnings) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	for i, c := range captures {
		if c == nil {
			return nil, fmt.Errorf("match: capture %d is nil", i)
		}
	}
	if w == nil {
		w = &trace.Warnings{}
	}
	if err := inParallel(ctx, len(captures), func(i int) error {
		if err := captures[i].Check(); err != nil {
			return fmt.Errorf("match: capture %d (%s of host %q): %w", i, captures[i].File, captures[i].Host, err)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	joined := joinCaptures(captures, o.Memory)
	hosts := hostsOf(joined)
	indexes := make([]*index, len(joined))
	if err := inParallel(ctx, len(joined), func(i int) error {
		indexes[i] = newIndex(joined[i].Capture, hosts.of[i], o.Memory)
		return nil
	}); err != nil {
		return nil, err
	}
	conversations, err := findConversations(ctx, indexes)
	if err != nil {
		return nil, err
	}
	orientation := newOrientation(indexes, hosts.names, o)
	if err := orientation.decide(ctx, conversations, w); err != nil {
		return nil, err
	}
	links, tally, err := matchConversations(ctx, conversations, o.Memory)
	if err != nil {
		return nil, err
	}
	unaddressed, more := matchUnaddressed(indexes, orientation.met)
	links = append(links, unaddressed...)
	tally.add(more)
	for _, x := range indexes {
		tally.Ambiguous += x.vague
	}
	tally.warn(w)
	tally.Unoriented = orientation.undecided
	tally.Ambiguous += orientation.repeated
	r := &Result{Tally: tally}
	if err := r.stamp(ctx, indexes, hosts, newRoles(indexes, conversations, orientation), links, o.Memory); err != nil {
		return nil, err
	}
	for i, x := range indexes {
		c := &r.Captures[i]
		c.Met = orientation.met[x]
		if c.Received != c.Sent {
			w.Add(x.File, fmt.Sprintf("two clocks stamped its packets, as most of those sent and received in turn show: %s those sent, %s those received",
				r.Clocks[c.Sent].Name, r.Clocks[c.Received].Name), "")
		}
	}
	r.Captures = divide(joined, r.Captures, captures)
	for i, c := range r.Captures {
		for _, k := range []int{c.Sent, c.Received} {
			r.Clocks[k].Granularity = max(r.Clocks[k].Granularity, captures[i].Granularity)
		}
	}
	r.Addresses = orientation.addressesOf(r.Clocks)
	for _, x := range indexes {
		x.free()
	}
	return r, nil
}

// hosts names the hosts in order of appearance and the host of each capture.
type hosts struct {
	names []string
	of    []int
}

func hostsOf(captures []joined) hosts {
	var h hosts
	number := make(map[string]int)
	for _, c := range captures {
		n, ok := number[c.Host]
		if !ok {
			n = len(h.names)
			number[c.Host] = n
			h.names = append(h.names, c.Host)
		}
		h.of = append(h.of, n)
	}
	return h
}

// findConversations pairs up every two captures of different hosts.
func findConversations(ctx context.Context, indexes []*index) ([]conversation, error) {
	var pairs [][2]int
	for i := range indexes {
		for j := i + 1; j < len(indexes); j++ {
			if indexes[i].host != indexes[j].host {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	found := make([][]conversation, len(pairs))
	err := inParallel(ctx, len(pairs), func(k int) error {
		found[k] = pairUp(indexes[pairs[k][0]], indexes[pairs[k][1]])
		return nil
	})
	var conversations []conversation
	for _, f := range found {
		conversations = append(conversations, f...)
	}
	return conversations, err
}

// inParallel runs f for 0..n-1 on as many processors as there are and waits for all.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	return group.Wait()
}
