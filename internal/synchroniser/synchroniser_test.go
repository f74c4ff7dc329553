package synchroniser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"meridian/clock"
	"meridian/internal/probe"
)

// TestMain looks for goroutines that are left. On a busy machine those that end may take a while.
func TestMain(m *testing.M) {
	code := m.Run()
	for until := time.Now().Add(time.Minute); code == 0; {
		err := goleak.Find()
		if err == nil {
			break
		}
		if time.Now().After(until) {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// served starts a server with a clock, and returns its address.
func served(t *testing.T, key probe.Key, c probe.Clock) string {
	t.Helper()
	s, err := probe.Listen(t.Context(), "127.0.0.1:0", probe.Options{Key: key, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

// until runs a synchroniser until a condition holds.
func until(t *testing.T, s *Synchroniser, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Error("the condition did not hold within a minute")
			<-ended
			return
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// within reports a bound that does not hold.
func within(t *testing.T, what string, r Reading, truth int64) {
	t.Helper()
	if !r.Bounded || truth < r.Low || truth > r.High || r.Offset < r.Low || r.Offset > r.High {
		t.Errorf("%s: the truth is %d, the bound [%d, %d] around %d, bounded %v", what, truth, r.Low, r.High, r.Offset, r.Bounded)
	}
}

func TestBoundsHoldForClocksThatDiffer(t *testing.T) {
	key, base := probe.NewKey(), probe.System()
	start := base.Read().Free
	const ahead, rate = int64(3e9), 44e-6
	truth := func(free clock.HostTime) int64 { return ahead + int64(rate*float64(free-start)) }
	far := probe.NewWarped(base, func(free clock.HostTime) clock.HostTime { return clock.Add(free, truth(free)) })
	s, err := New(t.Context(), Options{Probe: probe.Options{Key: key, Clock: base, Rate: 100, MinRate: 100}, Also: []string{"ntp", "cristian"}},
		Target{"far", served(t, key, far)}, Target{"same", served(t, key, base)})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	until(t, s, func() bool {
		for i := range s.Hosts() {
			for _, x := range append(s.By(i), s.At(i), s.State(i)) {
				if !x.Bounded() {
					continue
				}
				asked++
				want := int64(0)
				if x.Name == "far" {
					want = truth(x.FreeAt)
				}
				within(t, x.Name+" free by "+x.Method, x.Free, want)
				within(t, x.Name+" by "+x.Method, x.System, want)
			}
		}
		x := s.State(0) // a busy machine delays exchanges, so that the skew takes longer
		return x.Exchanges > 150 && asked >= 100 && x.Skew > rate/2 && x.Skew < 2*rate || t.Failed()
	})
	if x := s.State(0); x.Steps != 0 || x.Set != 0 || x.Sessions == 0 {
		t.Errorf("asked %d times, in the end %+v", asked, x)
	}
}

func TestStepOfTheFreeClockBeginsAPieceAndNoBoundSpansIt(t *testing.T) {
	key, base := probe.NewKey(), probe.System()
	at := clock.Add(base.Read().Free, 1e9)
	far := probe.NewWarped(base, func(free clock.HostTime) clock.HostTime {
		if free >= at {
			return clock.Add(free, 5e6)
		}
		return free
	})
	s, err := New(t.Context(), Options{Probe: probe.Options{Key: key, Clock: base, Rate: 100, MinRate: 100}}, Target{"far", served(t, key, far)})
	if err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { x := s.State(0); return x.Steps > 0 && x.Bounded() && x.Free.Low > 0 })
	x := s.State(0)
	if x.Steps != 1 {
		t.Errorf("%d steps", x.Steps)
	}
	within(t, "after the step", x.Free, 5e6)
}

func TestBriskSaysWhatItsRoundsCorrect(t *testing.T) {
	key, base := probe.NewKey(), probe.System()
	for _, ahead := range []int64{40e6, -40e6} {
		far := probe.NewWarped(base, func(free clock.HostTime) clock.HostTime { return clock.Add(free, ahead) })
		s, err := New(t.Context(), Options{Method: BriskMethod, Probe: probe.Options{Key: key, Clock: base, Rate: 200, MinRate: 200}},
			Target{"far", served(t, key, far)})
		if err != nil {
			t.Fatal(err)
		}
		s.every = 100 * time.Millisecond
		// The one that is behind was advanced by all of 40 ms, which is above the threshold. Rounds of a busy machine are off by their delays.
		var x State
		until(t, s, func() bool {
			x = s.At(0)
			return x.Estimated && x.Bounded() && abs(x.Free.Offset-ahead) < 1e6 && abs(x.System.Offset-ahead) < 1e6
		})
		if x.Method != BriskMethod {
			t.Errorf("%d ahead: %+v", ahead, x)
		}
	}
}

func TestHostWithoutAnswerIsSaidToHaveNone(t *testing.T) {
	key := probe.NewKey()
	s, err := New(t.Context(), Options{Probe: probe.Options{Key: key}, Silence: 300 * time.Millisecond}, Target{"db", served(t, probe.NewKey(), nil)})
	if err != nil {
		t.Fatal(err)
	}
	until(t, s, func() bool { return s.Stats().Sent > 0 })
	if x := s.At(0); x.String() != "no answer" || x.Bounded() || x.LeastRTT != 0 {
		t.Errorf("%v: %+v", &x, x)
	}
}

func TestHostThatFallsSilentIsNotBounded(t *testing.T) {
	key := probe.NewKey()
	s, err := New(t.Context(), Options{Probe: probe.Options{Key: key, Rate: 100}, Silence: 200 * time.Millisecond}, Target{"db", served(t, key, nil)})
	if err != nil {
		t.Fatal(err)
	}
	answered := false
	var x State
	until(t, s, func() bool {
		x = s.At(0)
		if x.Bounded() && !answered {
			answered = true
			s.Quiet(true)
		}
		return answered && x.Silent
	})
	if x.Bounded() || x.String() != "silent" {
		t.Errorf("%v", &x)
	}
}

func TestMetricsSayWhatIsKnown(t *testing.T) {
	key := probe.NewKey()
	s, err := New(t.Context(), Options{Probe: probe.Options{Key: key, Rate: 100}, Silence: time.Minute}, Target{"db", served(t, key, nil)}, Target{"dead", "127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMetrics(t.Context(), "127.0.0.1:0", s.Stats, s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx) }()
	until(t, s, func() bool { x := s.At(0); return x.Bounded() })
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + m.Addr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`meridian_clock_offset_seconds{host="db"} `, `meridian_clock_offset_low_seconds{host="db"} `, `meridian_clock_least_round_trip_seconds{host="db"} `,
		`meridian_clock_bounded{host="db"} 1`, `meridian_clock_bounded{host="dead"} 0`, `meridian_clock_steps_total{host="db"} 0`,
		`meridian_clock_packets_sent_total `, `meridian_clock_packets_dropped_total{cause="bad_mac"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), `offset_seconds{host="dead"}`) {
		t.Error("a host without an answer has an offset")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lockWatch is a clock that counts readings while nobody held a host's lock.
type lockWatch struct {
	probe.Clock
	host *host
	free int
}

func (c *lockWatch) Read() probe.Reading {
	if c.host != nil && c.host.mu.TryLock() {
		c.host.mu.Unlock()
		c.free++
	}
	return c.Clock.Read()
}

// TestNoSampleComesBetweenTheInstantAskedForAndItsBound: a bound is of instants that are not before the newest sample. The clock is read while
// no sample can come.
func TestNoSampleComesBetweenTheInstantAskedForAndItsBound(t *testing.T) {
	c := &lockWatch{Clock: probe.System()}
	s, err := New(t.Context(), Options{Probe: probe.Options{Clock: c}}, Target{Name: "far", Address: "127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.host = s.hosts[0]
	s.At(0)
	s.By(0)
	if c.free > 0 {
		t.Errorf("%d of 2 readings were before the lock", c.free)
	}
}
