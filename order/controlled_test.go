package order

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// execution draws what could have happened: sends and receives in the order of a true time, on clocks whose stamps count
// up, and estimates that know little of it. No two stamps of a clock are equal, so that nothing contradicts.
func execution(t *rapid.T) (*trace.Problem, []clock.Map) {
	n := rapid.IntRange(2, 5).Draw(t, "clocks")
	origin := clock.HostTime(rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000}).Draw(t, "origin"))
	p := &trace.Problem{Clocks: make([]trace.Clock, n)}
	maps := make([]clock.Map, n)
	now := make([]clock.HostTime, n)
	for i := range n {
		c := clock.Curve{{X: origin, Y: clock.TimelineTime(origin) + clock.TimelineTime(rapid.Int64Range(-500, 500).Draw(t, "offset"))}}
		for range rapid.IntRange(0, 4).Draw(t, "knots") {
			last := c[len(c)-1]
			run := rapid.Int64Range(1, 2000).Draw(t, "run")
			c = append(c, clock.Knot{X: last.X + clock.HostTime(run), Y: last.Y + clock.TimelineTime(rapid.Int64Range(run/2, 2*run).Draw(t, "rise"))})
		}
		maps[i].Mid = c
		now[i] = origin + clock.HostTime(rapid.Int64Range(-100, 100).Draw(t, "begin"))
	}
	type flying struct {
		from, to int
		sent     clock.HostTime
	}
	var inFlight []flying
	channels := make(map[[2]int]int)
	step := rapid.SampledFrom([]int64{3, 300, 30_000}).Draw(t, "step")
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		if len(inFlight) > 0 && rapid.Bool().Draw(t, "receive") {
			k := rapid.IntRange(0, len(inFlight)-1).Draw(t, "which")
			m := inFlight[k]
			inFlight = append(inFlight[:k], inFlight[k+1:]...)
			now[m.to] += clock.HostTime(rapid.Int64Range(1, step).Draw(t, "pass"))
			key := [2]int{m.from, m.to}
			if _, ok := channels[key]; !ok {
				channels[key] = len(p.Channels)
				p.Channels = append(p.Channels, trace.Channel{From: m.from, To: m.to})
			}
			c := &p.Channels[channels[key]]
			c.Messages = append(c.Messages, trace.Message{Sent: m.sent, Received: now[m.to]})
			continue
		}
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		now[from] += clock.HostTime(rapid.Int64Range(1, step).Draw(t, "pass"))
		inFlight = append(inFlight, flying{from, (from + rapid.IntRange(1, n-1).Draw(t, "to")) % n, now[from]})
	}
	return p, maps
}

func drawOptions(t *rapid.T) ControlledOptions {
	o := ControlledOptions{
		Gamma:  rapid.SampledFrom([]float64{0, 0.5, 0.99, 1, 0.000001}).Draw(t, "gamma"),
		Window: rapid.SampledFrom([]int64{0, 1, 100, 100_000}).Draw(t, "window"),
	}
	if least := rapid.Int64Range(-3, 20).Draw(t, "least"); least != 0 {
		o.MinDelay = func(from, to int) int64 { return least + int64(from) }
	}
	return o
}

func (o *ControlledOptions) least(c *trace.Channel) int64 {
	if o.MinDelay == nil {
		return 0
	}
	return o.MinDelay(c.From, c.To)
}

// early counts the messages that are too early under curves, and by how much together and at most.
func early(p *trace.Problem, curves []clock.Curve, o *ControlledOptions) (count, sum, most int64) {
	for i := range p.Channels {
		c := &p.Channels[i]
		for _, m := range c.Messages {
			by := clock.Sub(o.least(c), clock.Sub(curves[c.To].At(m.Received, clock.Nearest), curves[c.From].At(m.Sent, clock.Nearest)))
			if by > 0 {
				count++
				sum = clock.Add(sum, by)
				most = max(most, by)
			}
		}
	}
	return count, sum, most
}

func mids(maps []clock.Map) (curves []clock.Curve) {
	for _, m := range maps {
		curves = append(curves, m.Mid)
	}
	return curves
}

func TestAfterTheRepairNothingArrivesTooEarlyAndNoClockRunsBack(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, maps := execution(t)
		o := drawOptions(t)
		before, sum, most := early(p, mids(maps), &o)
		curves, r, err := Controlled(p, maps, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Inverted != before || r.Remaining != 0 || r.Worst != (Inversion{}) {
			t.Fatalf("%+v, but %d were inverted", r, before)
		}
		if before == 0 && !reflect.DeepEqual(curves, mids(maps)) {
			t.Fatalf("consistent estimates became %v", curves)
		}
		if n, _, worst := early(p, curves, &o); n != 0 {
			t.Fatalf("%d messages remain too early, by up to %d", n, worst)
		}
		// One inversion pushes by what it is; several push by no more than all of them together.
		bound := sum
		if before == 1 {
			bound = most
		}
		for i, c := range curves {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			if r.Largest[i] > bound+slack {
				t.Fatalf("clock %d corrected by %d, inversions %d with %d at most, %d in all", i, r.Largest[i], before, most, sum)
			}
		}
	})
}

func TestClocksThatHearNothingOfAnInversionKeepTheirEstimate(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, maps := execution(t)
		o := drawOptions(t)
		// Who can be moved: receivers of what is too early, and whoever hears of them.
		moved := make([]bool, len(maps))
		for range maps {
			for i := range p.Channels {
				c := &p.Channels[i]
				one := trace.Problem{Channels: p.Channels[i : i+1]}
				if n, _, _ := early(&one, mids(maps), &o); n > 0 || moved[c.From] {
					moved[c.To] = true
				}
			}
		}
		curves, r, err := Controlled(p, maps, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range maps {
			if !moved[i] && (!reflect.DeepEqual(curves[i], maps[i].Mid) || r.Largest[i] != 0) {
				t.Fatalf("clock %d: %v became %v", i, maps[i].Mid, curves[i])
			}
		}
	})
}

// Here the stamps are any whatever, most of which cannot be.
func TestContradictionsAreCountedAndTheRestIsRepaired(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "clocks")
		p := &trace.Problem{Clocks: make([]trace.Clock, n)}
		maps := make([]clock.Map, n)
		for i := range maps {
			maps[i].Mid = clock.Curve{{X: 0, Y: clock.TimelineTime(rapid.Int64Range(-20, 20).Draw(t, "offset"))}}
		}
		widest := rapid.SampledFrom([]int64{30, clock.Limit / 8, clock.Limit - 1}).Draw(t, "widest")
		stamp := rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(-widest, widest))
		for range rapid.IntRange(0, 5).Draw(t, "channels") {
			c := trace.Channel{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")}
			for range rapid.IntRange(1, 6).Draw(t, "messages") {
				c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(stamp.Draw(t, "sent")), Received: clock.HostTime(stamp.Draw(t, "received"))})
			}
			p.Channels = append(p.Channels, c)
		}
		o := drawOptions(t)
		curves, r, err := Controlled(p, maps, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range curves {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		count, _, most := early(p, curves, &o)
		if r.Remaining != count || r.Worst.Early != most {
			t.Fatalf("%+v, but %d remain, by up to %d", r, count, most)
		}
		// A problem without those that were given up has nothing left to give up.
		rest := &trace.Problem{Clocks: p.Clocks}
		g, err := newCausality(p, mids(maps), make([]int64, len(p.Channels)))
		if err != nil {
			t.Fatal(err)
		}
		visited := 0
		g.walk(func(int, int32) { visited++ })
		if visited != len(g.host) {
			t.Fatalf("%d of %d instants visited", visited, len(g.host))
		}
		for m, e := range g.messages {
			if !e.cut {
				c := p.Channels[e.channel]
				c.Messages = c.Messages[m-g.first[e.channel]:][:1]
				rest.Channels = append(rest.Channels, c)
			}
		}
		_, r, err = Controlled(rest, maps, o)
		if err != nil || r.Remaining != 0 && widest < clock.Limit-1 { // corrections of a century leave int64
			t.Fatalf("%+v, %v: circles were left", r, err)
		}
	})
}

// chatter is two clocks that send each other a message every 10 µs, 2 µs on the way, with right estimates.
func chatter(n int) (*trace.Problem, []clock.Map) {
	p := &trace.Problem{Clocks: make([]trace.Clock, 2), Channels: []trace.Channel{{From: 0, To: 1}, {From: 1, To: 0}}}
	for i := range n {
		at := clock.HostTime(int64(i) * 10_000)
		p.Channels[0].Messages = append(p.Channels[0].Messages, trace.Message{Sent: at, Received: at + 2000})
		p.Channels[1].Messages = append(p.Channels[1].Messages, trace.Message{Sent: at + 5000, Received: at + 7000})
	}
	maps := []clock.Map{clock.Identity(), {Mid: clock.Curve{{X: 0, Y: 0}, {X: 1 << 40, Y: 1 << 40}}}}
	return p, maps
}

func TestAPushIsMetAndFadesGently(t *testing.T) {
	p, maps := chatter(100_000)
	middle := &p.Channels[0].Messages[50_000]
	middle.Sent = middle.Received + 1500
	curves, r, err := Controlled(p, maps, ControlledOptions{})
	if err != nil || r.Inverted != 1 || r.Remaining != 0 || r.Largest[0] != 0 || r.Largest[1] != 1500 {
		t.Fatalf("%+v, %v", r, err)
	}
	c := curves[1]
	if len(c) > 8 {
		t.Errorf("%d knots: %v", len(c), c)
	}
	at := middle.Received
	for _, x := range []struct{ host, want clock.HostTime }{
		{at, at + 1500}, {at - 75_000, at - 74_250}, {at + 75_000, at + 75_750}, {at - 151_000, at - 151_000}, {at + 151_000, at + 151_000}, {0, 0}, {-1e12, -1e12}, {1e15, 1e15},
	} {
		if got := clock.HostTime(c.At(x.host, clock.Nearest)); got < x.want-slack || got > x.want+slack {
			t.Errorf("at %d: %d, want %d", int64(x.host-at), int64(got-at), int64(x.want-at))
		}
	}
	// No interval became longer or shorter by more than 1%.
	for h := at - 400_000; h < at+400_000; h += 5000 {
		if d := int64(c.At(h+5000, clock.Nearest) - c.At(h, clock.Nearest)); d < 4950-2*slack || d > 5050+2*slack {
			t.Errorf("5000 ns at %d became %d", int64(h-at), d)
		}
	}
}

func TestTheWindowIsWhereTheClockRunsAhead(t *testing.T) {
	p, maps := chatter(10_000)
	middle := &p.Channels[0].Messages[5000]
	middle.Sent = middle.Received + 1500
	curves, _, err := Controlled(p, maps, ControlledOptions{Gamma: 1, Window: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	at := middle.Received
	for _, x := range []struct{ before, want int64 }{{-1e9, 1500}, {-1e6, 1500}, {0, 1500}, {500_000, 750}, {1_000_000, 0}, {1_100_000, 0}} {
		if got := int64(curves[1].At(at-clock.HostTime(x.before), clock.Nearest)) - int64(at-clock.HostTime(x.before)); got < x.want-slack || got > x.want+slack {
			t.Errorf("%d before the push corrected by %d, want %d", x.before, got, x.want)
		}
	}
}

// A send just before the push whose receive leaves 100 ns cannot be pulled further than that.
func TestASendIsNotPulledPastItsReceive(t *testing.T) {
	p := &trace.Problem{Clocks: make([]trace.Clock, 2), Channels: []trace.Channel{
		{From: 0, To: 1, Messages: []trace.Message{{Sent: 20_000, Received: 10_000}}},
		{From: 1, To: 0, Messages: []trace.Message{{Sent: 9990, Received: 10_090}}},
	}}
	maps := []clock.Map{clock.Identity(), clock.Identity()}
	curves, r, err := Controlled(p, maps, ControlledOptions{MinDelay: func(from, to int) int64 { return 30 }})
	if err != nil || r.Remaining != 0 || r.Largest[0] != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := curves[1].At(9990, clock.Nearest); got != 10_060 {
		t.Errorf("the send went to %d", got)
	}
	if got := curves[1].At(10_000, clock.Nearest); got < 20_030 || got > 20_032 {
		t.Errorf("the receive went to %d", got)
	}
}

func TestOneWrongMessageAmongManyIsTheOneGivenUp(t *testing.T) {
	p, maps := chatter(1000)
	p.Channels = append(p.Channels, trace.Channel{From: 1, To: 0, Messages: []trace.Message{{Sent: 9e6, Received: 1000}}})
	curves, r, err := Controlled(p, maps, ControlledOptions{})
	want := Repairs{Inverted: 1, Remaining: 1, Worst: Inversion{Channel: 2, Message: 0, Early: 9e6 - 1000}, Largest: []int64{0, 0}}
	if err != nil || !reflect.DeepEqual(r, want) || !reflect.DeepEqual(curves, mids(maps)) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatCannotBeRepairedIsRefused(t *testing.T) {
	p, maps := chatter(1)
	for name, call := range map[string]func() error{
		"no problem":   func() error { _, _, err := Controlled(nil, nil, ControlledOptions{}); return err },
		"too few maps": func() error { _, _, err := Controlled(p, maps[:1], ControlledOptions{}); return err },
		"gamma":        func() error { _, _, err := Controlled(p, maps, ControlledOptions{Gamma: 1.5}); return err },
		"window":       func() error { _, _, err := Controlled(p, maps, ControlledOptions{Window: -1}); return err },
		"no curve":     func() error { _, _, err := Controlled(p, make([]clock.Map, 2), ControlledOptions{}); return err },
		"no clock": func() error {
			q := &trace.Problem{Clocks: p.Clocks, Channels: []trace.Channel{{From: 0, To: 2}}}
			_, _, err := Controlled(q, maps, ControlledOptions{})
			return err
		},
		"stamp": func() error {
			q := &trace.Problem{Clocks: p.Clocks, Channels: []trace.Channel{{To: 1, Messages: []trace.Message{{Sent: clock.Limit}}}}}
			_, _, err := Controlled(q, maps, ControlledOptions{})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkControlled(b *testing.B) {
	for _, every := range []int{0, 1000, 3} {
		b.Run(fmt.Sprintf("one inverted of %d", every), func(b *testing.B) {
			p, maps := chatter(250_000)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range p.Channels[0].Messages {
				if every > 0 && i%every == 0 {
					m := &p.Channels[0].Messages[i]
					m.Sent = m.Received + clock.HostTime(rng.Int64N(2000))
				}
			}
			var knots int
			for b.Loop() {
				curves, r, err := Controlled(p, maps, ControlledOptions{})
				if err != nil || r.Remaining > 0 {
					b.Fatal(r, err)
				}
				knots = len(curves[0]) + len(curves[1])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500_000, "ns/message")
			b.ReportMetric(float64(knots), "knots")
		})
	}
}

// A clock of a century's stamps is pushed beyond what instants can be: its curve must be one still.
func TestAPushBeyondTheLimitLeavesACurve(t *testing.T) {
	const most = clock.Limit - 1
	p := &trace.Problem{Clocks: make([]trace.Clock, 2), Channels: []trace.Channel{
		{From: 0, To: 1, Messages: []trace.Message{{Sent: most, Received: most}, {Sent: 0, Received: -most}}},
	}}
	maps := []clock.Map{{Mid: clock.Curve{{X: 0, Y: most}}}, {Mid: clock.Curve{{X: 0, Y: 0}}}}
	curves, _, err := Controlled(p, maps, ControlledOptions{MinDelay: func(int, int) int64 { return most }})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range curves {
		if err := c.Check(); err != nil {
			t.Errorf("clock %d: %v", i, err)
		}
	}
}
