package bound

import (
	"cmp"
	"math"
	"slices"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// FalseMessage is a message that contradicts all others of a pair: its timestamps or its match are wrong.
type FalseMessage struct {
	FromA bool // from a to b; otherwise back
	trace.Message
	// Outermost says that it is the first or the last message of its direction. Nothing before or behind it shows that
	// no clock was set there.
	Outermost bool
}

// Short blocks, of which a few messages may be false, tell false messages from clocks that bend: those bend over more
// messages.
const (
	shortBlock = 25
	fewFalse   = 1 // of a short block
	someFalse  = 3
	// fewMessages each way are too few to tell a least round trip from what queues add.
	fewMessages = 100
	// longestRun is how many consecutive messages of a direction may be false. More of them are a clock that was set
	// and set back.
	longestRun = 8
	// mostFalse is the part of a direction's messages that may be false. Of more the others are no majority that could
	// be trusted.
	mostFalse = 8
)

// Judge tells where the messages of a pair show that its clocks bend, as [Bends] does, from messages that contradict
// all others. A false message contradicts its neighbours too, while a clock that bends agrees with them. So where
// blocks of 25 consecutive messages show no bend if one of each may be false, or three where messages contradict each
// other, the bend is none: the fewest messages are false that leave others without contradiction. Both results are
// empty for messages that show neither.
//
// It finds no messages in a direction with fewer than a dozen. It takes the messages for what bends the clocks if more
// than eight consecutive ones would be false, two at the ends of the trace, or one in eight: then a clock was set, or
// two hosts are one.
func Judge(p *pair.Problem, a Assumption) (stretches []Stretch, found []FalseMessage) {
	stretches, room := bends(p, a, math.Inf(1))
	if len(stretches) == 0 || min(p.AB.Len(), p.BA.Len()) < oneOf {
		return stretches, nil
	}
	consistent := New(p, a).Consistent()
	wrong, quiet := straightened(p, a, consistent, room)
	switch {
	case quiet == nil:
		return stretches, nil
	case consistent:
		return nil, nil
	}
	j := judge{Corridor: New(quiet, a), pair: p}
	found = j.find(stretches)
	if len(found) == 0 { // Bends passes over what is quick for a moment
		found = j.find([]Stretch{{From: clock.Add(j.instant(j.first), -1), To: clock.Add(j.instant(j.last), 1)}})
	}
	if len(found) == 0 {
		return stretches, nil
	}
	rest := without(p, found)
	left := Bends(rest, a)
	if still, _ := bends(relaxed(rest, a, shortBlock, wrong), a, room); len(still) == 0 {
		left = nil
	}
	return left, found
}

// straightened relaxes a pair so that one message of each short block may be false, and where that is not enough three.
// It returns the first number, and the relaxed pair, for which no bend remains; nil if one remains. Messages that are
// consistent may have one: with more, a clock that bends a little would be taken for straight.
//
// Messages that stand for others leave more room between them than these, so the room is that of the pair. Few messages
// do not tell it: they show a bend if they contradict each other though one of each block may be false.
func straightened(p *pair.Problem, a Assumption, consistent bool, room float64) (wrong int, quiet *pair.Problem) {
	if min(p.AB.Len(), p.BA.Len()) < fewMessages {
		quiet = relaxed(p, a, shortBlock, fewFalse)
		if !consistent && New(quiet, a).Consistent() {
			return fewFalse, quiet
		}
		return 0, nil
	}
	for _, wrong := range [...]int{fewFalse, someFalse} {
		if wrong > fewFalse && consistent {
			break
		}
		quiet = relaxed(p, a, shortBlock, wrong)
		if still, _ := bends(quiet, a, room); len(still) == 0 && New(quiet, a).Consistent() {
			return wrong, quiet
		}
	}
	return 0, nil
}

// judge looks for the false messages of a pair. Its corridor is that of messages which stand for those of the pair.
type judge struct {
	*Corridor
	pair *pair.Problem
}

// suspicious is the margin under which a message may be false. Those above leave all lines through the inner part of
// the corridor.
const suspicious = 0.5

// suspect is a message in a stretch.
type suspect struct {
	FalseMessage
	x      float64
	number int     // in the order of its direction
	margin float64 // how far it lies on its side of the middle of the corridor, in halves of its width: less than -1 contradicts all
}

// find returns the fewest of the most suspect messages without which the others do not contradict each other; none if
// they are too many to be false.
func (j *judge) find(stretches []Stretch) []FalseMessage {
	suspects := append(j.suspects(stretches, true), j.suspects(stretches, false)...)
	slices.SortFunc(suspects, func(p, q suspect) int { return cmp.Compare(p.margin, q.margin) })
	certain, _ := slices.BinarySearchFunc(suspects, -1.0, func(p suspect, margin float64) int { return cmp.Compare(p.margin, margin) })
	beyond := len(suspects)
	enough := func(n int) bool {
		return New(without(j.pair, falseOf(suspects[:n])), j.Assumption).Consistent()
	}
	there := 0 // of the suspects
	for i := range suspects {
		if suspects[i].FromA {
			there++
		}
	}
	few := there <= j.pair.AB.Len()/mostFalse && beyond-there <= j.pair.BA.Len()/mostFalse
	if beyond == 0 || !few || !enough(beyond) {
		return nil
	}
	low, high := certain-1, beyond // too few, enough
	for high-low > 1 && high > certain {
		if middle := (low + high) / 2; middle >= certain && enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	found := suspects[:high]
	if !j.scattered(found) {
		return nil
	}
	return falseOf(found)
}

// suspects returns the messages of a direction that lie in some stretches and may be false.
func (j *judge) suspects(stretches []Stretch, fromA bool) (out []suspect) {
	at, side, messages := j.ceilings(j.pair), 1.0, j.pair.AB
	if !fromA {
		at, side, messages = j.floors(j.pair), -1.0, j.pair.BA
	}
	times := make([]interval, len(stretches))
	for i, s := range stretches {
		times[i] = j.interval(s)
	}
	times = joined(times)
	number := 0
	ordered := inTime(messages, at)
	n := ordered.Len()
	for m := range ordered.All() {
		q := at(m)
		number++
		if !overlaps(times, q.x, q.x) {
			continue
		}
		low, high, ok := j.offsets(q.x)
		if !ok || math.IsInf(low, 0) || math.IsInf(high, 0) {
			continue
		}
		half := max((high-low)/2, 1)
		if margin := side * (q.y - (low+high)/2) / half; margin < suspicious {
			out = append(out, suspect{FalseMessage{fromA, m, number == 1 || number == n}, q.x, number, margin})
		}
	}
	return out
}

// scattered reports whether messages lie as false ones do: not clustered, not many in a row, and not two at an end of
// their direction.
func (j *judge) scattered(found []suspect) bool {
	for _, way := range []struct {
		fromA bool
		n     int
	}{{true, j.pair.AB.Len()}, {false, j.pair.BA.Len()}} {
		var numbers []int
		for i := range found {
			if found[i].FromA == way.fromA {
				numbers = append(numbers, found[i].number)
			}
		}
		slices.Sort(numbers)
		if clustered(numbers) {
			return false
		}
		run := 0
		for i, number := range numbers {
			if i > 0 && number == numbers[i-1]+1 {
				run++
			} else {
				run = 1
			}
			outermost := number == way.n || number == run // the run ends with the last message, or began with the first
			if run > longestRun || run > 1 && outermost {
				return false
			}
		}
	}
	return true
}

// clustered reports whether messages, numbered in the order of their direction, are closer together than chance allows.
// A clock that bends causes such clusters. A random gap is shorter than an eighth of the mean with a probability of an
// eighth. We allow a fifth, and use Hoeffding's inequality (1963): d more of n gaps are so short with a probability of
// at most exp(-2 d²/n).
func clustered(numbers []int) bool {
	const (
		allowed    = 0.2
		improbable = 9.2 // 1 in 10,000
	)
	n := len(numbers) - 1
	if n < 1 {
		return false
	}
	short := 0
	for i := range n {
		if 8*n*(numbers[i+1]-numbers[i]) < numbers[n]-numbers[0] {
			short++
		}
	}
	beyond := float64(short) - allowed*float64(n)
	return beyond > 0 && 2*beyond*beyond > improbable*float64(n)
}

// falseOf returns the messages of suspects.
func falseOf(suspects []suspect) []FalseMessage {
	out := make([]FalseMessage, len(suspects))
	for i := range suspects {
		out[i] = suspects[i].FalseMessage
	}
	return out
}

// without returns a pair without some of its messages. Of equal messages it leaves out as many as are named.
func without(p *pair.Problem, found []FalseMessage) *pair.Problem {
	out := *p
	out.AB, out.BA = leftOver(p.AB, found, true), leftOver(p.BA, found, false)
	return &out
}

// leftOver returns the messages of a direction without those that were found.
func leftOver(messages pair.Messages, found []FalseMessage, fromA bool) pair.Messages {
	drop := make(map[trace.Message]int)
	for i := range found {
		if found[i].FromA == fromA {
			drop[found[i].Message]++
		}
	}
	if len(drop) == 0 {
		return messages
	}
	out := make(pair.Messages, 0, len(messages))
	for _, piece := range messages {
		kept := make([]trace.Message, 0, len(piece))
		for _, m := range piece {
			if drop[m] > 0 {
				drop[m]--
				continue
			}
			kept = append(kept, m)
		}
		out = append(out, kept)
	}
	return out
}

// At returns the instant of a's clock at which a false message constrains the offset.
func (m *FalseMessage) At() clock.HostTime {
	if m.FromA {
		return m.Sent
	}
	return m.Received
}
