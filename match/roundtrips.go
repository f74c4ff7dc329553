package match

import (
	"slices"

	"meridian/clock"
)

// A round trip by the stamps of two clocks is a true one and what the clocks drifted apart between its packets. An answer after a
// second leaves room for some 100 µs of drift, which is more than a round trip in one building: skew alone could turn sender
// and receiver about. So a round trip counts only if it stands whatever the skew is. It stands alone if it is greater than
// any skew makes of the time between its packets. Else it stands if its neighbour agrees. Let p, q and r follow each other, q the
// other way than p and r:
//
//	       a's stamp - b's
//	   q ....*             skew tilts p, q and r alike: the height of q over the line from p to r is free of it, and is
//	       / | \           a round trip again, the mean of both weighted by the time to the other
//	 p *-----+-----* r
//
// Wander bends that line, which is allowed for. A skew that changes suddenly, as where a daemon begins to slew, is not. So hops
// outweigh votes that do not stand alone.

const (
	// maxGap is how far apart in time two packets may be to be compared, ns. One capture that says so is enough: in the other,
	// two clocks may stand between them.
	maxGap = 2_000_000_000
	// skewPart is the part of a time by which clocks may drift apart in it, a thousandth. It is twice what crystals differ by, and
	// twice the 500 ppm that bounds assume by default.
	skewPart = 1000
	// maxBend is the greatest change of skew, per ns: 60 ppb/s, twice what bounds assume by default.
	maxBend = 60e-18
	// minSure is how many votes that stand alone prevail over direction flags. Fewer may lie about the step of a clock, or be of a
	// capture whose second clock too few packets show. None is sure where two clocks, or one that was set, seem to have
	// stamped a capture.
	minSure = 8
	// maxFineStep is the greatest sum of two captures' steps at which round trips within it tell anything, ns. Hosts
	// beside each other are some 20 us apart: by coarser timestamps they seem to see every packet at once, as one
	// host's captures do.
	maxFineStep = 20_000
)

// roundTrip is two packets that follow each other and go opposite ways.
type roundTrip struct {
	both int64 // greater than 0 if a is nearer to the sender of its direction 0, but for drift
	gap  int64 // between its packets, by the capture that says less, ns
	vote int   // the sign of both, 0 within the offset between two clocks of a capture
}

// drift is the most that skew can have added to a round trip. The shorter of the two times counts: if rates differ by a thousandth
// at most, a time that is longer by more than a thousandth of the other is truly longer.
func (t roundTrip) drift() int64 { return t.gap / skewPart }

// roundTripOf returns that of p and q, false if they make none.
func roundTripOf(p, q *commonPacket, split span) (t roundTrip, ok bool) {
	if p.direction == q.direction || !within(q.a, p.a, maxGap) && !within(q.b, p.b, maxGap) {
		return t, false
	}
	t.gap = int64(min(clock.Distance(p.a, q.a), clock.Distance(p.b, q.b)))
	if p.direction == 1 {
		p, q = q, p
	}
	t.both = int64(q.a-q.b) - int64(p.a-p.b)
	t.vote = split.side(t.both, 0)
	return t, true
}

// side returns on which side of a span v lies by more than margin.
func (s span) side(v, margin int64) int {
	switch {
	case v > s.high && v-s.high > margin:
		return 1
	case v < s.low && s.low-v > margin:
		return -1
	}
	return 0
}

// skewFree returns the sign of the round trip of q with p and r around it, or 0 if it cannot be told. It is told in the time of b.
func skewFree(p, q, r *commonPacket) int {
	if p.direction != r.direction || p.direction == q.direction || q.b < p.b || r.b < q.b || r.b == p.b ||
		!within(q.b, p.b, maxGap) || !within(r.b, q.b, maxGap) {
		return 0
	}
	before, after := float64(q.b-p.b), float64(r.b-q.b)
	overP := float64(int64(q.a-q.b) - int64(p.a-p.b))
	overR := float64(int64(q.a-q.b) - int64(r.a-r.b))
	height := (overP*after + overR*before) / (before + after)
	if q.direction == 0 {
		height = -height
	}
	switch bend := before * after * maxBend / 2; {
	case height > bend:
		return 1
	case height < -bend:
		return -1
	}
	return 0
}

// skewFreeSigns returns skewFree of every packet and its neighbours. Stamps of two clocks in one capture are no line.
func skewFreeSigns(common []commonPacket, split span) []int {
	signs := make([]int, len(common))
	for i := 1; split == (span{}) && i+1 < len(common); i++ {
		signs[i] = skewFree(&common[i-1], &common[i], &common[i+1])
	}
	return signs
}

// ballot counts votes. Abstentions count as votes against both.
type ballot struct{ forA, forB, votes int }

func (b *ballot) add(vote int) {
	b.votes++
	switch vote {
	case 1:
		b.forA++
	case -1:
		b.forB++
	}
}

// winner returns the side of more than three quarters of all votes, where none abstains, else 0.
func (b *ballot) winner() int {
	if lead := b.forA - b.forB; 2*lead > b.votes || -2*lead > b.votes {
		return sign(lead)
	}
	return 0
}

// compare lets packets vote: split is where the offset between the clocks of the two directions lies, and step the steps of both
// captures' stamps.
func compare(common []commonPacket, split span, step int64) rttVote {
	s := rttVote{shared: len(common)}
	var all, standing, alone ballot
	near := 0
	signs := skewFreeSigns(common, split)
	for i := 1; i < len(common); i++ {
		t, ok := roundTripOf(&common[i-1], &common[i], split)
		if !ok {
			continue
		}
		all.add(t.vote)
		small := within(clock.HostTime(t.both), 0, step)
		if small {
			near++
		}
		agrees := slices.Contains(signs[i-1:i+1], t.vote) && !slices.Contains(signs[i-1:i+1], -t.vote)
		switch {
		case small && step > maxFineStep:
			// Cutting timestamps makes a sign of its own: two packets within a step seem to be at once.
		case split.side(t.both, t.drift()) != 0:
			alone.add(t.vote)
			standing.add(t.vote)
		case t.vote != 0 && agrees:
			standing.add(t.vote)
		case split == (span{}) && (t.vote == 0 || small):
			standing.add(0) // it may be of one host
		}
	}
	s.pairs, s.votes = all.votes, standing.votes
	// On one host both are equal but for the steps of the stamps, which fall to either side; between two hosts, however
	// quick the link, they fall to one.
	even := 3*min(all.forA, all.forB) >= max(all.forA, all.forB)
	s.together = step <= maxFineStep && (s.pairs > 0 && 10*near >= 9*s.pairs && even || s.pairs == 0 && len(common) >= minCommon && sameStamps(common))
	if s.together {
		return s
	}
	s.first = standing.winner()
	s.few = !refuted(max(standing.forA, standing.forB), standing.votes)
	if s.few && step > maxFineStep {
		s.first = 0 // few of many votes stand out of such steps: one false timestamp could be all of them
	}
	s.weak = s.few || near == s.votes || alone.winner() != s.first
	if near < s.pairs {
		s.lean = all.winner()
	}
	if sure := alone.forA - alone.forB; split == (span{}) && sign(sure) == s.first && max(sure, -sure) >= minSure {
		s.sure = s.first
	}
	return s
}

func sameStamps(common []commonPacket) bool {
	for _, m := range common {
		if m.a != m.b {
			return false
		}
	}
	return true
}
