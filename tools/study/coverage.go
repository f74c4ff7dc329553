package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"meridian/align/bound"
	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// talk is a kind of trace of few messages: how many exchanges in what time, the delays, and the clocks.
type talk struct {
	exchanges int
	span      time.Duration
	delays    delayKind
	clocks    clockKind
	answered  bool // exchanges; otherwise both hosts send at random instants of their own
	seed      uint64
}

// delayKind is how long messages queue; unequal is by how many times longer those back queue than those there.
type delayKind struct {
	name    string
	shape   sim.Distribution
	unequal float64
}

// clockKind is how the two clocks depart from linear ones.
type clockKind struct {
	name         string
	walk         float64 // of each clock, fractional per square root of a second
	wave         float64 // of each clock, fractional
	period       float64 // of the wave as a share of the span; 0 is 20 minutes
	slew         float64 // of one clock, fractional, through a twentieth to a fifth of the span
	uncalibrated bool    // an error beyond what the smoother's prior holds: measured, not promised
}

var (
	talkCounts = []int{20, 50, 100, 300, 1000}
	talkSpans  = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute}
	talkDelays = []delayKind{
		{"exponential", sim.Exponential, 1},
		{"gamma", sim.Gamma, 1},
		{"heavy tail", sim.HeavyTail, 1},
		{"weibull", sim.Weibull, 1},
		{"exponential, unequal queues", sim.Exponential, 4},
		{"gamma, unequal queues", sim.Gamma, 4},
		{"heavy tail, unequal queues", sim.HeavyTail, 4},
	}
	talkClocks = []clockKind{
		{name: "linear"},
		{name: "walk 1e-9", walk: 1e-9},
		{name: "walk 1e-8", walk: 1e-8},
		{name: "thermal 1e-7 in 20 min", wave: 1e-7},
		{name: "wave of 1e-7, two periods", wave: 1e-7, period: 0.5, uncalibrated: true},
		{name: "wave of 1e-6, five periods", wave: 1e-6, period: 0.2, uncalibrated: true},
		{name: "slewed by 1e-6", walk: 1e-9, slew: 1e-6, uncalibrated: true},
		{name: "slewed by 1e-4", walk: 1e-9, slew: 1e-4, uncalibrated: true},
	}
)

func (t *talk) String() string {
	return fmt.Sprintf("%d exchanges, %s, %s, %s", t.exchanges, seconds(t.span), t.delays.name, t.clocks.name)
}

// talked is what one trace gave.
type talked struct {
	talk
	smooth bool
	within float64 // part of the instants at which the truth is within two deviations
	z      []float64
	rms    float64 // of the error, ns
	sd     float64 // median deviation, ns
}

// talks draws the kinds of traces: every count as often, all else at random.
func (s *study) talks() []talked {
	out := make([]talked, s.seeds)
	for i := range out {
		t := &out[i].talk
		t.seed = s.firstSeed + uint64(i)
		r := rand.New(rand.NewPCG(t.seed, 99))
		t.exchanges = talkCounts[i*len(talkCounts)/len(out)]
		t.span = talkSpans[r.IntN(len(talkSpans))]
		t.delays = talkDelays[r.IntN(len(talkDelays))]
		t.clocks = talkClocks[r.IntN(len(talkClocks))]
		t.answered = r.IntN(2) == 0
	}
	out = slices.DeleteFunc(out, func(t talked) bool { return !strings.Contains(t.String(), s.only) })
	return out
}

func coverage(s *study) error {
	traces := s.talks()
	err := s.each(len(traces), func(i int) error {
		traces[i].measure()
		return nil
	})
	if err != nil {
		return err
	}
	s.printf("%d random traces, seeds %d to %d; jitter 20 µs, least delays alike both ways, each trace weighs the same\n",
		len(traces), s.firstSeed, s.firstSeed+uint64(len(traces))-1)
	for _, promised := range []bool{true, false} {
		s.coverageTable(traces, promised)
	}
	return nil
}

func (s *study) coverageTable(traces []talked, promised bool) {
	traces = slices.DeleteFunc(slices.Clone(traces), func(t talked) bool { return t.clocks.uncalibrated == promised || !t.smooth })
	s.printf("\n%-42s %6s %10s %6s %6s %6s %6s %9s %9s\n", map[bool]string{true: "clocks that wander", false: "clocks that are steered, or wave fast"}[promised], "traces", "within 2sd", "p50", "p68", "p95", "p99", "rms ns", "sd ns")
	row := func(name string, keep func(t *talked) bool) float64 {
		var within, rms, sds []float64
		var z []weighted
		for i := range traces {
			t := &traces[i]
			if !keep(t) {
				continue
			}
			within = append(within, t.within)
			rms, sds = append(rms, t.rms), append(sds, t.sd)
			for _, v := range t.z {
				z = append(z, weighted{v, 1 / float64(len(t.z))})
			}
		}
		if len(within) == 0 {
			return math.NaN()
		}
		q := weightedQuantiles(z, 0.50, 0.68, 0.95, 0.99)
		s.printf("%-42s %6d %9.1f%% %6.2f %6.2f %6.2f %6.2f %9.0f %9.0f\n", name, len(within), 100*mean(within), q[0], q[1], q[2], q[3], geometric(rms), geometric(sds))
		return 100 * mean(within)
	}
	var shares []float64
	for _, n := range talkCounts {
		shares = append(shares, row(fmt.Sprintf("%d exchanges", n), func(t *talked) bool { return t.exchanges == n }))
	}
	for _, d := range talkSpans {
		row("in "+seconds(d), func(t *talked) bool { return t.span == d })
	}
	for _, d := range talkDelays {
		row(d.name, func(t *talked) bool { return t.delays == d })
	}
	for _, c := range talkClocks {
		row(c.name, func(t *talked) bool { return t.clocks == c })
	}
	row("exchanges", func(t *talked) bool { return t.answered })
	row("each way by itself", func(t *talked) bool { return !t.answered })
	if promised {
		for i, n := range talkCounts {
			s.bar(shares[i] >= 93 && shares[i] <= 97, "%d exchanges: %.1f%% of the truths within two deviations (93 to 97)", n, shares[i])
		}
	}
}

// measure plays a trace and holds the estimate against the truth.
func (t *talked) measure() {
	p, clocks := t.play()
	var stretches []envelope.Stretch
	for _, x := range bound.Bends(&p, bound.Default) {
		stretches = append(stretches, envelope.Stretch{From: x.From, To: x.To, Wander: x.Wander})
	}
	e, ok := envelope.Pair(&p, stretches...)
	if !ok || len(e.Deviation) == 0 {
		return
	}
	t.smooth = true
	const instants = 41
	var errors, sds []float64
	for i := range instants {
		at := epoch + clock.TimelineTime(float64(t.span)*float64(i)/(instants-1))
		a, b := clocks[0].at(at), clocks[1].at(at)
		if a < p.A.First || a > p.A.Last {
			continue
		}
		miss := float64(e.Curve.At(a, clock.Nearest) - b)
		sd := deviationAt(e.Deviation, a)
		errors, sds = append(errors, miss), append(sds, sd)
	}
	for i, miss := range errors {
		t.z = append(t.z, math.Abs(miss)/sds[i])
		if math.Abs(miss) <= 2*sds[i] {
			t.within++
		}
	}
	t.within /= float64(len(errors))
	t.rms, _ = rootMeanSquare(errors)
	t.sd = median(sds)
}

func median(values []float64) float64 { return quantile(slices.Clone(values), 0.5) }

// deviationAt returns the deviation at an instant, by proportion between those beside it.
func deviationAt(all []pair.Deviation, at clock.HostTime) float64 {
	i := sort.Search(len(all), func(i int) bool { return all[i].Host >= at })
	switch {
	case i == 0:
		return all[0].Ns
	case i == len(all):
		return all[i-1].Ns
	}
	f := float64(at-all[i-1].Host) / float64(all[i].Host-all[i-1].Host)
	return all[i-1].Ns + f*(all[i].Ns-all[i-1].Ns)
}

// steered is a simulated clock that is slewed once.
type steered struct {
	sim.Clock
	from, to clock.TimelineTime
	rate     float64
}

func (c *steered) at(t clock.TimelineTime) clock.HostTime {
	return c.Clock.At(t) + clock.HostTime(math.Round(c.rate*float64(min(max(t, c.from), c.to)-c.from)))
}

// play returns the messages of a trace and its clocks.
func (t *talk) play() (pair.Problem, [2]steered) {
	const jitter, least = 20 * time.Microsecond, 30 * time.Microsecond
	r := rand.New(rand.NewPCG(t.seed, 7))
	var clocks [2]steered
	for i := range clocks {
		c := sim.Clock{Origin: epoch, OffsetNs: r.Int64N(1e9), SkewPPM: 50 * (2*r.Float64() - 1)}
		if t.clocks.walk > 0 {
			c.Walk = sim.NewWalk(r.Uint64(), t.clocks.walk*1e6, t.span/1000, t.span+12*time.Second)
		}
		if t.clocks.wave > 0 {
			period := 20 * time.Minute
			if t.clocks.period > 0 {
				period = time.Duration(t.clocks.period * float64(t.span))
			}
			c.Wave = sim.Wave{AmplitudePPM: t.clocks.wave * 1e6, Period: period, Phase: r.Float64()}
		}
		clocks[i].Clock = c
	}
	long := float64(t.span) * (0.05 + 0.15*r.Float64())
	start := r.Float64() * (float64(t.span) - long)
	clocks[1].from, clocks[1].to = epoch+clock.TimelineTime(start), epoch+clock.TimelineTime(start+long)
	clocks[1].rate = t.clocks.slew
	delays := [2]sim.Delay{{Min: least, Jitter: jitter, Distribution: t.delays.shape}, {Min: least, Jitter: time.Duration(float64(jitter) * t.delays.unequal), Distribution: t.delays.shape}}
	if r.IntN(2) == 0 {
		delays[0], delays[1] = delays[1], delays[0]
	}
	var messages [2][]trace.Message
	send := func(from int, at clock.TimelineTime) clock.TimelineTime {
		arrived := at + clock.TimelineTime(delays[from].Draw(r))
		messages[from] = append(messages[from], trace.Message{Sent: clocks[from].at(at), Received: clocks[1-from].at(arrived)})
		return arrived
	}
	for range t.exchanges {
		at := epoch + clock.TimelineTime(r.Float64()*float64(t.span))
		arrived := send(0, at)
		if t.answered {
			send(1, arrived)
		} else {
			send(1, epoch+clock.TimelineTime(r.Float64()*float64(t.span)))
		}
	}
	p := pair.Problem{AB: pair.Messages{messages[0]}, BA: pair.Messages{messages[1]}}
	p.A = extentOf("a", messages[0], messages[1])
	p.B = extentOf("b", messages[1], messages[0])
	return p, clocks
}

// extentOf returns the clock that sent the one and received the other messages.
func extentOf(name string, sent, received []trace.Message) trace.Clock {
	c := trace.Clock{Name: name, Host: name, Granularity: 1, First: sent[0].Sent, Last: sent[0].Sent}
	add := func(t clock.HostTime) { c.First, c.Last, c.Events = min(c.First, t), max(c.Last, t), c.Events+1 }
	for _, m := range sent {
		add(m.Sent)
	}
	for _, m := range received {
		add(m.Received)
	}
	return c
}
