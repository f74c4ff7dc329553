package align_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"meridian/align"
	"meridian/clock"
	"meridian/trace"
)

// Every field that is not valid is refused, with an error that names it.
func TestInvalidProblemsAreRefusedByTheFieldThatIsWrong(t *testing.T) {
	valid := func() *trace.Problem {
		p := twoHosts()
		p.Broadcasts = []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: 0, Time: 5}, {Clock: 1, Time: 6}}}}
		p.Samples = []trace.Sample{{Clock: 1, Against: 0, Host: 5, Reference: 6, Error: 7}}
		return p
	}
	if _, err := align.Solve(context.Background(), valid(), align.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(p *trace.Problem)
		names string // what the error must name
	}{
		"unnamed clock":          {func(p *trace.Problem) { p.Clocks[1].Name = "" }, "clock 1"},
		"name twice":             {func(p *trace.Problem) { p.Clocks[1].Name = "web" }, `"web"`},
		"negative granularity":   {func(p *trace.Problem) { p.Clocks[1].Granularity = -1 }, `"db"`},
		"granularity of hours":   {func(p *trace.Problem) { p.Clocks[1].Granularity = 3_600_000_000_001 }, `"db"`},
		"endless granularity":    {func(p *trace.Problem) { p.Clocks[1].Granularity = math.MaxInt64 }, `"db"`},
		"negative events":        {func(p *trace.Problem) { p.Clocks[0].Events = -1 }, `"web"`},
		"extent reversed":        {func(p *trace.Problem) { p.Clocks[0].First, p.Clocks[0].Last = 2, 1 }, `"web"`},
		"extent too early":       {func(p *trace.Problem) { p.Clocks[0].First = math.MinInt64 }, `"web"`},
		"extent too late":        {func(p *trace.Problem) { p.Clocks[0].Last = math.MaxInt64 }, `"web"`},
		"channel to nobody":      {func(p *trace.Problem) { p.Channels[1].To = 2 }, "channel 1"},
		"channel from nobody":    {func(p *trace.Problem) { p.Channels[1].From = -1 }, "channel 1"},
		"sent too early":         {func(p *trace.Problem) { p.Channels[0].Messages[3].Sent = math.MinInt64 }, "message 3"},
		"sent too late":          {func(p *trace.Problem) { p.Channels[0].Messages[3].Sent = 1 << 62 }, "message 3"},
		"received too early":     {func(p *trace.Problem) { p.Channels[1].Messages[4].Received = -1 << 62 }, "message 4"},
		"received too late":      {func(p *trace.Problem) { p.Channels[1].Messages[4].Received = math.MaxInt64 }, "message 4"},
		"reception by nobody":    {func(p *trace.Problem) { p.Broadcasts[0].Receptions[1].Clock = 7 }, "broadcast 0, reception 1"},
		"reception too late":     {func(p *trace.Problem) { p.Broadcasts[0].Receptions[1].Time = math.MaxInt64 }, "broadcast 0, reception 1"},
		"sample of nobody":       {func(p *trace.Problem) { p.Samples[0].Clock = -1 }, "sample 0"},
		"sample against nobody":  {func(p *trace.Problem) { p.Samples[0].Against = 2 }, "sample 0"},
		"sample against itself":  {func(p *trace.Problem) { p.Samples[0].Against = 1 }, "sample 0"},
		"sample too early":       {func(p *trace.Problem) { p.Samples[0].Host = math.MinInt64 }, "sample 0"},
		"sampled reference late": {func(p *trace.Problem) { p.Samples[0].Reference = math.MaxInt64 }, "sample 0"},
		"negative sample error":  {func(p *trace.Problem) { p.Samples[0].Error = -1 }, "sample 0"},
	} {
		p := valid()
		c.spoil(p)
		for _, method := range align.Methods() {
			_, err := align.Solve(context.Background(), p, align.Options{Method: method})
			if err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s, method %s: %v does not name %s", name, method, err, c.names)
			}
		}
	}
	if _, err := align.Solve(context.Background(), nil, align.Options{}); err == nil {
		t.Error("no problem was taken for one")
	}
}

// Clocks whose extent is not given have that of their messages.
func TestExtentsLeftZeroAreThoseOfTheMessages(t *testing.T) {
	left := twoHosts()
	given := twoHosts()
	for i := range given.Clocks {
		c := &given.Clocks[i]
		for _, x := range given.Channels {
			for _, m := range x.Messages {
				stamp := m.Sent
				if x.To == i {
					stamp = m.Received
				}
				if c.Events == 0 {
					c.First, c.Last = stamp, stamp
				}
				c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
				c.Events++
			}
		}
	}
	one, err := align.Solve(context.Background(), left, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := align.Solve(context.Background(), given, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if one.Hosts[1].Spread != two.Hosts[1].Spread || one.Hosts[1].Spread.Worst == 0 {
		t.Errorf("error %+v with extents left zero, %+v with them given", one.Hosts[1].Spread, two.Hosts[1].Spread)
	}
	if left.Clocks[1].Last != 0 {
		t.Error("the given problem was changed")
	}
}

// A stage does not change the one that it is made from: run again, it makes the same.
func TestStagesRunAgainMakeTheSame(t *testing.T) {
	ctx := context.Background()
	w := playSteps(t, steppedWorld(4, step(1, 30e9, 2e9)))
	e, err := align.Estimate(ctx, &w.problem, align.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first *align.Solution
	for range 3 {
		placed, err := e.Place(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			bounded, err := placed.Bound()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				ordered, err := bounded.Order(ctx)
				if err != nil {
					t.Fatal(err)
				}
				s, err := ordered.Solution(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = s
				}
				if !reflect.DeepEqual(first, s) {
					t.Fatal("another solution from the same stage")
				}
				if !reflect.DeepEqual(ordered.Tree(), s.Tree) {
					t.Error("the tree of the last stage is not that of the solution")
				}
			}
		}
	}
	if len(first.Steps) != 1 {
		t.Errorf("steps %+v", first.Steps)
	}
}

// Options are refused by name whatever the method: a value that does not exist is no better where it does not count.
func TestOptionsThatDoNotExistAreRefused(t *testing.T) {
	for want, o := range map[string]align.Options{
		"confidence of -1":     {Confidence: -1},
		"confidence of 1000":   {Confidence: 1000, Method: "hull"},
		"mode of samples 4":    {Samples: 4},
		"2^62":                 {MinDelay: math.MaxInt64},
		"network strategy \"x": {Network: "x"},
		"belongs to":           {Network: "joint", Method: "hull"},
		"maps all clocks":      {Network: align.Networks()[1], Method: "broadcast"},
		"segment length":       {Segment: -1},
		"is negative: no":      {MinDelay: -1},
		"excludes":             {MinDelay: 1, MeasureDelay: true},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The widest differences that stamps can have must not leave int64 on the way to a solution.
func TestStampsAtTheLimitAreSolved(t *testing.T) {
	const limit = clock.Limit - 1
	for _, method := range align.Methods() {
		p := &trace.Problem{
			Clocks: []trace.Clock{{Name: "a", Granularity: 1}, {Name: "b", Granularity: 1}},
			Channels: []trace.Channel{
				{From: 0, To: 1, Messages: []trace.Message{{Sent: -limit, Received: limit}, {Sent: limit, Received: limit}}},
				{From: 1, To: 0, Messages: []trace.Message{{Sent: limit, Received: limit}, {Sent: limit, Received: -limit}}},
			},
		}
		_, err := align.Solve(context.Background(), p, align.Options{Method: method})
		if err != nil && !strings.Contains(err.Error(), "needs") {
			t.Errorf("%s: %v", method, err)
		}
	}
}
