package steps

import (
	"context"
	"testing"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzFind takes any messages between three clocks, and messages of clocks of which one was set at times. Every message must
// be in a piece or counted as left out, every stamp within its piece, and of each original clock the pieces must be in order.
// Clocks that nobody set must not be parted. The joined map must be a curve with its lower bound nowhere above the upper one,
// and Steps must say one thing for each cut.
//
//fuzzall:cost 10
func FuzzFind(f *testing.F) {
	set := []byte{1, 1, 16, 3}
	for i := range byte(60) {
		set = append(set, i%2, i, 10+i%7)
	}
	f.Add(set)
	set[2] = 0
	f.Add(set)
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		var p *trace.Problem
		quiet := false
		if in.N(2) == 1 {
			p, quiet = setClocks(in)
		} else {
			p = &trace.Problem{Clocks: make([]trace.Clock, 3)}
			for n := 0; in.More() && n < 100; n++ {
				// A clock's messages to itself say nothing of when it was set. Stamps lie within two years of 1970: over
				// centuries the curves of pairs leave int64.
				from := in.N(3)
				send(p, from, (from+1+in.N(2))%3, in.Stamp()/64, in.Stamp()/64)
			}
		}
		for i := range p.Clocks {
			p.Clocks[i].Granularity = 1
		}
		parted, err := Find(context.Background(), p, pairsOf(p), 100, in.N(len(p.Clocks)+1)-1)
		if err != nil {
			t.Fatal(err)
		}
		if parted == nil {
			return
		}
		if quiet {
			t.Fatalf("clocks that nobody set are parted, with %d outliers: %+v", parted.Outliers, p)
		}
		for rounds := 0; parted != nil; rounds++ {
			if rounds > 100 {
				t.Fatal("the parted problem is never confirmed")
			}
			checkParted(t, p, parted)
			parted = parted.Unconfirmed(joinPieces(t, parted))
		}
	})
}

// send adds a message to a channel of its own or to the one that is there.
func send(p *trace.Problem, from, to int, sent, received clock.HostTime) {
	for _, end := range []trace.Stamp{{Clock: from, Time: sent}, {Clock: to, Time: received}} {
		c := &p.Clocks[end.Clock]
		if c.Events == 0 {
			c.First, c.Last = end.Time, end.Time
		}
		c.First, c.Last = min(c.First, end.Time), max(c.Last, end.Time)
		c.Events++
	}
	for i := range p.Channels {
		if c := &p.Channels[i]; c.From == from && c.To == to {
			c.Messages = append(c.Messages, trace.Message{Sent: sent, Received: received})
			return
		}
	}
	p.Channels = append(p.Channels, trace.Channel{From: from, To: to, Messages: []trace.Message{{Sent: sent, Received: received}}})
}

// setClocks makes messages of two or three clocks, the first of which may be set up to twice; quiet says that it is not.
func setClocks(in *fuzztest.Input) (p *trace.Problem, quiet bool) {
	p = &trace.Problem{Clocks: make([]trace.Clock, 2+in.N(2))}
	by := [2]clock.HostTime{clock.HostTime(int8(in.Byte())) << 20, clock.HostTime(int8(in.Byte())) << 24}
	step := 1 + clock.HostTime(in.Below(in.N(16)))
	if in.N(2) == 0 {
		by[1] = 0
	}
	now, n := clock.HostTime(1_790_000_000_000_000_000), 0
	for ; in.More() && n < 150; n++ {
		now += step
		from := in.N(len(p.Clocks))
		to := (from + 1 + in.N(len(p.Clocks)-1)) % len(p.Clocks)
		shown := func(c int, t clock.HostTime) clock.HostTime {
			if c == 0 && n >= 50 {
				t += by[0]
			}
			if c == 0 && n >= 100 {
				t += by[1]
			}
			return t
		}
		send(p, from, to, shown(from, now), shown(to, now+1+clock.HostTime(in.Below(3))))
	}
	return p, by[0] == 0 && by[1] == 0 || n <= 50
}

// pairsOf gathers the messages of each two clocks.
func pairsOf(p *trace.Problem) []Pair {
	var all []Pair
	for a := range p.Clocks {
		for b := a + 1; b < len(p.Clocks); b++ {
			x := Pair{A: a, B: b, Messages: pair.Problem{A: p.Clocks[a], B: p.Clocks[b]}}
			for _, c := range p.Channels {
				switch {
				case c.From == a && c.To == b:
					x.Messages.AB = append(x.Messages.AB, c.Messages)
				case c.From == b && c.To == a:
					x.Messages.BA = append(x.Messages.BA, c.Messages)
				}
			}
			if len(x.Messages.AB)+len(x.Messages.BA) > 0 {
				all = append(all, x)
			}
		}
	}
	return all
}

func checkParted(t *testing.T, p *trace.Problem, parted *Parted) {
	t.Helper()
	count := func(p *trace.Problem) (n int64) {
		for _, c := range p.Channels {
			n += int64(len(c.Messages))
		}
		return n
	}
	left := int64(len(parted.leftOut))
	if count(p) != count(&parted.Problem)+left || parted.Outliers > left {
		t.Fatalf("%d messages became %d and %d left out, %d of them outliers", count(p), count(&parted.Problem), left, parted.Outliers)
	}
	for c := range p.Clocks {
		pieces := parted.Pieces(c)
		if len(pieces) > 0 && pieces[0] != c {
			t.Fatalf("the first piece of clock %d is %d", c, pieces[0])
		}
		for _, k := range pieces {
			if parted.ClockOf(k) != c {
				t.Fatalf("piece %d is of clock %d, not %d", k, parted.ClockOf(k), c)
			}
		}
		if best := parted.Longest(c); parted.ClockOf(best) != c {
			t.Fatalf("the longest piece of clock %d is %d", c, best)
		}
	}
	for _, c := range parted.Channels {
		from, to := &parted.Clocks[c.From], &parted.Clocks[c.To]
		for _, m := range c.Messages {
			if m.Sent < from.First || m.Sent > from.Last || m.Received < to.First || m.Received > to.Last {
				t.Fatalf("%+v is not within %+v and %+v", m, from, to)
			}
		}
	}
}

// joinPieces aligns a parted problem, checks the joined maps, and returns the tree.
func joinPieces(t *testing.T, parted *Parted) *network.Tree {
	t.Helper()
	var edges []network.Edge
	for _, x := range pairsOf(&parted.Problem) {
		edges = append(edges, network.Edge{A: x.A, B: x.B, Map: pair.Hull(&x.Messages).Map, Weight: 1})
	}
	edges = withEstimates(edges)
	tree, err := network.Build("", len(parted.Clocks), edges, -1)
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for c := range parted.Original.Clocks {
		cuts += max(len(parted.Pieces(c))-1, 0)
		var pieces []Piece
		for _, k := range parted.Pieces(c) {
			if tree.Component[k] != tree.Component[parted.Longest(c)] {
				continue
			}
			pieces = append(pieces, Piece{First: parted.Clocks[k].First, Last: parted.Clocks[k].Last, Map: tree.Maps[k]})
		}
		m := Join(pieces)
		for _, curve := range []clock.Curve{m.Mid, m.Low, m.High} {
			if curve == nil {
				continue
			}
			if err := curve.Check(); err != nil {
				t.Fatalf("clock %d: %v: %v of %+v", c, err, curve, pieces)
			}
			for _, k := range curve {
				if low, high, lowOK, highOK := m.Bounds(k.X); lowOK && highOK && low > high {
					t.Fatalf("clock %d at %d: low %d above high %d", c, k.X, low, high)
				}
			}
		}
	}
	steps := parted.Steps(tree)
	if len(steps) != cuts || parted.Stepped() != (cuts > 0) {
		t.Fatalf("%d steps of %d cuts", len(steps), cuts)
	}
	for _, s := range steps {
		if s.Between < 0 || s.Other == s.Clock {
			t.Fatalf("%+v", s)
		}
	}
	if n := parted.CountLeftOut(tree); n.Messages > int64(len(parted.leftOut)) {
		t.Fatalf("%d of %d messages left out are counted", n.Messages, len(parted.leftOut))
	}
	return tree
}

// withEstimates returns the edges that have one.
func withEstimates(edges []network.Edge) (out []network.Edge) {
	for _, e := range edges {
		if e.Map.Mid != nil {
			out = append(out, e)
		}
	}
	return out
}
