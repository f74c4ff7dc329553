package pair

import (
	"math/rand/v2"
	"testing"

	"meridian/trace"
)

// million returns a million messages between linear clocks, in the order of many connections.
func million() *Problem {
	random := rand.New(rand.NewPCG(1, 2))
	p := &Problem{A: trace.Clock{First: since1970, Last: since1970 + 600e9}, B: trace.Clock{First: since1970, Last: since1970 + 600e9}}
	f := func(x int64) int64 { return x + 3e9 - (x-since1970)/25_000 }
	for range 250 {
		var there, back []trace.Message
		for i := range int64(2000) {
			x := since1970 + i*300e6 + random.Int64N(300e6)
			there = append(there, trace.Message{Sent: x, Received: f(x) + 80_000 + random.Int64N(400_000)})
			back = append(back, trace.Message{Received: x, Sent: f(x) - 80_000 - random.Int64N(400_000)})
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

func BenchmarkRegressionOfAMillionMessages(b *testing.B) {
	p := million()
	for b.Loop() {
		if _, err := Regression(p, 90); err != nil {
			b.Fatal(err)
		}
	}
}
