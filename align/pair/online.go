package pair

import (
	"fmt"
	"math"
	"sort"

	"meridian/clock"
)

// The on-line synchronisers run over recorded exchanges as a client on a would have run them against a server on b. What
// they return holds at every instant what that client knew then: it depends on nothing that a had not yet sent or
// received. Before its first exchange is complete a client knows nothing; that interval gets the first line continued
// backwards, as if its events had been stamped afterwards.

// reading is what a client learns from one exchange, at the instant at which the answer comes.
type reading struct {
	at     clock.HostTime // T4, a's clock
	offset float64        // of b's clock, less the base, ns
	delay  float64        // round trip without the wait on b, ns
	middle clock.HostTime // between T1 and T4
}

// readings returns the exchanges that a began, in the order in which they were complete. A client takes an answer for
// that of the last message of its own that the server had received when it answered, and of several answers to one the
// first to come.
func readings(p *Problem) (out []reading, base int64) {
	asked := inOrder(p.AB, received)
	answers := inOrder(p.BA, received)
	taken := make([]bool, len(asked))
	for _, answer := range answers {
		i := sort.Search(len(asked), func(i int) bool { return asked[i].Received > answer.Sent }) - 1
		for i >= 0 && asked[i].Sent >= answer.Received { // damage: it cannot be known yet
			i--
		}
		if i < 0 || taken[i] {
			continue
		}
		taken[i] = true
		if out == nil {
			base = int64(asked[i].Received - asked[i].Sent)
		}
		// The client's messages are taken as they are: what it knows of least delays is the method's to use.
		plain := Problem{}
		x := plain.exchange(asked[i], answer, base)
		out = append(out, reading{at: answer.Received, offset: x.offset, delay: float64(x.delay), middle: x.at})
	}
	return out, base
}

// setting is a correction of the client's clock: from an instant on it shows its own time plus the offset.
type setting struct {
	at     clock.HostTime
	offset int64
}

// client returns the clock of a client that is set so many times. Between settings it runs at its own rate; set back, it
// stands still until the new time has caught up.
func (c *corridor) client(settings []setting) clock.PairCurve {
	var curve clock.PairCurve
	first := settings[0]
	if c.from < first.at {
		curve = append(curve, clock.PairKnot{X: c.from, Y: clock.Add(c.from, first.offset)})
	}
	for i, s := range settings {
		until := max(c.to, clock.Add(s.at, 1))
		if i+1 < len(settings) {
			until = settings[i+1].at - 1
		}
		if n := len(curve); n > 0 && curve[n-1].Y > clock.Add(s.at, s.offset) {
			shown := curve[n-1].Y
			curve = append(curve, clock.PairKnot{X: s.at, Y: shown})
			caught := clock.Add(shown, -s.offset)
			if i+1 == len(settings) {
				until = max(until, clock.Add(caught, 1))
			}
			if caught >= until {
				if until > s.at {
					curve = append(curve, clock.PairKnot{X: until, Y: shown})
				}
				continue
			}
			curve = append(curve, clock.PairKnot{X: caught, Y: shown})
		} else {
			curve = append(curve, clock.PairKnot{X: s.at, Y: clock.Add(s.at, s.offset)})
		}
		if until > curve[len(curve)-1].X {
			curve = append(curve, clock.PairKnot{X: until, Y: clock.Add(until, s.offset)})
		}
	}
	return curve
}

// online completes an estimate with a client's clock.
func (e *Estimate) online(c *corridor, settings []setting) {
	// Of several answers at one instant the last counts; a setting that changes nothing is none.
	kept := settings[:0]
	for _, s := range settings {
		if n := len(kept); n > 0 && kept[n-1].at == s.at {
			kept = kept[:n-1]
		}
		if n := len(kept); n == 0 || kept[n-1].offset != s.offset {
			kept = append(kept, s)
		}
	}
	mid := c.client(kept)
	if mid.Check() != nil {
		return
	}
	e.Map.Mid, e.Exchanges = mid, len(settings)
	first, last := kept[0], kept[len(kept)-1]
	e.Skew = 0
	if last.at > first.at {
		e.Skew = float64(last.offset-first.offset) / float64(last.at-first.at) * 1e6
	}
}

// CristianOptions tune a client. The zero value knows nothing of clocks and takes every answer.
type CristianOptions struct {
	Drift    float64 // ρ: the greatest drift of either clock, ppm
	Accuracy int64   // the greatest error e, ns, with which a reading counts; 0 takes all
}

// Cristian returns the clock of a client that reads its server's by Cristian's method (1989; Poirier 2010, section 2.2.2):
// when an answer comes that b sent at T, after half a round trip D without the wait on b, b's clock shows
//
//	T + D (1 + 2ρ) - min ρ,    with an error of at most    e = D (1 + 2ρ) - min        (2.3), (2.4)
//
// where min is the smaller of the problem's least delays. A reading of a larger error than asked for is an attempt that
// failed, and the next exchange another one. Between readings the clock runs at a's rate and never back. Exchanges is the
// number of readings that counted, Residual the root mean square of their errors e in ns.
//
// It takes O(n log n), O(n) for messages in order. It fails, and the hull's estimate is returned, where no reading
// counts. The bounds are those of [Hull], known only afterwards. Its error is half of what the ways differ by, and grows
// with the skew from one reading to the next. A drift or an accuracy out of range is an error.
func Cristian(p *Problem, o CristianOptions) (Estimate, error) {
	if !(o.Drift >= 0 && o.Drift <= 500_000) || o.Accuracy < 0 {
		return Estimate{}, fmt.Errorf("drift %g ppm or accuracy %d ns out of range: the drift is 0 to 500000 ppm, the accuracy 0 ns or more", o.Drift, o.Accuracy)
	}
	e, c := hull(p)
	found, base := readings(p)
	rho := o.Drift * 1e-6
	there, back := p.leastDelays()
	least := float64(min(there, back))
	var settings []setting
	var squares float64
	for _, r := range found {
		half := r.delay / 2
		margin := half*(1+2*rho) - least
		if o.Accuracy > 0 && margin > float64(o.Accuracy) {
			continue
		}
		// With ρ = 0 this is T + D - T4, the offset of eq. (2.5).
		offset := r.offset + half*2*rho - least*rho
		settings = append(settings, setting{r.at, clock.Add(base, int64(math.Round(offset)))})
		squares += margin * margin
	}
	if len(settings) == 0 {
		return e, nil
	}
	n := len(settings)
	e.online(c, settings)
	e.Residual = math.Sqrt(squares / float64(n))
	return e, nil
}

// NTP returns the clock of a client of the Network Time Protocol: the offset θ and the round trip δ of every exchange
// (Mills 1994; Poirier 2010, eq. (2.5) and (2.6)), and the clock filter of RFC 5905, section 10: of the last eight
// exchanges the quickest counts, once, and only if it is later than the one that counted before. Between them the offset
// is held. Exchanges is the number of settings, Residual the root mean square of δ/2 over the exchanges that counted, ns.
//
// The protocol's other half, the loop that disciplines the frequency, is left out: it settles over hours (the
// Allan intercept is 1500 s), and does next to nothing within most traces. The error so grows with the skew while an
// old quick exchange keeps newer slow ones from counting, at most eight exchanges long.
//
// It takes O(n log n), O(n) for messages in order. It fails, and the hull's estimate is returned, where there is no
// exchange. The bounds are those of [Hull], known only afterwards.
func NTP(p *Problem) (Estimate, error) {
	e, c := hull(p)
	found, base := readings(p)
	if len(found) == 0 {
		return e, nil
	}
	const stages = 8
	var settings []setting
	var squares float64
	used := -1
	for i := range found {
		quickest := i
		for j := i - 1; j >= max(i-stages+1, 0); j-- {
			if found[j].delay < found[quickest].delay {
				quickest = j
			}
		}
		if quickest <= used {
			continue
		}
		used = quickest
		r := found[quickest]
		settings = append(settings, setting{found[i].at, clock.Add(base, int64(math.Round(r.offset)))})
		squares += r.delay / 2 * r.delay / 2
	}
	n := len(settings)
	e.online(c, settings)
	e.Residual = math.Sqrt(squares / float64(n))
	return e, nil
}
