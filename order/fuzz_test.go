package order

import (
	"reflect"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzControlled takes any messages under any curves, and options within and out of range. What Controlled documents as an
// error must be one. Else the repaired curves must be curves, an estimate without inversions must stay as it is, Repairs
// must count what a search counts, and nothing may remain inverted where no messages form a circle. Runs of the same stamps
// must hold all frames, each run in order within the window.
func FuzzControlled(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, 0, 1, 10, 0, 5, 0, 0, 4, 0, 1, 0, 20, 0, 30, 0, 0, 1, 0, 40, 0, 0, 1, 0, 3, 0, 0, 0})
	f.Add([]byte{1, 50, 9, 90, 3, 48, 128, 0, 0, 47, 128, 0, 1, 47, 127, 255, 0, 0, 0, 1, 0, 0, 2, 0, 0, 1, 47, 128, 0, 5})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		p, maps, o, tame := controlledInput(in)
		runsHold(t, p)
		curves, r, err := Controlled(p, maps, o)
		if wrong := wrongControlled(p, maps, o); wrong != (err != nil) {
			t.Fatalf("wrong is %v, but %v: %+v %v %+v", wrong, err, p, maps, o)
		}
		if err != nil {
			return
		}
		before, _, _ := early(p, mids(maps), &o)
		if r.Inverted != before {
			t.Fatalf("%+v, but %d are inverted", r, before)
		}
		if before == 0 && !reflect.DeepEqual(curves, mids(maps)) {
			t.Fatalf("consistent estimates became %v", curves)
		}
		for i, c := range curves {
			if err := c.Check(); err != nil {
				t.Fatalf("clock %d: %v", i, err)
			}
		}
		after, _, worst := early(p, curves, &o)
		if r.Remaining != after || r.Worst.Early != worst {
			t.Fatalf("%+v, but %d remain, by up to %d", r, after, worst)
		}
		if tame && after > 0 && !circular(p) {
			t.Fatalf("%d messages remain too early, by up to %d: %+v %v", after, worst, p, maps)
		}
	})
}

// controlledInput makes a problem, its maps and options. It is tame if all instants lie within some decades of each other.
func controlledInput(in *fuzztest.Input) (p *trace.Problem, maps []clock.Map, o ControlledOptions, tame bool) {
	const clocks = 3
	p = &trace.Problem{Clocks: make([]trace.Clock, clocks)}
	o.Gamma = []float64{0, 0.5, 0.99, 1, 1e-6, -1, 2}[in.N(7)]
	if o.Window = in.Number(); in.N(2) == 0 {
		o.Window = int64(in.N(2))
	}
	if least := in.Number(); in.N(2) == 0 {
		least = min(max(least, -1_000_000), 1_000_000)
		o.MinDelay = func(from, to int) int64 { return least }
	}
	tame = in.N(4) > 0
	number := func() int64 {
		if !tame {
			return in.Number()
		}
		return min(max(in.Number(), -1<<55), 1<<55)
	}
	for range clocks {
		var c clock.Curve
		for range 1 + in.N(3) {
			c = append(c, clock.Knot{X: clock.HostTime(number()), Y: clock.TimelineTime(number())})
		}
		slices.SortFunc(c, func(a, b clock.Knot) int { return int(min(max(clock.Sub(a.X, b.X), -1), 1)) })
		for i := range c { // tame clocks run at rates near one
			if tame && i > 0 {
				c[i].Y = clock.Add(c[i-1].Y, clock.MulDiv(clock.Sub(c[i].X, c[i-1].X), int64(200+in.N(100)), 256, clock.Nearest))
			} else if i > 0 && in.N(4) > 0 {
				c[i].Y = max(c[i].Y, c[i-1].Y)
			}
		}
		maps = append(maps, clock.Map{Mid: c})
	}
	for in.More() && len(p.Channels) < 24 {
		c := trace.Channel{From: in.N(clocks), To: in.N(clocks)}
		for range 1 + in.N(2) {
			c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(number()), Received: clock.HostTime(number())})
		}
		p.Channels = append(p.Channels, c)
	}
	return p, maps, o, tame
}

// wrongControlled says what the comment of Controlled says of errors.
func wrongControlled(p *trace.Problem, maps []clock.Map, o ControlledOptions) bool {
	wrong := o.Gamma < 0 || o.Gamma > 1 || o.Window < 0
	for _, m := range maps {
		wrong = wrong || m.Mid.Check() != nil
		for _, k := range m.Mid {
			wrong = wrong || !within(k.X) || !within(k.Y)
		}
	}
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			wrong = wrong || !clock.Valid(m.Sent) || !clock.Valid(m.Received)
		}
	}
	return wrong
}

// circular reports whether some instant would have to be before itself: stamps of one clock are in their order, and sent
// is before received.
func circular(p *trace.Problem) bool {
	var instants []trace.Stamp
	before := make(map[[2]trace.Stamp]bool)
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			from, to := trace.Stamp{Clock: c.From, Time: m.Sent}, trace.Stamp{Clock: c.To, Time: m.Received}
			instants = append(instants, from, to)
			before[[2]trace.Stamp{from, to}] = true
		}
	}
	for len(instants) > 0 {
		// Take away what nothing that is left comes before.
		n := len(instants)
		left := slices.Clone(instants)
		instants = slices.DeleteFunc(instants, func(x trace.Stamp) bool {
			return !slices.ContainsFunc(left, func(y trace.Stamp) bool {
				return y.Clock == x.Clock && y.Time < x.Time || before[[2]trace.Stamp{y, x}]
			})
		})
		if len(instants) == n {
			return true
		}
	}
	return false
}

// runsHold checks the runs of the stamps of all messages.
func runsHold(t *testing.T, p *trace.Problem) {
	var stamps []clock.HostTime
	for _, c := range p.Channels {
		for _, m := range c.Messages {
			stamps = append(stamps, m.Sent, m.Received)
		}
	}
	for _, window := range []int64{0, 1000, 1 << 40} {
		for _, limit := range []int{0, 1, 3} {
			runs, disorder := Runs(slices.All(stamps), window, MaxExcursion, limit)
			if limit > 0 && len(runs) > limit || (len(runs) == 0) != (len(stamps) == 0) || disorder.Frames > len(stamps) {
				t.Fatalf("%d runs, at most %d, %+v", len(runs), limit, disorder)
			}
			next := 0
			for i, r := range runs {
				if r.From != next || r.To <= r.From {
					t.Fatalf("run %d is %v after frame %d", i, r, next)
				}
				next = r.To
			}
			if next != len(stamps) {
				t.Fatalf("runs end at frame %d of %d", next, len(stamps))
			}
		}
	}
}
