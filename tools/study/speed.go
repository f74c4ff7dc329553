package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"meridian/align/envelope"
	"meridian/align/pair"
	"meridian/internal/sim"
)

// speed measures one pair of clocks by the number of its messages. Times are the least of -seeds runs on one trace.
func speed(s *study) error {
	s.printf("one pair, walk 1e-9 + thermal 1e-7, periodic both ways; least time of %d runs on %d cores, GOGC as it is by default\n",
		s.seeds, runtime.GOMAXPROCS(0))
	s.printf("s: wall time; core s: CPU time of all cores; heap: most live bytes beyond the input, and with garbage not yet\n")
	s.printf("collected; hull: pair.Hull of linear clocks, millions of messages in a second of one core\n\n")
	s.printf("%9s  %-7s %10s %8s %8s %9s %14s %12s\n", "messages", "span", "envelope s", "core s", "µs/msg", "heap MiB", "+ garbage MiB", "hull Mmsg/s")
	type row struct {
		messages float64
		span     time.Duration
	}
	rows := []row{{1e5, 4 * time.Hour}, {1e6, 4 * time.Hour}, {1e7, 4 * time.Hour}, {1e5, 144 * time.Second}, {1e6, 24 * time.Minute}}
	perMessage := make(map[row]float64)
	for _, r := range rows {
		if s.small && r.messages > 1e6 {
			continue
		}
		c := sim.Scenario{
			Span: r.span, Rate: r.messages / 2 / r.span.Seconds(), Jitter: 20 * time.Microsecond, Seed: s.firstSeed,
			MinDelay:  [2]time.Duration{10 * time.Microsecond, 50 * time.Microsecond},
			MaxOffset: time.Second, MaxSkewPPM: 50,
		}
		linear, err := simulate(c)
		if err != nil {
			return err
		}
		hull := s.least(func() { pair.Hull(&linear.problem) }, 1)
		linear = nil
		c.Wander, c.Thermal = 1e-9, 1e-7
		w, err := simulate(c)
		if err != nil {
			return err
		}
		n := float64(w.problem.AB.Len() + w.problem.BA.Len())
		smooth := func() { envelope.Pair(&w.problem) }
		took := s.least(smooth, 0)
		garbage := peak(smooth, 100)
		live := peak(smooth, 2)
		runtime.KeepAlive(w)
		perMessage[r] = took.cores.Seconds() / n * 1e6
		rate := n / hull.cores.Seconds() / 1e6
		s.printf("%9.0f  %-7s %10.3f %8.3f %8.3f %9.1f %14.1f %12.1f\n", n, seconds(r.span), took.wall.Seconds(),
			took.cores.Seconds(), perMessage[r], live, garbage, rate)
		if r == rows[1] {
			s.bar(took.cores <= time.Second, "a million messages in %.2f s of a core (at most 1)", took.cores.Seconds())
			s.bar(live <= 64, "and %.1f MiB beyond the input (at most 64)", live)
		}
		if r.messages == 1e7 {
			s.bar(rate >= 20, "hull: %.1f million messages a second and core (at least 20)", rate)
		}
	}
	if s.small {
		return nil
	}
	for _, same := range [][]row{rows[:3], {rows[3], rows[4], rows[2]}} {
		least, most := perMessage[same[0]], perMessage[same[0]]
		for _, r := range same {
			least, most = min(least, perMessage[r]), max(most, perMessage[r])
		}
		what := "span"
		if same[0] != rows[0] {
			what = "rate"
		}
		s.bar(most <= 1.2*least, "cores' time per message from 1e5 to 1e7 at the same %s: greatest over least %.2f (at most 1.2); with 1e7 it is %.2f times that with 1e5",
			what, most/least, perMessage[same[2]]/perMessage[same[0]])
	}
	return nil
}

// spent is the time of one call: by the clock on the wall, and of all cores together.
type spent struct{ wall, cores time.Duration }

// least returns the least times of some calls, on so many cores; 0 for all. What else runs on the machine only adds to
// the wall's time, and little to the cores'.
func (s *study) least(do func(), cores int) spent {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var wall, used []time.Duration
	for range s.seeds {
		runtime.GC()
		start, before := time.Now(), processor()
		do()
		wall, used = append(wall, time.Since(start)), append(used, processor()-before)
	}
	return spent{slices.Min(wall), slices.Min(used)}
}

// peak returns by how many MiB the heap grows at most while do runs, sampled every millisecond: all objects that the
// collector has not freed. With a percentage near zero it frees them at once.
func peak(do func(), percent int) float64 {
	debug.FreeOSMemory()
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := heap()
	most := before
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, heap())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return float64(most-before) / (1 << 20)
}
