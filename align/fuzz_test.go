package align_test

import (
	"context"
	"encoding/binary"
	"testing"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// FuzzSolve makes a problem of any bytes and demands maps that are functions of time that never run back, bounds on the
// right sides, and estimates within them.
//
//fuzzall:cost 20
func FuzzSolve(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 10, 0, 0, 0, 20, 1, 0, 0, 0, 0, 30, 0, 0, 0, 40}, byte(0))
	long := []byte{}
	for i := range 80 {
		long = append(long, byte(i%2), byte(1-i%2), 0, 0, byte(i), 0, 0, 0, byte(i), byte(20+i%7))
	}
	f.Add(long, byte(0))
	f.Add(long, byte(3))
	methods := align.Methods()
	testseed.FuzzCostly(f, func(t *testing.T, data []byte, choice byte) {
		const hosts = 4
		p := &trace.Problem{}
		for i := range hosts {
			p.Clocks = append(p.Clocks, trace.Clock{Name: string(rune('a' + i)), Host: string(rune('a' + i)), Granularity: 1})
		}
		see := func(c int, at clock.HostTime) {
			k := &p.Clocks[c]
			if k.Events == 0 {
				k.First, k.Last = at, at
			}
			k.First, k.Last = min(k.First, at), max(k.Last, at)
			k.Events++
		}
		channels := make(map[[2]int]int)
		for ; len(data) >= 10; data = data[10:] {
			from, to := int(data[0])%hosts, int(data[1])%hosts
			if from == to {
				continue
			}
			// From nanoseconds to decades, by the first byte's upper half.
			scale := int64(1) << (3 * (data[0] >> 4) % 31)
			m := trace.Message{
				Sent:     clock.HostTime(scale * int64(int32(binary.BigEndian.Uint32(data[2:])))),
				Received: clock.HostTime(scale * int64(int32(binary.BigEndian.Uint32(data[6:])))),
			}
			if m.Sent >= clock.Limit || m.Sent <= -clock.Limit || m.Received >= clock.Limit || m.Received <= -clock.Limit {
				continue
			}
			i, known := channels[[2]int{from, to}]
			if !known {
				i = len(p.Channels)
				channels[[2]int{from, to}] = i
				p.Channels = append(p.Channels, trace.Channel{From: from, To: to})
			}
			p.Channels[i].Messages = append(p.Channels[i].Messages, m)
			see(from, m.Sent)
			see(to, m.Received)
		}
		s, err := align.Solve(context.Background(), p, align.Options{Method: methods[int(choice)%len(methods)]})
		if err != nil {
			return // a method that needs what is not there
		}
		for i := range s.Maps {
			m := &s.Maps[i]
			for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
				if c != nil && c.Check() != nil {
					t.Fatalf("clock %d: %v", i, c.Check())
				}
			}
			if m.Low == nil || m.High == nil || p.Clocks[i].Events == 0 {
				continue
			}
			for _, at := range []clock.HostTime{p.Clocks[i].First, p.Clocks[i].Last} {
				if low, high, _, _ := m.Bounds(at); low > high {
					t.Fatalf("clock %d at %d: low %d above high %d", i, at, low, high)
				}
			}
		}
	})
}
