package align_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"meridian/align"
	"meridian/align/sampled"
	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// numbers are what a field of a problem may hold: valid values, their borders, and what is beyond.
var numbers = [...]int64{
	0, 1, 2, 3, 5, 1000, 1_000_000, 1_000_000_000, 60_000_000_000, 1_790_000_000_000_000_000,
	1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64, -1, -1000, -1_000_000_000, -1 << 62, -1<<62 - 1, math.MinInt64,
}

// problemReader makes a problem of any bytes, valid or not.
type problemReader struct{ data []byte }

func (r *problemReader) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// number returns one of numbers, or the sum of two: borders and their neighbours.
func (r *problemReader) number() int64 {
	b := r.byte()
	v := numbers[int(b)%len(numbers)]
	if b >= 128 {
		v += numbers[int(r.byte())%len(numbers)]
	}
	return v
}

func (r *problemReader) index() int { return int(int8(r.byte())) % 6 }

func (r *problemReader) problem() *trace.Problem {
	p := &trace.Problem{}
	for i := range int(r.byte() % 5) {
		name := string(rune('a' + i))
		c := trace.Clock{Name: name, Host: name}
		if flags := r.byte(); flags%4 == 0 { // mostly as it should be: extents left zero
			c.First, c.Last, c.Granularity, c.Events = clock.HostTime(r.number()), clock.HostTime(r.number()), r.number(), r.number()
		} else if flags%4 == 1 {
			c.Name, c.Host = string(rune('a'+r.index())), "a"
		}
		p.Clocks = append(p.Clocks, c)
	}
	for range r.byte() % 6 {
		c := trace.Channel{From: r.index(), To: r.index()}
		at, step := r.number(), r.number()
		for range r.byte() % 64 {
			c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(at), Received: clock.HostTime(at + r.number())})
			at += step
		}
		p.Channels = append(p.Channels, c)
	}
	for range r.byte() % 4 {
		var b trace.Broadcast
		for range r.byte() % 4 {
			b.Receptions = append(b.Receptions, trace.Stamp{Clock: r.index(), Time: clock.HostTime(r.number())})
		}
		p.Broadcasts = append(p.Broadcasts, b)
		p.Samples = append(p.Samples, trace.Sample{Clock: r.index(), Against: r.index(), Host: clock.HostTime(r.number()), Reference: clock.HostTime(r.number()), Error: r.number()})
	}
	return p
}

func (r *problemReader) options() align.Options {
	methods, networks := align.Methods(), align.Networks()
	o := align.Options{Method: methods[int(r.byte())%len(methods)]}
	flags := r.byte()
	if flags&1 != 0 {
		o.Network = networks[int(r.byte())%len(networks)]
	}
	if flags&2 != 0 {
		o.MinDelay = r.number()
	}
	if flags&4 != 0 {
		o.Segment = time.Duration(r.number())
	}
	if flags&8 != 0 {
		o.Samples = sampled.Mode(r.byte())
	}
	if flags&16 != 0 {
		o.Confidence = int(int8(r.byte()))
	}
	o.MeasureDelay = flags&32 != 0
	return o
}

// FuzzProblem demands that no problem and no options, valid or not, make Solve panic or take memory without bound, and that
// what Solve returns are maps that are functions of time.
func FuzzProblem(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{0, 0, 2, 2, 2, 2, 0, 1, 9, 7, 40, 5, 5, 5, 5, 1, 0, 9, 7, 40, 5, 6, 5, 6})
	f.Add([]byte{0, 0, 2, 2, 2, 1, 0, 1, 19, 0, 1, 5}) // one stamp of math.MinInt64
	f.Add([]byte{0, 0, 2, 2, 2, 1, 0, 4, 9, 7, 40, 5}) // to a clock that is not there
	for n := range numbers {
		f.Add([]byte{0, 0, 3, 2, 2, 2, 3, 0, 1, byte(n), 6, 50, 5, 1, 0, byte(n), 6, 50, 4, 1, 2, byte(n), 7, 50, 6})
	}
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		r := &problemReader{data: data}
		o := r.options()
		p := r.problem()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := align.Solve(context.Background(), p, o)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%d MB allocated", used>>20)
		}
		if err != nil {
			return
		}
		for i := range s.Maps {
			if err := s.Maps[i].Mid.Check(); err != nil {
				t.Errorf("clock %d: %v", i, err)
			}
		}
	})
}
