package show

import (
	"fmt"
	"math/rand/v2"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

// synthetic describes clocks that are made up, and messages between them.
type synthetic struct {
	hosts, messages int
	span            int64
	delay           int64 // shortest; the longest is some six times as long
	width           int64 // of the bounds, about
	seed            uint64
}

const syntheticStart = 1_700_000_000_123_456_789 // 2023-11-14

// gallery makes the hosts' clocks disagree by seconds, and their maps undo that.
func (s synthetic) gallery() *Gallery {
	r := rand.New(rand.NewPCG(s.seed, 42))
	g := &Gallery{}
	offsets := make([]clock.HostTime, s.hosts)
	for i := range s.hosts {
		m, bound := clock.Identity(), int64(0)
		if i > 0 {
			offsets[i] = clock.HostTime(r.Int64N(7e9) - 3e9)
			m, bound = s.clockMap(r, offsets[i]), s.width
		}
		first := syntheticStart + offsets[i]
		g.Clocks = append(g.Clocks, GalleryClock{Name: fmt.Sprintf("host-%02d", i), Reference: "host-00", Map: &m, First: first, Last: first + clock.HostTime(s.span), BoundNs: &bound})
	}
	channels := make(map[[2]int]int)
	for range s.messages {
		from := r.IntN(s.hosts)
		to := (from + 1 + r.IntN(s.hosts-1)) % s.hosts
		at := syntheticStart + r.Int64N(s.span)
		m := trace.Message{Sent: clock.HostTime(at) + offsets[from], Received: clock.HostTime(at+s.delay+int64(r.ExpFloat64()*float64(s.delay))) + offsets[to]}
		c, ok := channels[[2]int{from, to}]
		if !ok {
			c = len(g.Channels)
			channels[[2]int{from, to}] = c
			g.Channels = append(g.Channels, trace.Channel{From: from, To: to})
		}
		g.Channels[c].Messages = append(g.Channels[c].Messages, m)
	}
	return g
}

// clockMap is a map that takes the offset off again, with bounds that breathe.
func (s synthetic) clockMap(r *rand.Rand, offset clock.HostTime) clock.Map {
	var m clock.Map
	const pieces = 24
	for i := range pieces + 1 {
		t := clock.TimelineTime(syntheticStart + s.span*int64(i)/pieces)
		m.Mid = append(m.Mid, clock.Knot{X: clock.HostTime(t) + offset, Y: t})
		m.Low = append(m.Low, clock.Knot{X: clock.HostTime(t) + offset, Y: t - clock.TimelineTime(s.width/4) - clock.TimelineTime(r.Int64N(s.width))})
		m.High = append(m.High, clock.Knot{X: clock.HostTime(t) + offset, Y: t + clock.TimelineTime(s.width/4) + clock.TimelineTime(r.Int64N(s.width))})
	}
	return m
}

// drawCurve draws a curve whose pieces are from a nanosecond to seconds long.
func drawCurve(t *rapid.T, name string, shift int64) clock.Curve {
	h := clock.HostTime(rapid.Int64Range(-1e9, 1e9).Draw(t, name+" start"))
	v := clock.TimelineTime(int64(h) + shift)
	var c clock.Curve
	for range rapid.IntRange(1, 40).Draw(t, name+" knots") {
		c = append(c, clock.Knot{X: h, Y: v})
		step := rapid.SampledFrom([]int64{1, 2, 1000, 1e6, 1e9}).Draw(t, name+" step")
		h += clock.HostTime(step)
		v += clock.TimelineTime(step + rapid.Int64Range(-step/2, step/2).Draw(t, name+" drift"))
	}
	return c
}
