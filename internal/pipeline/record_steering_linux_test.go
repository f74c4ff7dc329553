package pipeline_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/clock"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
)

// sampler reads the counter beside MONOTONIC, as often as it can be seen from outside.
type sampler struct {
	readings []clock.Reading
	stop     chan struct{}
	done     sync.WaitGroup
}

func sample() *sampler {
	s := &sampler{stop: make(chan struct{})}
	s.done.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			case <-time.After(2 * time.Millisecond):
				s.readings = append(s.readings, clock.Take(clock.Best().Source).Monotonic)
			}
		}
	})
	return s
}

func (s *sampler) end() []clock.Reading {
	close(s.stop)
	s.done.Wait()
	return s.readings
}

// steerForReal makes the kernel's clock gain by some ppm and lose as much, by turns, as root may; the machine's time is as it was at the end. It
// does so only if the tester asks for it (make steering): the clock is the machine's.
func steerForReal(t *testing.T) (end func()) {
	t.Helper()
	if os.Getenv("MERIDIAN_STEERING") == "" {
		return func() {}
	}
	var before unix.Timex
	if _, err := unix.Adjtimex(&before); err != nil {
		t.Skip("adjtimex: ", err)
	}
	const adjFrequency = 2
	set := func(freq int64) error {
		x := unix.Timex{Modes: adjFrequency, Freq: freq}
		_, err := unix.Adjtimex(&x)
		return err
	}
	if err := set(before.Freq); err != nil {
		t.Skip("the clock may not be steered here: ", err)
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		defer func() { _ = set(before.Freq) }()
		sign := int64(1)
		for {
			for _, turn := range []int64{sign, -sign} { // equally long, so that they cancel out
				if set(before.Freq+turn*100<<16) != nil {
					return
				}
				time.Sleep(300 * time.Millisecond)
			}
			select {
			case <-stop:
				return
			default:
				sign = -sign
			}
		}
	})
	end = func() {
		close(stop)
		done.Wait()
		var after unix.Timex
		if _, err := unix.Adjtimex(&after); err != nil || after.Freq != before.Freq || after.Tick != before.Tick {
			t.Errorf("the clock is left steered: %v, %+v instead of %+v", err, after, before)
		}
	}
	return end
}

// TestRecordedHostsAreFreeClocks records two hosts that share the kernel's clock, and holds the timeline against the counter
// itself, which is read beside the clock all the while. With MERIDIAN_STEERING the clock is steered meanwhile.
func TestRecordedHostsAreFreeClocks(t *testing.T) {
	if !clock.Best().Source.CountsCycles() {
		t.Skip("this machine has no counter beside its clocks")
	}
	lab := netlab.TwoHosts(t)
	dir := t.TempDir()
	web, db := filepath.Join(dir, "web"), filepath.Join(dir, "db")
	stopWeb, originWeb := recordTwice(t, lab, "web", web)
	stopDB, originDB := recordTwice(t, lab, "db", db)
	origins := map[string]*origin{"web": originWeb, "db": originDB}
	// The clock is let alone at first and in the end, where the counter's line is taken from the maps.
	const quiet = 300 * time.Millisecond
	s := sample()
	time.Sleep(quiet)
	end := steerForReal(t)
	lab.Run(netlab.Mixed("web", "db"))
	end()
	time.Sleep(quiet)
	readings := s.end()
	stopWeb()
	stopDB()
	out := alignedHosts(t, web, db, "x.csv", origins)
	for _, h := range out.Report.Hosts {
		if h.Clock == nil || h.Clock.Kind != "free" || h.Clock.Counter != clock.Best().Source.String() || h.Clock.Readings < 3 {
			t.Fatalf("%s: the clock is %+v", h.Name, h.Clock)
		}
		t.Logf("%s: %+v, bound %d ns", h.Name, *h.Clock, *h.BoundNs)
	}
	holdCounter(t, out, readings, origins)
}

// holdCounter holds the maps of hosts against readings of the counter: the timeline runs as that of the reference does, so the
// instants of readings lie on one line over the counter.
func holdCounter(t *testing.T, out *pipeline.Outcome, readings []clock.Reading, origins map[string]*origin) {
	t.Helper()
	maps := make(map[string]clock.Map)
	for _, h := range out.Report.Hosts {
		var m clock.Map
		for _, k := range h.Map {
			if k.LowNs == nil || k.HighNs == nil {
				t.Fatalf("%s is not bounded", h.Name)
			}
			m.Mid = append(m.Mid, clock.Knot{X: k.HostNs, Y: k.TimelineNs})
			m.Low = append(m.Low, clock.Knot{X: k.HostNs, Y: *k.LowNs})
			m.High = append(m.High, clock.Knot{X: k.HostNs, Y: *k.HighNs})
		}
		maps[h.Name] = m
	}
	reference := maps[out.Report.Reference]
	instant := func(m *clock.Map, host string, r clock.Reading) clock.TimelineTime {
		return m.At(clock.HostTime(r.Ns + origins[host].ns))
	}
	first, last := readings[0], readings[len(readings)-1]
	errorNs := func(r clock.Reading) int64 {
		return r.NsError + clock.MulDiv(int64(r.Error), last.Ns-first.Ns, int64(last.Counter-first.Counter), clock.Up)
	}
	from, to := instant(&reference, out.Report.Reference, first), instant(&reference, out.Report.Reference, last)
	for name, m := range maps {
		worst := int64(0)
		for _, r := range readings {
			truth := clock.Add(from, clock.MulDiv(int64(r.Counter-first.Counter), int64(to-from), int64(last.Counter-first.Counter), clock.Nearest))
			low, high, _, _ := m.Bounds(clock.HostTime(r.Ns + origins[name].ns))
			// The readings here have errors, those at the ends of the line too, and the origins.
			own := clock.TimelineTime(300 + errorNs(r) + errorNs(first) + errorNs(last))
			if truth < low-own || truth > high+own {
				t.Fatalf("%s: an event at count %d was at %d and not from %d to %d", name, r.Counter, truth, low, high)
			}
			worst = max(worst, clock.Sub(truth, instant(&m, name, r)), clock.Sub(instant(&m, name, r), truth))
		}
		t.Logf("%s: %d readings, the estimate is off by %d ns at most", name, len(readings), worst)
	}
}
