package pair

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// exchange is a message one way and the answer to it, as Clément and Dagenais (2009) measure it. Of its four stamps T1,
// when the question was sent, and T4, when the answer came, are one clock's, T2 and T3 in between the other's.
type exchange struct {
	at     clock.HostTime // the middle between the two stamps on a's clock
	offset float64        // D of eq. (3), less the base that all exchanges share, ns
	delay  int64          // δ of Poirier (2010), eq. (2.6): the round trip without the wait, less both least delays (2.34), ns
	margin float64        // E: half of the delay's magnitude, ns
}

// exchange measures a message from a to b and one back, whichever was first.
func (p *Problem) exchange(there, back trace.Message, base int64) exchange {
	minThere, minBack := p.leastDelays()
	d1, d2 := int64(there.Received-clock.HostTime(minThere)-there.Sent)-base, int64(back.Sent+clock.HostTime(minBack)-back.Received)-base
	return exchange{
		at:     clock.Add(there.Sent, clock.Sub(back.Received, there.Sent)/2),
		offset: (float64(d1) + float64(d2)) / 2,
		delay:  d1 - d2,
		margin: math.Abs(float64(d1)-float64(d2)) / 2,
	}
}

// exchangesOf returns the exchanges that a began, in the order of b's clock. All offsets are relative to base.
func exchangesOf(p *Problem) (out []exchange, base int64) {
	for m, answer := range answered(p.AB, p.BA) {
		if out == nil {
			base = int64(m.Received - m.Sent)
		}
		out = append(out, p.exchange(m, answer, base))
	}
	return out, base
}

// exchangesBothWays returns the exchanges that a began and those that b began, in the order of their answers; a message
// may answer one and begin another.
func exchangesBothWays(p *Problem) (out []exchange, base int64) {
	out, base = exchangesOf(p)
	for m, answer := range answered(p.BA, p.AB) {
		if out == nil {
			base = int64(answer.Received - answer.Sent)
		}
		out = append(out, p.exchange(answer, m, base))
	}
	return out, base
}

// separateExchanges returns exchanges begun by either clock, of which no two share a message. Where a message ends one and
// could begin another, the exchange with the shorter wait before the answer has it: that is what a client and a server do,
// whichever clock is the client's, and what little the clocks drift apart meanwhile does not blur the margins. It takes
// O(n log n).
func separateExchanges(p *Problem) (out []exchange, base int64) {
	type candidate struct {
		there, back int // indices of the messages
		wait        int64
	}
	there, back := slices.Concat(p.AB...), slices.Concat(p.BA...)
	var all []candidate
	for q, a := range answeredBy(there, back) {
		all = append(all, candidate{q, a, clock.Sub(back[a].Sent, there[q].Received)})
	}
	for q, a := range answeredBy(back, there) {
		all = append(all, candidate{a, q, clock.Sub(there[a].Sent, back[q].Received)})
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.wait, y.wait), compareMessages(there[x.there], there[y.there]), compareMessages(back[x.back], back[y.back]))
	})
	usedThere, usedBack := make([]bool, len(there)), make([]bool, len(back))
	for _, c := range all {
		if usedThere[c.there] || usedBack[c.back] {
			continue
		}
		usedThere[c.there], usedBack[c.back] = true, true
		m := there[c.there]
		if out == nil {
			base = int64(m.Received - m.Sent)
		}
		out = append(out, p.exchange(m, back[c.back], base))
	}
	return out, base
}

// answered pairs every question that its receiver answered next, in the order of that receiver's clock, with the answer:
// each message belongs to at most one exchange. It takes O(n log n), O(n) for messages in order.
func answered(questions, answers Messages) iter.Seq2[trace.Message, trace.Message] {
	asked, back := slices.Concat(questions...), slices.Concat(answers...)
	return func(yield func(trace.Message, trace.Message) bool) {
		for q, a := range answeredBy(asked, back) {
			if !yield(asked[q], back[a]) {
				return
			}
		}
	}
}

// answeredBy is answered for indices of messages.
func answeredBy(questions, answers []trace.Message) iter.Seq2[int, int] {
	asked, back := orderOf(questions, received), orderOf(answers, sent)
	return func(yield func(int, int) bool) {
		i := 0
		for _, answer := range back {
			last := -1
			for ; i < len(asked) && questions[asked[i]].Received <= answers[answer].Sent; i++ {
				last = int(asked[i])
			}
			if last >= 0 && !yield(last, int(answer)) {
				return
			}
		}
	}
}

// orderOf returns the indices of messages in ascending order of a stamp, those of one stamp in the order of the other.
func orderOf(messages []trace.Message, stamp func(trace.Message) clock.HostTime) []int32 {
	out := make([]int32, len(messages))
	for i := range out {
		out[i] = int32(i)
	}
	order := func(i, k int32) int {
		m, n := messages[i], messages[k]
		return cmp.Or(cmp.Compare(stamp(m), stamp(n)), compareMessages(m, n))
	}
	if !slices.IsSortedFunc(out, order) {
		slices.SortFunc(out, order)
	}
	return out
}

func compareMessages(m, n trace.Message) int {
	return cmp.Or(cmp.Compare(m.Sent, n.Sent), cmp.Compare(m.Received, n.Received))
}

func sent(m trace.Message) clock.HostTime     { return m.Sent }
func received(m trace.Message) clock.HostTime { return m.Received }

// inOrder returns the messages in ascending order of a stamp, those of one stamp in the order of the other.
func inOrder(messages Messages, stamp func(trace.Message) clock.HostTime) []trace.Message {
	out := make([]trace.Message, 0, messages.Len())
	for _, piece := range messages {
		out = append(out, piece...)
	}
	order := func(m, n trace.Message) int {
		return cmp.Or(cmp.Compare(stamp(m), stamp(n)), cmp.Compare(m.Sent, n.Sent), cmp.Compare(m.Received, n.Received))
	}
	if !slices.IsSortedFunc(out, order) {
		slices.SortFunc(out, order)
	}
	return out
}

// MeasuredMinimum returns the least delay of a message that the exchanges show, in ns of b's clock: half of the quickest
// round trip, eq. (2.6) of Poirier (2010), section 2.2.3. It is 0 where there is no exchange. It does not look at MinAB
// and MinBA, for which it is meant.
//
// Eq. (2.6) takes the clocks to have one rate within an exchange. An answer that took a second, on clocks 50 ppm apart,
// would so seem 50 µs quicker or slower than it was; a's part is carried to b's rate first, by the skew of [Hull].
//
// It is an estimate and no bound: true least delays that differ each way have this mean at best, and the quickest of few
// messages is not the quickest possible. With it [Hull] is narrower, and no longer strict.
func MeasuredMinimum(p *Problem) int64 {
	plain := *p
	plain.MinAB, plain.MinBA = 0, 0
	rate := 0.0
	if e := Hull(&plain); e.Determined {
		rate = e.Skew / 1e6
	}
	least := math.Inf(1)
	consider := func(there, back trace.Message) {
		x := plain.exchange(there, back, 0)
		onA := float64(back.Received - there.Sent)
		least = min(least, float64(x.delay)+rate*onA)
	}
	for m, answer := range answered(p.AB, p.BA) {
		consider(m, answer)
	}
	for m, answer := range answered(p.BA, p.AB) {
		consider(answer, m)
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return int64(max(least/2, 0))
}
