package main

import (
	"fmt"
	"time"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/sim"
	"meridian/trace"
)

// ethernets are the two networks of Poirier (2010, section 3.4): least delays and mean waits such that the widths and
// spreads come near his. Each receiver of a broadcast adds a tenth of a wait of its own.
var ethernets = []struct {
	name       string
	min, queue time.Duration
}{
	{"Fast", 30 * time.Microsecond, 100 * time.Microsecond},
	{"Gigabit", 15 * time.Microsecond, 20 * time.Microsecond},
}

// listening is what one trace showed: host0 and host1 are aligned by what they sent each other, and both heard host2.
type listening struct {
	fits             bool
	width            [3]float64 // of the linear bounds: best, mean, worst; µs
	tooFast          [2]float64 // per cent of the messages to host1 and to host0 under the bisector
	inverted         [3]float64 // per cent, by bisector, regression and envelope
	fast             [3]float64 // per cent too fast either way
	apartMean, apart [3]float64 // of the receptions of one broadcast, µs: mean and deviation
	rms              [3]float64 // µs
}

func poirier(s *study) error {
	s.printf("Clocks that walk by %.0e; three hosts that broadcast, of which the first two are aligned and the third is heard by both.\n", walking)
	s.printf("Means over %d seeds from %d; µs and per cent of the messages. width: of the hull's bounds; too fast: faster than the\n", s.seeds, s.firstSeed)
	s.printf("true least delay; apart: a broadcast's reception on host1 less that on host0; RMS: against the truth, asymmetry removed\n")
	header := func(title string) {
		s.printf("\n%s\n%-18s %6s %8s %8s %8s  %8s %8s %8s  %8s %8s  %8s %8s\n", title, "", "fits", "best", "mean", "worst",
			"fast 0>1", "fast 1>0", "inverted", "apart", "sd", "bisector", "envelope")
	}
	row := func(name string, network int, rate float64, span time.Duration) error {
		results, err := s.listen(network, rate, span)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c := func(value func(*listening) float64) float64 { return column(results, value) }
		s.printf("%-18s %5.0f%% %8.2f %8.2f %8.2f  %7.2f%% %7.2f%% %7.2f%%  %8.2f %8.2f  %8.3f %8.3f\n", name,
			100*c(func(l *listening) float64 {
				if l.fits {
					return 1
				}
				return 0
			}),
			c(func(l *listening) float64 { return l.width[0] }), c(func(l *listening) float64 { return l.width[1] }),
			c(func(l *listening) float64 { return l.width[2] }),
			c(func(l *listening) float64 { return l.tooFast[0] }), c(func(l *listening) float64 { return l.tooFast[1] }),
			c(func(l *listening) float64 { return l.inverted[0] }), c(func(l *listening) float64 { return l.apartMean[0] }),
			c(func(l *listening) float64 { return l.apart[0] }),
			c(func(l *listening) float64 { return l.rms[0] }), c(func(l *listening) float64 { return l.rms[2] }))
		return nil
	}
	header("Table 3.2: network, 120 s, 1 message a second")
	for i, e := range ethernets {
		if err := row(e.name, i, 1, 2*time.Minute); err != nil {
			return err
		}
	}
	header("Table 3.3: messages a second, 120 s, Gigabit")
	for rate := 16.0; rate <= 1024; rate *= 2 {
		if err := row(fmt.Sprintf("%.0f/s", rate), 1, rate, 2*time.Minute); err != nil {
			return err
		}
	}
	header("Table 3.4: duration, 1024 messages a second, Gigabit")
	for span := 30 * time.Second; span <= 960*time.Second; span *= 2 {
		if err := row(fmt.Sprintf("%.0f s", span.Seconds()), 1, 1024, span); err != nil {
			return err
		}
	}
	if err := s.longTrace(); err != nil {
		return err
	}
	if err := s.hullPoints(); err != nil {
		return err
	}
	return s.fullGraph()
}

func column(results []listening, value func(*listening) float64) float64 {
	values := make([]float64, len(results))
	for i := range results {
		values[i] = value(&results[i])
	}
	return mean(values)
}

// listen plays and measures the traces of one row.
func (s *study) listen(network int, rate float64, span time.Duration) ([]listening, error) {
	results := make([]listening, s.seeds)
	e := ethernets[network]
	err := s.each(len(results), func(i int) error {
		c := sim.Scenario{
			Start: epoch, Hosts: 3, Topology: sim.Full, Traffic: sim.Broadcast, Rate: rate, Span: span, Jitter: e.queue,
			MinDelay: [2]time.Duration{e.min, 2 * e.min}, Asymmetric: true,
			MaxOffset: time.Second, MaxSkewPPM: 50, Wander: walking, Seed: s.firstSeed + uint64(i),
		}
		messages, truth, err := c.Generate()
		if err != nil {
			return err
		}
		w := &world{scenario: c, truth: truth, messages: messages, problem: between(&messages, 0, 1)}
		w.messages.Channels = nil
		for _, channel := range messages.Channels {
			if channel.From < 2 && channel.To < 2 {
				w.messages.Channels = append(w.messages.Channels, channel)
			}
		}
		w.asymmetry, _ = truth.Asymmetry("host0", "host1")
		for k := range w.hosts {
			w.hosts[k] = truth.Hosts[k].Clock.Inverse()
		}
		return results[i].measure(w)
	})
	return results, err
}

// measure holds the bisector, the regression and the envelope against what the broadcasts and the truth say.
func (l *listening) measure(w *world) error {
	e := pair.Hull(&w.problem)
	l.fits = e.Fit == pair.Exact
	at := w.everywhere(1001)
	if l.fits {
		l.width[0] = 1e18
		for _, r := range at {
			low, high, _, _ := e.Map.Bounds(r.a)
			width := float64(high-low) / 1e3
			l.width[0], l.width[2] = min(l.width[0], width), max(l.width[2], width)
			l.width[1] += width / float64(len(at))
		}
	}
	line, _ := bisector(&w.problem)
	regression, err := pair.Regression(&w.problem, 100)
	if err != nil {
		return err
	}
	curves := [3]clock.PairCurve{line, regression.Map.Mid, line}
	if smoothed, ok := envelope.Pair(&w.problem); ok {
		curves[2] = smoothed.Curve
	}
	least := make(map[[2]string]int64)
	for _, link := range w.truth.Links {
		least[[2]string{link.From, link.To}] = link.MinDelayNs
	}
	for k, c := range curves {
		maps := []clock.Map{{Mid: onTimeline(c)}, clock.Identity(), clock.Identity()}
		var all quality.Counts
		for i := range w.messages.Channels {
			channel := &w.messages.Channels[i]
			name := func(n int) string { return w.messages.Clocks[n].Name }
			n := quality.Channel(channel, w.messages.Clocks, maps, least[[2]string{name(channel.From), name(channel.To)}])
			if k == 0 {
				l.tooFast[channel.From] = 100 * float64(n.TooFast) / float64(n.Messages)
			}
			all.Add(n)
		}
		l.inverted[k] = 100 * float64(all.Inversions) / float64(all.Messages)
		l.fast[k] = 100 * float64(all.TooFast) / float64(all.Messages)
		apart := quality.Between(heardByBoth(w.messages.Broadcasts), maps, 0, 1)
		l.apartMean[k], l.apart[k] = apart.Mean/1e3, apart.Deviation/1e3
		rms, _ := rootMeanSquare(w.errors(c, at))
		l.rms[k] = rms / 1e3
	}
	return nil
}

// heardByBoth returns the broadcasts that host0 and host1 received.
func heardByBoth(all []trace.Broadcast) (out []trace.Broadcast) {
	for _, b := range all {
		var heard [2]bool
		for _, r := range b.Receptions {
			if r.Clock < 2 {
				heard[r.Clock] = true
			}
		}
		if heard[0] && heard[1] {
			out = append(out, b)
		}
	}
	return out
}

// longTrace is table 3.5: hours, after which no line fits.
func (s *study) longTrace() error {
	results, err := s.listen(0, 1, 15360*time.Second)
	if err != nil {
		return err
	}
	c := func(value func(*listening) float64) float64 { return column(results, value) }
	s.printf("\nTable 3.5: 15360 s, 1 message a second, Fast; the bisector is Ashton's fallback, the line of least violation\n")
	s.printf("%-12s %9s %9s %9s %9s %10s\n", "", "inverted", "too fast", "apart", "sd", "RMS")
	for k, name := range []string{"fallback", "regression", "envelope"} {
		s.printf("%-12s %8.2f%% %8.2f%% %9.2f %9.2f %10.3f\n", name,
			c(func(l *listening) float64 { return l.inverted[k] }), c(func(l *listening) float64 { return l.fast[k] }),
			c(func(l *listening) float64 { return l.apartMean[k] }), c(func(l *listening) float64 { return l.apart[k] }),
			c(func(l *listening) float64 { return l.rms[k] }))
	}
	return nil
}
