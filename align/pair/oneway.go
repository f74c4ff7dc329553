package pair

import (
	"math/big"

	"meridian/clock"
	"meridian/trace"
)

// oneWay returns the estimate where messages went one way only: of all lines on the right side of the messages the one
// nearest to them in the mean, which is the edge of their hull over their mean stamp (Moon, Skelly and Towsley 1999).
// The delay cannot be told from the offset: the estimate takes the quickest message to have taken no time, and the
// other side stays unbounded. Messages of a span too short for a skew are taken to mean equal rates.
func (l *lines) oneWay(c *corridor, p *Problem) (clock.PairMap, float64) {
	m := l.curves(c)
	hull, messages, stamp := c.ceiling, p.AB, func(m trace.Message) clock.HostTime { return m.Sent }
	if p.AB.Len() == 0 {
		hull, messages, stamp = c.floor, p.BA, func(m trace.Message) clock.HostTime { return m.Received }
	}
	i := edgeOver(hull, meanOf(messages, hull[0].x, stamp))
	s := even
	if i+1 < len(hull) && c.last-c.first >= minSkewSpan {
		if edge := between(hull[i], hull[i+1]); edge.compare(minRate) >= 0 && edge.compare(maxRate) <= 0 {
			s = edge
		}
	}
	at := hull[i]
	if s == even {
		for _, q := range hull {
			if side := s.side(at, q); side != 0 && (side < 0) == (p.AB.Len() > 0) {
				at = q
			}
		}
	}
	m.Mid = c.straight(s.rat(), new(big.Rat).SetInt64(int64(at.x)), new(big.Rat).SetInt64(at.y))
	return m, s.ppm()
}

// meanOf returns the mean stamp, summed as distances from origin so that no sum leaves float64's exact range unawares.
func meanOf(messages Messages, origin clock.HostTime, stamp func(trace.Message) clock.HostTime) clock.HostTime {
	var sum float64
	for m := range messages.All() {
		sum += float64(stamp(m) - origin)
	}
	return origin + clock.HostTime(sum/float64(messages.Len()))
}

// edgeOver returns the corner that begins the hull's edge over x.
func edgeOver(hull []point, x clock.HostTime) int {
	i := 0
	for i+2 < len(hull) && hull[i+1].x <= x {
		i++
	}
	return i
}
