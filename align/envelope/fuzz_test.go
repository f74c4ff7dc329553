package envelope

import (
	"context"
	"math"
	"reflect"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// FuzzSmooth takes any messages, and messages between linear clocks. Pair, Stream and Joint must give curves that never run
// back, finite numbers and deviations in order of time, or report that there are too few messages, as with fewer than sixteen
// each way they must. A Stream must say the same again when it is asked again.
//
//fuzzall:cost 50
func FuzzSmooth(f *testing.F) {
	linear := []byte{1, 1, 0, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 26, 6}
	for i := range byte(64) {
		linear = append(linear, i%2, i, 0, 0, 10+i*37%90)
	}
	f.Add(linear)
	wild := []byte{0}
	for i := range byte(64) {
		wild = append(wild, 30, i, 0, i, 30, i, 10, 2*i)
	}
	f.Add(wild)
	testseed.FuzzCostly(f, func(t *testing.T, data []byte) {
		in := fuzztest.From(data)
		p := &pair.Problem{}
		if in.N(2) == 1 {
			x := in.Pair(0)
			p = &pair.Problem{A: x.A, B: x.B, MinAB: x.MinAB, MinBA: x.MinBA, AB: pair.Messages{x.There}, BA: pair.Messages{x.Back}}
		} else {
			there, back := in.Messages()
			p.AB, p.BA = pair.Messages{tamed(there)}, pair.Messages{tamed(back)}
			p.A, p.B = extent(there, back), extent(back, there)
		}
		few := min(p.AB.Len(), p.BA.Len()) < 16
		one, ok := Pair(p)
		checkSmoothed(t, "pair", one, ok, few)
		var s Stream
		s.Granularity, s.MinAB, s.MinBA = max(p.A.Granularity, p.B.Granularity), p.MinAB, p.MinBA
		for m := range p.AB.All() {
			s.AB.Add(m)
		}
		for m := range p.BA.All() {
			s.BA.Add(m)
		}
		streamed, streamOK := s.Smooth()
		checkSmoothed(t, "stream", streamed, streamOK, few)
		if again, also := s.Smooth(); also != streamOK || !reflect.DeepEqual(again, streamed) {
			t.Fatalf("%+v, and asked again %+v", streamed, again)
		}
		if ok {
			joined, err := Joint(context.Background(), &Network{
				Clocks:   []trace.Clock{p.A, p.B},
				Channels: []trace.Channel{{From: 0, To: 1, Messages: p.AB[0]}, {From: 1, To: 0, Messages: p.BA[0]}},
				Start:    []clock.PairCurve{one.Curve, {{}}}, Sigma: []float64{1e-9, 1e-9}, Reference: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range joined.Curves {
				if err := c.Check(); err != nil {
					t.Fatalf("joint: clock %d: %v: %v", i, err, c)
				}
			}
		}
	})
}

// tamed returns messages within 36 years of 1970: a smoothed curve may leave the range of its messages.
func tamed(all []trace.Message) []trace.Message {
	for i, m := range all {
		all[i] = trace.Message{Sent: m.Sent / 4, Received: m.Received / 4}
	}
	return all
}

// extent returns the clock that sent some messages and received others.
func extent(sent, received []trace.Message) trace.Clock {
	c := trace.Clock{Granularity: 1, First: clock.Limit, Last: -clock.Limit}
	for _, m := range sent {
		c.First, c.Last = min(c.First, m.Sent), max(c.Last, m.Sent)
	}
	for _, m := range received {
		c.First, c.Last = min(c.First, m.Received), max(c.Last, m.Received)
	}
	return c
}

func checkSmoothed(t *testing.T, name string, s *Smoothed, ok, few bool) {
	t.Helper()
	if ok && few {
		t.Fatalf("%s: too few messages give %+v", name, s)
	}
	if !ok {
		return
	}
	if err := s.Curve.Check(); err != nil {
		t.Fatalf("%s: %v: %v", name, err, s.Curve)
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	if !finite(s.Sigma) || s.Sigma < 0 || !finite(s.Gain) {
		t.Fatalf("%s: sigma %g, gain %g", name, s.Sigma, s.Gain)
	}
	for i, d := range s.Deviation {
		if !finite(d.Ns) || d.Ns < 0 || i > 0 && d.Host <= s.Deviation[i-1].Host {
			t.Fatalf("%s: deviation %d: %+v of %+v", name, i, d, s.Deviation)
		}
	}
	for _, r := range s.Routes {
		if r.From+r.To != 1 {
			t.Fatalf("%s: %+v", name, r)
		}
	}
}
