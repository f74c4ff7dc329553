package pair

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// until returns the problem as a client on a knows it at an instant.
func (p *Problem) until(x clock.HostTime) *Problem {
	q := *p
	q.AB, q.BA = nil, nil
	for m := range p.AB.All() {
		if m.Sent < x {
			q.AB = append(q.AB, []trace.Message{m})
		}
	}
	for m := range p.BA.All() {
		if m.Received <= x {
			q.BA = append(q.BA, []trace.Message{m})
		}
	}
	return &q
}

var clients = map[string]func(*Problem) (Estimate, error){
	"cristian":          func(p *Problem) (Estimate, error) { return Cristian(p, CristianOptions{}) },
	"cristian accurate": func(p *Problem) (Estimate, error) { return Cristian(p, CristianOptions{Drift: 50, Accuracy: 60_000}) },
	"ntp":               NTP,
}

func TestLaterMessagesNeverChangeWhatAClientHasShown(t *testing.T) {
	compared := 0
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		x := p.A.First + clock.HostTime(rapid.Int64Range(0, int64(p.A.Last-p.A.First)).Draw(t, "x"))
		known := p.until(x)
		for name, estimate := range clients {
			before := must(estimate(known))
			if before.Exchanges == 0 {
				continue
			}
			after := must(estimate(p))
			start := p.A.Last
			found, _ := readings(known)
			for _, r := range found {
				start = min(start, r.at)
			}
			for range 10 {
				at := x - clock.HostTime(rapid.Int64Range(0, max(int64(x-start), 0)).Draw(t, "at"))
				if b, a := before.Map.At(at), after.Map.At(at); b != a {
					t.Fatalf("%s at %d: %d by what was known at %d, %d later", name, at, b, x, a)
				}
				compared++
			}
		}
	})
	if compared == 0 {
		t.Fatal("nothing was compared")
	}
}

func TestClientShowsItsServersTimeAfterASymmetricExchange(t *testing.T) {
	p, f := linear(since1970, 0, 1_000_000_000, 20, none)
	for name, estimate := range clients {
		if name == "cristian accurate" { // half the round trip is more than it takes
			if e := must(estimate(p)); e.Exchanges != 0 {
				t.Errorf("%s took %d readings", name, e.Exchanges)
			}
			continue
		}
		e := must(estimate(p))
		for x := p.A.First; x < p.A.Last; x += 123_456_789 {
			if d := int64(e.Map.At(x) - f(x)); d != 0 {
				t.Fatalf("%s: %d ns off", name, d)
			}
		}
	}
}

func TestCristianReadsByHisFormula(t *testing.T) {
	// Sent at 1000, there at 51000; answered at 53000, back at 5000: half a round trip is 1000.
	p := &Problem{AB: Messages{{{Sent: 1000, Received: 51_000}}}, BA: Messages{{{Sent: 53_000, Received: 5_000}}}, MinAB: 600, MinBA: 800}
	e := must(Cristian(p, CristianOptions{Drift: 10_000}))
	// T + D (1 + 2ρ) - min ρ = 53000 + 1000 * 1.02 - 600 * 0.01
	if got := e.Map.At(5_000); got != 54_014 {
		t.Errorf("reads %d", got)
	}
	if e.Residual != 1020-600 {
		t.Errorf("error %g", e.Residual)
	}
	if e = must(Cristian(p, CristianOptions{Drift: 10_000, Accuracy: 419})); e.Exchanges != 0 {
		t.Error("took a reading of an error larger than asked for")
	}
	if _, err := Cristian(p, CristianOptions{Drift: -1}); err == nil {
		t.Error("a negative drift is no error")
	}
}

func TestNTPTakesTheQuickestOfTheLastEightOnce(t *testing.T) {
	// Exchange i has a delay of delays[i] on the way there alone; its offset is so by half of that too large.
	delays := []int64{500, 300, 400, 700, 600, 350, 900, 800, 310, 305, 1000}
	//                first, better, then none until the 300 has left the eight: at the tenth, whose 305 is the quickest
	uses := []int{0, 1, 9}
	i := 0
	p, _ := linear(0, 0, 1_000_000_000, len(delays), func() int64 {
		i++
		if i%2 == 0 {
			return 0
		}
		return 1000 * delays[i/2]
	})
	e := must(NTP(p))
	if e.Exchanges != len(uses) {
		t.Errorf("set %d times, not %d", e.Exchanges, len(uses))
	}
	for k, u := range uses {
		at := p.BA[0][u].Received + 600_000_000 // it may have stood still before
		if got, want := int64(e.Map.At(at)-at), 7_000_000_000+1000*delays[u]/2; got != want {
			t.Errorf("setting %d: offset %d, not %d", k, got, want)
		}
	}
}

func TestClientStandsStillUntilATimeSetBackHasCaughtUp(t *testing.T) {
	c := &corridor{from: -100, to: 1000}
	curve := c.client([]setting{{0, 500}, {100, 450}, {120, 440}, {200, 600}, {300, 0}})
	if err := curve.Check(); err != nil {
		t.Fatal(err)
	}
	for x, want := range map[clock.HostTime]clock.HostTime{-50: 450, 0: 500, 99: 599, 100: 599, 119: 599, 150: 599, 159: 599, 170: 610, 200: 800, 299: 899, 500: 899, 899: 899, 1000: 1000} {
		if got := curve.At(x, 0); got != want {
			t.Errorf("%d at %d, not %d", got, x, want)
		}
	}
}

func TestRecordedExchangesOfAClockFastByALotStillCount(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	p, f := linear(since1970, 400, 100_000_000, 600, func() int64 { return int64(random.ExpFloat64() * 20_000) })
	for _, name := range []string{"cristian", "ntp"} {
		e := must(clients[name](p))
		for x := p.A.First + 2e9; x < p.A.Last; x += 33_333_333 {
			// Up to eight exchanges old, at 400 ppm.
			if d := distance(e.Map.At(x), f(x)); d > 9*100_000_000*400/1_000_000+100_000 {
				t.Fatalf("%s: %d ns off", name, d)
			}
		}
	}
}

func TestAnswersCountInTheOrderInWhichTheyCome(t *testing.T) {
	// One question, and two answers of which the one sent first comes last.
	p := &Problem{
		AB: Messages{{{Sent: 100, Received: 1110}}},
		BA: Messages{{{Sent: 1120, Received: 900}, {Sent: 1130, Received: 140}}},
	}
	found, base := readings(p)
	if len(found) != 1 || found[0].at != 140 || found[0].delay != 20 || found[0].offset+float64(base) != 1000 {
		t.Errorf("%+v from %d", found, base)
	}
}

func TestQuestionNotYetAskedIsNotAnswered(t *testing.T) {
	// By b's clock the second question came before the answer, by a's it was sent after: a's clock was set.
	p := &Problem{
		AB: Messages{{{Sent: 100, Received: 1110}, {Sent: 500, Received: 1115}}},
		BA: Messages{{{Sent: 1120, Received: 130}}},
	}
	if found, _ := readings(p); len(found) != 1 || found[0].middle != 115 {
		t.Errorf("%+v", found)
	}
}
