package quality

import (
	"math"
	"math/bits"
	"slices"

	"meridian/align/internal/pieces"
	"meridian/clock"
	"meridian/trace"
)

// slots are even parts of the time of the clock between: the one that the messages there reach, and those back leave.
//
//	slot        0     1     2     3     4
//	there       5     -     9     6     -      least of received - sent; - is none
//	back        -     8     7     7     9      the same
//	bound       -    13    12    13    15      of an exchange whose message back left in the slot
//
// An exchange takes what its message there and its message back differ by, added up. The last message there that was received before
// one back was sent lies in the same slot, or in the last slot before it that has any. So most slots are known to have no quickest
// exchange without their messages being put in order. They take 24 bytes a slot, and no copy of the messages.
//
// Clocks that drift apart would widen the bounds by what they drift in a slot. So a drift of any rate up to 1/driftPerNs is taken off
// the differences there and put on those back. Over the pause of an exchange, that changes the sum by no more than its pause counts
// against it.
type slots struct {
	first       clock.HostTime
	shift       int // a slot is 1<<shift ns
	rate        float64
	there, back []int64
	bounds      []int64 // least time that an exchange may have taken at worst, ns; none for no exchange
}

const (
	none = math.MaxInt64
	// minPruned is how many messages are worth slots; fewer are put in order at once.
	minPruned = 1 << 14
	// perSlot is about how many messages there are in a slot, up to maxSlots: many let least differences meet that never were an exchange.
	perSlot  = 32
	maxSlots = 1 << 20
	// firstSlots is how many slots, those of least bound, give the first time that the others are held against, and moreSlots how
	// many times as many the next.
	firstSlots = 64
	moreSlots  = 16
	// boundError is how far rounding may make a bound too great, ns.
	boundError = 4
	// maxStamp is for which stamps no difference overflows, less a drift: up to the year 2043.
	maxStamp = clock.Limit / 2
)

// newSlots returns nil for few messages, and for a stamp beyond maxStamp.
func newSlots(there, back [][]trace.Message) *slots {
	n := 0
	first, last := clock.HostTime(math.MaxInt64), clock.HostTime(math.MinInt64)
	for side, blocks := range [2][][]trace.Message{there, back} {
		between := stampBy(side == 0)
		for messages := range pieces.Of(blocks) {
			n += len(messages)
			for i := range messages {
				m := &messages[i]
				if max(m.Sent, m.Received) > maxStamp || min(m.Sent, m.Received) < -maxStamp {
					return nil
				}
				t := between.of(m)
				first, last = min(first, t), max(last, t)
			}
		}
	}
	if n < minPruned {
		return nil
	}
	s := &slots{first: first}
	span := uint64(last) - uint64(first)
	s.shift = bits.Len64(span / uint64(min(n/perSlot, maxSlots)))
	count := span>>s.shift + 1
	all := make([]int64, 3*count)
	for i := range all {
		all[i] = none
	}
	s.there, s.back, s.bounds = all[:count], all[count:2*count], all[2*count:]
	s.rate = s.drift(there, last)
	s.fill(s.there, there, byReceived, s.rate)
	s.fill(s.back, back, bySent, -s.rate)
	s.setBounds()
	return s
}

func (s *slots) of(t clock.HostTime) uint64 { return (uint64(t) - uint64(s.first)) >> s.shift }

// drift returns about by what share of the time the differences there grow, at most 1/driftPerNs either way.
func (s *slots) drift(there [][]trace.Message, last clock.HostTime) float64 {
	const every = 16                                       // of the messages one is looked at
	quarter := (uint64(last) - uint64(s.first)) / 4        // of the time
	least, at := [2]int64{none, none}, [2]clock.HostTime{} // in the first quarter and in the last
	for _, messages := range there {
		for i := 0; i < len(messages); i += every {
			m := &messages[i]
			end := 0
			switch since := uint64(m.Received) - uint64(s.first); {
			case since > 3*quarter:
				end = 1
			case since > quarter:
				continue
			}
			if d := int64(m.Received - m.Sent); d < least[end] {
				least[end], at[end] = d, m.Received
			}
		}
	}
	if least[0] == none || least[1] == none || at[0] >= at[1] {
		return 0
	}
	rate := (float64(least[1]) - float64(least[0])) / (float64(at[1]) - float64(at[0]))
	return min(max(rate, -1.0/driftPerNs), 1.0/driftPerNs)
}

// fill takes the least differences of one side's messages, less what they grow by at a rate.
func (s *slots) fill(least []int64, blocks [][]trace.Message, between stampBy, rate float64) {
	for messages := range pieces.Of(blocks) {
		for i := range messages {
			m := &messages[i]
			t := between.of(m)
			since := uint64(t) - uint64(s.first)
			l := &least[since>>s.shift]
			*l = min(*l, clock.Sub(int64(m.Received-m.Sent), int64(rate*float64(since))))
		}
	}
}

func (s *slots) setBounds() {
	before := int64(none) // of the last slot with a message there
	for k, back := range s.back {
		there := min(before, s.there[k])
		if there != none && back != none {
			s.bounds[k] = clock.Sub(clock.Add(there, back), boundError)
		}
		if s.there[k] != none {
			before = s.there[k]
		}
	}
}

// quickest returns at most the worst time below which the quickest exchange is sought, and the least that is found in some slots.
func (s *slots) quickest(there, back [][]trace.Message, below int64) int64 {
	sorted := slices.Clone(s.bounds)
	slices.Sort(sorted)
	for n := firstSlots; n < len(sorted); n *= moreSlots {
		if reached, _ := slices.BinarySearch(sorted, below); reached <= moreSlots*n/4 {
			break // those that are left are few enough
		}
		fewThere, fewBack := s.within(sorted[n], there, back)
		_, below = quickestOf(fewThere, fewBack, below)
	}
	return below
}

// within returns the messages of all exchanges that may have taken at most so many ns, and some of others.
func (s *slots) within(most int64, there, back [][]trace.Message) (fewThere, fewBack [][]trace.Message) {
	const fromThere, fromBack = 1, 2
	wanted := make([]uint8, len(s.bounds))
	before := -1 // the last slot with a message there
	for k, bound := range s.bounds {
		if bound <= most && bound != none {
			wanted[k] |= fromThere | fromBack
			if before >= 0 {
				wanted[before] |= fromThere
			}
		}
		if s.there[k] != none {
			before = k
		}
	}
	pick := func(blocks [][]trace.Message, between stampBy, side uint8) [][]trace.Message {
		const block = 1 << 12 // messages: one list would be copied as it grows
		few := [][]trace.Message{nil}
		for messages := range pieces.Of(blocks) {
			for i := range messages {
				if wanted[s.of(between.of(&messages[i]))]&side == 0 {
					continue
				}
				last := len(few) - 1
				if len(few[last]) == block {
					few = append(few, make([]trace.Message, 0, block))
					last++
				}
				few[last] = append(few[last], messages[i])
			}
		}
		return few
	}
	return pick(there, byReceived, fromThere), pick(back, bySent, fromBack)
}
