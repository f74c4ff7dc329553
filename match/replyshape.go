package match

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
)

// ReplyShape is what the delays of replies show of the premise that servers end before their clients do.
type ReplyShape uint8

const (
	// FewReplies are too few to show a shape.
	FewReplies ReplyShape = iota
	// DoubtfulReplies do not show the shape of delays.
	DoubtfulReplies
	// DelayedReplies have the shape of delays: most are near the least, few are far above it.
	DelayedReplies
	// CoarseReplies have timestamps that are too coarse to show it.
	CoarseReplies
)

// timedReply is a reply with the time by its receiver's clock, and its delay by both clocks, whatever their offset.
type timedReply struct {
	received clock.HostTime
	delay    float64
}

const (
	// leastReplies is how many replies there must be to show a shape.
	leastReplies = 10
	// shapeBlock is how many consecutive replies are freed of the drift of their clocks at a time.
	shapeBlock = 64
	// leastSkewness times the square root of their number is the least L-skewness of delays. Times that have no tail to
	// either side exceed it with a probability of 1 in 1,000, as simulated for 20 to 200 of them; of exponential delays
	// it is 1/3.
	leastSkewness = 1.25
)

// shapeOf tests replies without knowing the offset of their clocks. What passes a network is as quick as it can be, or
// later: delays crowd at their least and have a tail above. Where a server ends after its client got the reply the
// difference says how long it went on, which has no tail to that side.
func shapeOf(replies []timedReply, step int64) ReplyShape {
	if len(replies) < leastReplies {
		return FewReplies
	}
	slices.SortFunc(replies, func(a, b timedReply) int { return cmp.Compare(a.received, b.received) })
	rest := make([]float64, 0, len(replies))
	for from := 0; from < len(replies); {
		to := from + shapeBlock
		if to > len(replies)-shapeBlock/2 {
			to = len(replies)
		}
		rest = appendResiduals(rest, replies[from:to])
		from = to
	}
	scale, skewness := lMoments(rest)
	switch {
	case scale <= float64(step)/3: // of times that are spread evenly over a step it is a sixth of that
		return CoarseReplies
	case skewness > leastSkewness/math.Sqrt(float64(len(rest))):
		return DelayedReplies
	}
	return DoubtfulReplies
}

// appendResiduals appends what is left of delays beside a straight line.
func appendResiduals(rest []float64, replies []timedReply) []float64 {
	n, first := float64(len(replies)), replies[0].received
	var t, y, tt, ty float64
	for _, r := range replies {
		x := float64(clock.Sub(r.received, first))
		t, y = t+x/n, y+r.delay/n
	}
	for _, r := range replies {
		x := float64(clock.Sub(r.received, first)) - t
		tt, ty = tt+x*x, ty+x*(r.delay-y)
	}
	slope := 0.0
	if tt > 0 {
		slope = ty / tt
	}
	for _, r := range replies {
		rest = append(rest, r.delay-y-slope*(float64(clock.Sub(r.received, first))-t))
	}
	return rest
}

// lMoments returns the second L-moment of at least three numbers and their L-skewness (Hosking 1990), which one or two
// of them do not decide.
func lMoments(x []float64) (scale, skewness float64) {
	slices.Sort(x)
	n := float64(len(x))
	var b0, b1, b2 float64
	for i, v := range x {
		k := float64(i)
		b0 += v / n
		b1 += k / (n - 1) * v / n
		b2 += k * (k - 1) / ((n - 1) * (n - 2)) * v / n
	}
	if scale = 2*b1 - b0; scale <= 0 {
		return 0, 0
	}
	return scale, (6*b2 - 6*b1 + b0) / scale
}

// shapes tests the replies of each premise.
func (r *SpanResult) shapes() {
	for i := range r.Replies {
		p := &r.Replies[i]
		for k := range r.Channels {
			if c := &r.Channels[k]; c.Kind == Replies && c.From == p.From && c.To == p.To {
				p.Shape = shapeOf(delaysOf(c))
			}
		}
	}
}

// delaysOf returns the replies of a channel, and the step of most of their timestamps.
func delaysOf(c *SpanChannel) ([]timedReply, int64) {
	replies := make([]timedReply, len(c.Messages))
	for i, m := range c.Messages {
		replies[i] = timedReply{m.Received, float64(clock.Sub(m.Received, m.Sent))}
	}
	steps := slices.Clone(c.sharedSteps)
	slices.Sort(steps)
	return replies, steps[len(steps)/2]
}
