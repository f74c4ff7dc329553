package pipeline

import (
	"meridian/align/quality"
	"meridian/trace"
)

// roundTrips returns the least round trip of each two clocks, a before b: the time on the way of the quickest exchange that was
// seen (quality.RoundTrip). The time of an exchange is a difference of stamps of one clock, less the pause between two stamps of
// the other. So no offset changes it, and it is the same whatever the method. Two clocks whose messages go one way only have none,
// as those of a host that stamps what it sends by another clock than what it receives.
//
// Where a clock was set, an exchange lies within one piece of it.
func (s *Solved) roundTrips() map[[2]int]int64 {
	if d := s.Solution.Divided; d != nil {
		return roundTripsOf(d.Channels[:d.Sure], func(i int) int { return d.ClockOf[i] })
	}
	if s.undivided != nil {
		return s.undivided
	}
	return undividedRoundTrips(s.Channels)
}

// undividedRoundTrips returns the least round trips if no clock was set. They need no alignment, so they can be found beside it.
func undividedRoundTrips(channels []trace.Channel) map[[2]int]int64 {
	return roundTripsOf(channels, func(i int) int { return i })
}

// roundTripsOf returns the least round trip of each two clocks of channels, whose ends have numbers that clockOf leads to clocks.
func roundTripsOf(channels []trace.Channel, clockOf func(int) int) map[[2]int]int64 {
	blocks := make(map[[2]int][][]trace.Message) // by sender and receiver
	for i := range channels {
		c := &channels[i]
		blocks[[2]int{c.From, c.To}] = append(blocks[[2]int{c.From, c.To}], c.Messages)
	}
	found := make(map[[2]int]int64)
	for way, there := range blocks {
		from, to := way[0], way[1]
		back := blocks[[2]int{to, from}]
		if from >= to || back == nil {
			continue
		}
		least, ok := quality.RoundTripOf(there, back)
		if !ok {
			continue
		}
		a, b := clockOf(from), clockOf(to)
		key := [2]int{min(a, b), max(a, b)}
		if known, again := found[key]; !again || least < known {
			found[key] = least
		}
	}
	return found
}
