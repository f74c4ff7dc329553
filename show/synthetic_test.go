package show

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// synthetic describes a timeline that is made up: every event is one end of a message.
type synthetic struct {
	hosts, messages int
	span            int64
	delay           int64 // shortest; the longest is some six times as long
	inverted        int   // messages whose stamps contradict their order
	width           int64 // of the bounds, about
	start           int64 // ns since 1970; 0 stands for 2023-11-14
	seed            uint64
}

// timeline makes the hosts' clocks disagree by seconds, and their maps undo that.
func (s synthetic) timeline() *Timeline {
	r := rand.New(rand.NewPCG(s.seed, 42))
	if s.start == 0 {
		s.start = 1_700_000_000_123_456_789
	}
	t := &Timeline{Title: fmt.Sprintf("%d hosts, %d messages", s.hosts, s.messages)}
	report := &Report{Reference: "host-00", Method: "envelope smoother", Assumption: "bounded wander of 0.1 ppm per second"}
	stamps := make([][]int64, s.hosts)
	offsets := make([]int64, s.hosts)
	for i := range s.hosts {
		name := fmt.Sprintf("host-%02d", i)
		m := clock.Identity()
		h := Host{Name: name, Reference: "host-00", Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}}
		if i > 0 {
			offsets[i] = r.Int64N(7e9) - 3e9
			m = s.clockMap(r, offsets[i])
			offset, bound := -offsets[i], s.width
			h.OffsetNs, h.BoundNs, h.SkewPPM = &offset, &bound, ptr(r.Float64()*40-20)
		} else {
			h.OffsetNs, h.BoundNs, h.SkewPPM = ptr(int64(0)), ptr(int64(0)), ptr(0.0)
		}
		report.Hosts = append(report.Hosts, h)
		t.Rows = append(t.Rows, Row{Map: &m})
	}
	channels := make(map[[2]int]int)
	for k := range s.messages {
		from := r.IntN(s.hosts)
		to := (from + 1 + r.IntN(s.hosts-1)) % s.hosts
		// Traffic comes in bursts, as it does.
		burst := float64(r.IntN(12)) / 12
		at := s.start + int64((burst+r.Float64()*r.Float64()/12)*float64(s.span))
		delay := s.delay + int64(r.ExpFloat64()*float64(s.delay))
		if k < s.inverted {
			delay = -delay / 3
		}
		m := trace.Message{Sent: at + offsets[from], Received: at + delay + offsets[to]}
		c, ok := channels[[2]int{from, to}]
		if !ok {
			c = len(t.Channels)
			channels[[2]int{from, to}] = c
			t.Channels = append(t.Channels, trace.Channel{From: from, To: to})
		}
		t.Channels[c].Messages = append(t.Channels[c].Messages, m)
		stamps[from] = append(stamps[from], m.Sent)
		stamps[to] = append(stamps[to], m.Received)
	}
	for i := range t.Rows {
		own := stamps[i]
		t.Rows[i].Events = func(yield func(int, int64) bool) {
			for k, at := range own {
				if !yield(k, at) {
					return
				}
			}
		}
		t.Rows[i].Describe = func(k int) string {
			return fmt.Sprintf("packet %d: TCP 10.0.0.%d:443 > 10.0.0.9:%d, seq %d, 1448 bytes", k, i+1, 40000+k%999, 1448*k)
		}
		report.Hosts[i].Events = int64(len(own))
		if len(own) > 0 {
			t.Rows[i].First, t.Rows[i].Last = slices.Min(own), slices.Max(own)
		}
	}
	for i := 1; i < s.hosts; i++ {
		report.Pairs = append(report.Pairs, Pair{A: "host-00", B: report.Hosts[i].Name, MessagesAB: 1234, MessagesBA: 1200, MinRTTNs: ptr(2 * s.delay),
			Fit: "exact", OffsetNs: ptr(offsets[i]), SkewPPM: report.Hosts[i].SkewPPM, BoundNs: ptr(s.width)})
	}
	report.Quality = Quality{Messages: int64(s.messages), Inversions: int64(s.inverted)}
	report.Warnings = []string{"host-01.pcap: header cut short (17 times, first packet 1042 at offset 88231)"}
	t.Report = report
	return t
}

// clockMap is a map that takes the offset off again, with bounds that breathe.
func (s synthetic) clockMap(r *rand.Rand, offset int64) clock.Map {
	var m clock.Map
	const pieces = 24
	for i := range pieces + 1 {
		t := s.start + s.span*int64(i)/pieces
		m.Mid = append(m.Mid, clock.Knot{Host: t + offset, Timeline: t})
		m.Low = append(m.Low, clock.Knot{Host: t + offset, Timeline: t - s.width/4 - r.Int64N(s.width)})
		m.High = append(m.High, clock.Knot{Host: t + offset, Timeline: t + s.width/4 + r.Int64N(s.width)})
	}
	return m
}
