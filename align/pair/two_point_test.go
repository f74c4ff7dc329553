package pair

import (
	"math/rand/v2"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestTwoPointTakesTheQuickExchangesFarApart(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	i := 0
	p, f := linear(since1970, 20, 10_000_000, 4000, func() int64 {
		// Every 97th exchange is undisturbed, all others wait in a queue, one way.
		i++
		if exchange := (i - 1) / 2; exchange%97 == 3 || i%2 == 0 {
			return 0
		}
		return 1_000_000 + random.Int64N(9_000_000)
	})
	e := must(TwoPoint(p))
	for x := p.A.First; x < p.A.Last; x += 1e9 {
		if d := distance(e.Map.At(x), f(x)); d > 10 {
			t.Fatalf("%d ns off", d)
		}
	}
	if e.Residual < 99_900 || e.Residual > 100_100 {
		t.Errorf("margin %g ns, the quickest round trip is 200000 ns", e.Residual)
	}
}

func TestOfAllPairsOfTheKeptExchangesTheSteadiestCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		var exchanges []exchange
		for range 40 {
			exchanges = append(exchanges, exchange{at: clock.HostTime(random.Int64N(1000)), delay: 1 + random.Int64N(50), offset: float64(random.Int64N(90))})
		}
		first, second, ok := steadiest(exchanges)
		if !ok || first.at >= second.at {
			t.Fatal(first, second, ok)
		}
		margin := func(x, y exchange) float64 { return float64(x.delay+y.delay) / float64(distance(x.at, y.at)) }
		for i, x := range exchanges {
			for _, y := range exchanges[i+1:] {
				if x.at != y.at && margin(x, y) < margin(first, second)-1e-12 {
					t.Fatalf("%v %v are steadier than %v %v", x, y, first, second)
				}
			}
		}
	}
}

func TestEveryIntervalKeepsItsQuickest(t *testing.T) {
	var exchanges []exchange
	for i := range int64(1000) {
		exchanges = append(exchanges, exchange{at: clock.HostTime(i * 10), delay: (i*7919)%1000 + i}) // ever slower
	}
	kept := quickestOfIntervals(exchanges, 10, 10)
	if len(kept) != 100 {
		t.Fatalf("kept %d", len(kept))
	}
	for i, x := range kept {
		part := int64(i / 10)
		if int64(x.at)*10 < part*9990 || int64(x.at)*10 > (part+1)*9990 {
			t.Fatalf("%v stands in interval %d", x, part)
		}
		quicker := 0
		for _, y := range exchanges {
			if int64(y.at)*10/9990 == int64(x.at)*10/9990 && y.delay < x.delay {
				quicker++
			}
		}
		if quicker >= 10 {
			t.Fatalf("%d are quicker than %v", quicker, x)
		}
	}
}

func TestExchangesBegunByEitherClockCount(t *testing.T) {
	// a asks once, b asks twice; all delays are 10, and b is 1000 ahead.
	p := &Problem{
		AB: Messages{{{Sent: 0, Received: 1010}, {Sent: 55, Received: 1065}, {Sent: 95, Received: 1105}}},
		BA: Messages{{{Sent: 1020, Received: 30}, {Sent: 1040, Received: 50}, {Sent: 1080, Received: 90}}},
	}
	exchanges, base := exchangesBothWays(p)
	if len(exchanges) != 4 {
		t.Fatalf("%d exchanges: %v", len(exchanges), exchanges)
	}
	for _, x := range exchanges {
		if x.offset+float64(base) != 1000 || x.delay != 20 {
			t.Errorf("%+v from %d", x, base)
		}
	}
	var asked []trace.Message
	for m := range answered(p.BA, p.AB) {
		asked = append(asked, m)
	}
	if len(asked) != 2 || asked[0].Sent != 1040 || asked[1].Sent != 1080 {
		t.Errorf("b asked with %v: the message of 1020 was not the last before an answer", asked)
	}
}
