package thread

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// tap is captures of hosts 0 (client), 1 (server) and 2 (database), by a common clock.
type tap struct{ seen []tapped }

type tapped struct {
	at       int64
	host     int
	out      bool
	from, to netip.AddrPort
	p        wire.Packet
}

// packet goes on a connection that a host opened to another, from its port.
func (c *tap) packet(client, server int, port uint16, reply bool, sent, received int64, seq, length, ack uint32) {
	a, b := netip.AddrPortFrom(addresses[client], port), netip.AddrPortFrom(addresses[server], uint16(7000+server))
	from, to := client, server
	if reply {
		a, b, from, to = b, a, server, client
	}
	p := wire.Packet{Flags: 16, ID: uint16(sent / 10), Seq: seq, Length: length, Ack: ack}
	c.seen = append(c.seen, tapped{sent, from, true, a, b, p}, tapped{received, to, false, a, b, p})
}

func (c *tap) play(t *testing.T) (*World, []wire.Request) {
	t.Helper()
	w, set := NewWorld(3, &cause.Model{Hosts: []int{0, 1, 2}, MinDelay: 1}), wire.NewSet()
	slices.SortStableFunc(c.seen, func(a, b tapped) int { return cmp.Compare(a.at, b.at) })
	for _, x := range c.seen {
		x.p.At, x.p.Event, x.p.Host, x.p.Row, x.p.Out = x.at, x.at, x.host, x.host, x.out
		w.Packet(w.Host(x.host, x.host), set.Add(x.p, x.from, x.to), Captured)
	}
	set.Join()
	list := set.Requests()
	w.Client = set.Client
	w.Serve(list)
	return w, list
}

const ms = 1_000_000

// TestAHostOfPacketsAloneHasWaitedOnlyForWhatItAsked has captures, in which nothing tells threads apart.
func TestAHostOfPacketsAloneHasWaitedOnlyForWhatItAsked(t *testing.T) {
	t.Parallel()
	asksDatabase := func(c *tap) {
		c.packet(1, 2, 50000, false, 10*ms, 10*ms+50, 1, 16, 1)
		c.packet(1, 2, 50000, true, 30*ms, 30*ms+50, 1, 16, 17)
	}
	for name, c := range map[string]struct {
		add     func(c *tap)
		want    string
		assumed int
	}{
		"nobody else": {func(*tap) {}, "0>1 100, at the host@1 59999900, 1>0 100", 0},
		// The client asks again on a connection on which it had a reply meanwhile. The server did not wait for that.
		"another connection of the client": {func(c *tap) {
			c.packet(0, 1, 40002, false, 500, 600, 1, 16, 1)
			c.packet(0, 1, 40002, true, 5*ms, 5*ms+100, 1, 16, 17)
			c.packet(0, 1, 40002, false, 40*ms, 40*ms+100, 17, 16, 17)
			c.packet(0, 1, 40002, true, 50*ms, 50*ms+100, 17, 16, 33)
		}, "0>1 100, at the host@1 59999900, 1>0 100", 0},
		"it asked the database": {asksDatabase, "0>1 100, at the host@1 9998900, 1>2 50, at the host@2 19999950, 2>1 50, at the host@1 30000950, 1>0 100", 0},
		"it had two requests and asked the database": {func(c *tap) {
			asksDatabase(c)
			c.packet(0, 1, 40002, false, 2*ms, 2*ms+100, 1, 16, 1)
			c.packet(0, 1, 40002, true, 31*ms, 31*ms+100, 1, 16, 17)
		}, "0>1 100, at the host@1 9998900, 1>2 50, at the host@2 19999950, 2>1 50, at the host@1 30000950, 1>0 100", 3},
		"a request that had been answered before": {func(c *tap) {
			asksDatabase(c)
			c.packet(0, 1, 40002, false, 2*ms, 2*ms+100, 1, 16, 1)
			c.packet(0, 1, 40002, true, 3*ms, 3*ms+100, 1, 16, 17)
		}, "0>1 100, at the host@1 9998900, 1>2 50, at the host@2 19999950, 2>1 50, at the host@1 30000950, 1>0 100", 0},
	} {
		var s tap
		s.packet(0, 1, 40001, false, 1000, 1100, 1, 16, 1)
		s.packet(0, 1, 40001, true, 60*ms+1000, 60*ms+1100, 1, 16, 17)
		c.add(&s)
		w, list := s.play(t)
		i := slices.IndexFunc(list, func(r wire.Request) bool { return r.First.At == 1000 })
		pieces, known := w.Path(&list[i])
		assumed := 0
		for _, p := range pieces {
			if p.Assumed {
				assumed++
			}
		}
		if got := drawn(pieces); !known || got != c.want || assumed != c.assumed {
			t.Errorf("%s: the path is\n%s (%d assumed) and not\n%s (%d)", name, got, assumed, c.want, c.assumed)
		}
	}
}

func TestADelayedAcknowledgementIsNamedWherePacketsAloneAreRecorded(t *testing.T) {
	t.Parallel()
	// The server sends the head of its reply, and the body when the client has acknowledged that: Nagle's rule.
	for name, c := range map[string]struct {
		body int64 // is sent so long after the acknowledgement came
		want string
	}{
		"let go by the acknowledgement": {60_000, "0>1 100, at the host@1 999900, 1>0 100, delayed ACK@0 39999900, 0>1 100, at the host@1 60000, 1>0 100"},
		"sent by itself, later":         {8 * ms, "0>1 100, at the host@1 49000000, 1>0 100"},
	} {
		var s tap
		s.packet(0, 1, 40001, false, 1000, 1100, 1, 16, 1)
		s.packet(0, 1, 40001, true, ms+1000, ms+1100, 1, 16, 17)
		s.packet(0, 1, 40001, false, 41*ms+1000, 41*ms+1100, 17, 0, 17)
		at := 41*ms + 1100 + c.body
		s.packet(0, 1, 40001, true, at, at+100, 17, 100, 17)
		w, list := s.play(t)
		if len(list) != 1 {
			t.Fatalf("%d requests", len(list))
		}
		if pieces, known := w.Path(&list[0]); !known || drawn(pieces) != c.want {
			t.Errorf("%s: the path is\n%s and not\n%s", name, drawn(pieces), c.want)
		}
	}
}
