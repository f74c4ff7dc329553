package pair

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// million returns a million messages between linear clocks, in the order of many connections.
func million() *Problem {
	random := rand.New(rand.NewPCG(1, 2))
	p := &Problem{A: trace.Clock{First: since1970, Last: since1970 + 600e9}, B: trace.Clock{First: since1970, Last: since1970 + 600e9}}
	f := func(x clock.HostTime) clock.HostTime { return x + 3e9 - clock.HostTime(int64(x-since1970)/25_000) }
	for range 250 {
		var there, back []trace.Message
		for i := range int64(2000) {
			x := clock.HostTime(since1970+i*300e6) + clock.HostTime(random.Int64N(300e6))
			there = append(there, trace.Message{Sent: x, Received: f(x) + 80_000 + clock.HostTime(random.Int64N(400_000))})
			back = append(back, trace.Message{Received: x, Sent: f(x) - 80_000 - clock.HostTime(random.Int64N(400_000))})
		}
		p.AB, p.BA = append(p.AB, there), append(p.BA, back)
	}
	return p
}

func BenchmarkHullOfAMillionMessages(b *testing.B) {
	p := million()
	for b.Loop() {
		Hull(p)
	}
}

// BenchmarkHullOneCore is what one core does with messages in order.
func BenchmarkHullOneCore(b *testing.B) {
	hullOnOneCore(b, million())
}

func BenchmarkHullOneCoreOneConnection(b *testing.B) {
	p := million()
	p.AB, p.BA = Messages{inOrder(p.AB, sent)}, Messages{inOrder(p.BA, received)}
	hullOnOneCore(b, p)
}

func hullOnOneCore(b *testing.B, p *Problem) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := p.AB.Len() + p.BA.Len()
	for b.Loop() {
		Hull(p)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
}

// BenchmarkEstimatorsOfAMillionMessages is a table of the published estimators.
func BenchmarkEstimatorsOfAMillionMessages(b *testing.B) {
	p := million()
	for _, name := range slices.Sorted(maps.Keys(estimators)) {
		estimate := estimators[name]
		if name == "segmented" {
			estimate = func(p *Problem) (Estimate, error) { return Segmented(p, 60_000_000_000, byHull) }
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := estimate(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("measured-minimum", func(b *testing.B) {
		for b.Loop() {
			MeasuredMinimum(p)
		}
	})
}

// BenchmarkBroadcastsToAHundredClocks is the size at which the paper's solver takes half a minute: a hundred clocks, a
// hundred thousand receptions.
func BenchmarkBroadcastsToAHundredClocks(b *testing.B) {
	broadcasts, _ := heardBy(1, 100, 1333, 20_000)
	for b.Loop() {
		if _, err := Broadcasts(100, broadcasts); err != nil {
			b.Fatal(err)
		}
	}
}
