package align_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/corpus"
	"meridian/internal/testneed"
	"meridian/trace"
)

// offsetAt returns an offset at x ns of true time.
func offsetAt(offsets []float64, x float64) float64 {
	i := min(max(int(x/1e9), 0), len(offsets)-2)
	return offsets[i] + (offsets[i+1]-offsets[i])*(x/1e9-float64(i))
}

// steeredProblem is the talk of those clocks from 60 s to 900 s after their start: five messages a second each way over a LAN.
func steeredProblem(offsets [][]float64) *trace.Problem {
	r := rand.New(rand.NewPCG(5, 9))
	p := &trace.Problem{}
	for i := range offsets {
		p.Clocks = append(p.Clocks, trace.Clock{Name: string(rune('a' + i)), Host: string(rune('a' + i)), Granularity: 1, First: clock.Limit})
	}
	stamp := func(i int, x float64) clock.HostTime {
		s := clock.HostTime(x + offsetAt(offsets[i], x))
		c := &p.Clocks[i]
		c.First, c.Last, c.Events = min(c.First, s), max(c.Last, s), c.Events+1
		return s
	}
	for from := range offsets {
		for to := range offsets {
			if from == to {
				continue
			}
			c := trace.Channel{From: from, To: to}
			for x := 60e9; x < 900e9; x += r.ExpFloat64() * 2e8 {
				arrived := x + 30e3 + 20e3*r.ExpFloat64()
				c.Messages = append(c.Messages, trace.Message{Sent: stamp(from, x), Received: stamp(to, arrived)})
			}
			p.Channels = append(p.Channels, c)
		}
	}
	return p
}

func TestClocksThatChronydSteersAreFollowedFromTheirStart(t *testing.T) {
	all := corpus.ChronydOffsets(t, "lan")
	for _, test := range []struct {
		name    string
		offsets [][]float64
		long    bool
	}{
		{"first client", [][]float64{all[0], all[1]}, true},
		{"second client", [][]float64{all[0], all[2]}, false},
		{"both clients", [][]float64{all[1], all[2]}, true},
		{"network", [][]float64{all[0], all[1], all[2]}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.long {
				testneed.Long(t, "smooths clocks of 14 minutes")
			}
			s, err := align.Solve(context.Background(), steeredProblem(test.offsets), align.Options{Reference: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Routes) > 0 || len(s.Steps) > 0 {
				t.Errorf("routes that did not change, or steps: %+v %+v", s.Routes, s.Steps)
			}
			for host := 1; host < len(test.offsets); host++ {
				const n = 4000
				sum, within := 0.0, 0.0
				for i := range n {
					x := 62e9 + 836e9*float64(i)/n
					at := clock.HostTime(x + offsetAt(test.offsets[host], x))
					miss := float64(s.Maps[host].At(at)) - x - offsetAt(test.offsets[0], x)
					sum += miss * miss / n
					if math.Abs(miss) <= 2*errorAt(s.Hosts[host].Deviation, at) {
						within += 1.0 / n
					}
				}
				t.Logf("%d: error %.0f ns, %.1f%% within two deviations", host, math.Sqrt(sum), 100*within)
				// The middle of the bounds alone has 500 to 1800.
				if rms := math.Sqrt(sum); rms > 930 {
					t.Errorf("clock %d: root mean square of the error %.0f ns", host, rms)
				}
				if within < 0.85 {
					t.Errorf("clock %d: %.1f%% of the truths within two deviations", host, 100*within)
				}
			}
		})
	}
}

// errorAt returns the deviation at an instant, by proportion.
func errorAt(all []pair.Deviation, at clock.HostTime) float64 {
	if len(all) < 2 {
		return math.NaN()
	}
	i := min(max(sort.Search(len(all), func(i int) bool { return all[i].Host >= at }), 1), len(all)-1)
	f := min(max(float64(at-all[i-1].Host)/float64(all[i].Host-all[i-1].Host), 0), 1)
	return all[i-1].Ns + f*(all[i].Ns-all[i-1].Ns)
}
