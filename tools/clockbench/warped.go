//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"meridian/clock"
	"meridian/internal/probe"
	"meridian/internal/synchroniser"
)

// Clocks that differ: the other end's clocks are a double that runs off as clocks do that nobody steers, seconds away, 44 ppm
// fast, in a wave of 0.25 ppm in a minute, or as clocks do that a daemon steers, with jumps of the rate, or that is set by some
// microseconds now and then.
var warps = map[string]func(clock.HostTime) clock.HostTime{
	"wave":  func(x clock.HostTime) clock.HostTime { return shifted(x, wave(x)) },
	"jumps": func(x clock.HostTime) clock.HostTime { return shifted(x, jumps(x)) },
	"steps": func(x clock.HostTime) clock.HostTime { return shifted(x, float64(stepSize*(stepsUntil(x)%2))) },
}

func shifted(x clock.HostTime, by float64) clock.HostTime {
	return clock.Add(x, 3e9+int64(math.Round(44e-6*float64(x-warpOrigin)+by)))
}

// warpOrigin is a date from which both ends count, so that float64 has nanoseconds to spare.
const warpOrigin = 1_780_000_000_000_000_000

const (
	wavePeriod = 60e9 // ns
	waveRate   = 0.25e-6
	jumpEvery  = 16e9 // ns
	jumpRate   = 0.05e-6
)

const (
	stepEvery = 8_000_000_000 // ns
	stepSize  = 12_000        // ns: about three least round trips of the lab
)

// stepsUntil returns how often the clock was set until x: forth and back.
func stepsUntil(x clock.HostTime) int64 { return clock.Sub(x, warpOrigin) / stepEvery }

func wave(x clock.HostTime) float64 {
	amplitude := waveRate * wavePeriod / (2 * math.Pi)
	return amplitude * math.Sin(2*math.Pi*math.Mod(float64(x-warpOrigin), wavePeriod)/wavePeriod)
}

// jumps is a rate that goes from slow to fast at once and back, each 16 s: a triangle.
func jumps(x clock.HostTime) float64 {
	at := math.Mod(float64(x-warpOrigin), 2*jumpEvery)
	return jumpRate * min(at, 2*jumpEvery-at)
}

// runEnd is one end of ours in a process of its own: "serve" with a warped clock, or "watch", which prints what it says less the truth.
func runEnd(role string, args []string) error {
	flags := flag.NewFlagSet(role, flag.ExitOnError)
	address := flags.String("address", "", "where the server answers")
	file := flags.String("key", "", "the key's file")
	warp := flags.String("warp", "", "what the server's clocks do: wave, jumps, steps")
	rate := flags.Float64("rate", 16, "exchanges a second")
	pairs := flags.Bool("pairs", false, "two at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	key, err := probe.ReadKey(*file)
	if err != nil {
		return err
	}
	double := probe.NewWarped(probe.System(), warps[*warp])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if role == "serve" {
		s, err := probe.Listen(ctx, *address, probe.Options{Key: key, Clock: double})
		if err != nil {
			return err
		}
		return s.Serve(ctx)
	}
	if *pairs {
		*rate *= 2 // as `meridian clock watch` takes it: so many pairs
	}
	w := &stepWatch{}
	var s *synchroniser.Synchroniser
	s, err = synchroniser.New(ctx, synchroniser.Options{
		Each: func(_ int, x probe.Sample) {
			if *warp == "steps" {
				w.exchange(x, s.At(0))
			}
		},
		Probe: probe.Options{Key: key, Rate: *rate, MinRate: *rate, Single: !*pairs, Burst: -1},
	}, synchroniser.Target{Name: "db", Address: *address})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		state := s.At(0)
		noticed, blind := w.take(state)
		if blind {
			continue
		}
		if err := printLess(state, double, noticed); err != nil {
			stop()
			return errors.Join(err, <-ended)
		}
	}
}

// said is a line of `meridian clock watch --json`, as far as it is read here.
type said struct {
	Offset *float64 `json:"offset_ns"`
	Low    *float64 `json:"low_ns"`
	High   *float64 `json:"high_ns"`
	MinRTT float64  `json:"min_rtt_ns"`
	Free   *struct {
		Low  *float64 `json:"low_ns"`
		High *float64 `json:"high_ns"`
	} `json:"free"`
	Noticed []int `json:"noticed,omitempty"` // after how many exchanges steps were noticed
}

// stepWatch counts the exchanges from a step of the double until the synchroniser notices it.
type stepWatch struct {
	mu        sync.Mutex
	began     bool
	steps     int64  // of the double
	known     uint64 // of the synchroniser, and what it took for settings of the clock
	waiting   bool
	exchanges int
	noticed   []int
}

// exchange takes a sample and what is known after it.
func (w *stepWatch) exchange(x probe.Sample, s synchroniser.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := stepsUntil(x.T1.Time) // the step before the answer is not in all of the exchange
	switch {
	case !w.began:
		w.began, w.steps = true, now
	case now != w.steps:
		if w.waiting {
			w.noticed = append(w.noticed, -1)
		}
		w.steps, w.waiting, w.exchanges = now, true, 0
	}
	if !x.Late {
		w.exchanges++
	}
	if found := s.Steps + s.Set; found != w.known {
		if w.known = found; w.waiting {
			w.noticed = append(w.noticed, w.exchanges)
		}
		w.waiting = false
	}
}

// take returns after how many exchanges steps were noticed since it was last called, -1 for never, and whether there is one now that was not noticed yet.
func (w *stepWatch) take(s synchroniser.State) (noticed []int, blind bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting || w.began && stepsUntil(s.FreeAt) != w.steps {
		return nil, true
	}
	noticed, w.noticed = w.noticed, nil
	return noticed, false
}

// printLess prints a state less the truth.
func printLess(s synchroniser.State, double *probe.Warped, noticed []int) error {
	if !s.Estimated {
		return nil
	}
	truth := double.Stamp(int64(s.At)) - int64(s.At)
	less := func(v int64) *float64 {
		f := float64(v - truth)
		return &f
	}
	l := said{Offset: less(s.System.Offset), MinRTT: float64(s.LeastRTT), Noticed: noticed}
	if s.System.Bounded {
		l.Low, l.High = less(s.System.Low), less(s.System.High)
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(b))
	return err
}
