package quality

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// RoundTrip returns the time that two clocks' quickest exchange spent on the way, ns: a message and the next one back,
// less the pause between the two. No offset changes it, so it is the same under every alignment; half of it is the least
// delay that Poirier (2010, section 3.4.1) counts messages as too fast by, there measured with ping. It is false where
// no message follows one of the other direction.
//
// Rates do change it, by what the clocks drift apart during the exchange. So the quickest is the one whose time is least
// at worst, with clocks that differ by 200 ppm: a long pause counts against an exchange. The cost is O(n) for delays that vary, O(n
// log n) at worst.
func RoundTrip(there, back []trace.Message) (int64, bool) {
	return RoundTripOf([][]trace.Message{there}, [][]trace.Message{back})
}

// RoundTripOf is [RoundTrip] of messages in several blocks, in any order. Of many it copies those alone that may have been quickest.
func RoundTripOf(there, back [][]trace.Message) (int64, bool) {
	x, least := quickest(there, back, math.MaxInt64)
	y, _ := quickest(back, there, least)
	if y >= 0 {
		return y, true
	}
	return max(x, 0), x >= 0
}

// driftPerNs is by how much an exchange may seem quicker for each nanosecond that it takes: clocks of real machines
// differ by less than 200 ppm.
const driftPerNs = 5000

// quickest returns the quickest exchange that begins with a message of there, and its time at worst, which is below the
// one given; -1 if there is none.
func quickest(there, back [][]trace.Message, below int64) (roundTrip, worst int64) {
	s := newSlots(there, back)
	if s == nil {
		return quickestOf(there, back, below)
	}
	there, back = s.within(s.quickest(there, back, below), there, back)
	return quickestOf(there, back, below)
}

// quickestOf is quickest, of messages that all are put in order.
func quickestOf(there, back [][]trace.Message, below int64) (roundTrip, worst int64) {
	there, back = ordered(there, byReceived), ordered(back, bySent)
	roundTrip, worst = -1, below
	var a *trace.Message // the last message there that was received before b was sent
	block, i := 0, 0     // of the next one
	for _, messages := range back {
		for _, b := range messages {
			for block < len(there) {
				if i == len(there[block]) {
					block, i = block+1, 0
					continue
				}
				if there[block][i].Received > b.Sent {
					break
				}
				a = &there[block][i]
				i++
			}
			if a == nil {
				continue
			}
			whole := clock.Sub(b.Received, a.Sent)
			way := clock.Sub(whole, clock.Sub(b.Sent, a.Received))
			if most := clock.Add(way, max(whole, 0)/driftPerNs); most < worst && way >= 0 {
				roundTrip, worst = way, most
			}
		}
	}
	return roundTrip, worst
}

// stampBy says by which stamp messages are ordered.
type stampBy bool

const (
	bySent     stampBy = false
	byReceived stampBy = true
)

// of returns the stamp of a message. It is inlined where a function as an argument would be called.
func (s stampBy) of(m *trace.Message) clock.HostTime {
	if s == byReceived {
		return m.Received
	}
	return m.Sent
}

// ordered returns the messages in the order of a stamp: the blocks themselves if they are in it, else one sorted copy.
func ordered(blocks [][]trace.Message, stamp stampBy) [][]trace.Message {
	last := clock.HostTime(math.MinInt64)
	for _, messages := range blocks {
		for i := range messages {
			at := stamp.of(&messages[i])
			if at < last {
				all := slices.Concat(blocks...)
				if !insertionSort(all, stamp) {
					slices.SortFunc(all, func(x, y trace.Message) int { return cmp.Compare(stamp.of(&x), stamp.of(&y)) })
				}
				return [][]trace.Message{all}
			}
			last = at
		}
	}
	return blocks
}

// maxMoves limits how many places messages move on average before insertionSort gives up: messages overtake each other by a few.
const maxMoves = 16

// insertionSort sorts messages by a stamp, in linear time where they overtake each other by few places. Where they do not it gives
// up, leaves them in any order, and returns false.
func insertionSort(m []trace.Message, stamp stampBy) bool {
	moves := maxMoves * len(m)
	for i, x := range m {
		at, k := stamp.of(&x), i
		for ; k > 0 && stamp.of(&m[k-1]) > at; k-- {
			m[k] = m[k-1]
			moves--
		}
		m[k] = x
		if moves < 0 {
			return false
		}
	}
	return true
}
